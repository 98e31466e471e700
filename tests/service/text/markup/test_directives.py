"""Directives of site generators are preserved; their titles and bodies are translated."""

from itertools import count

import pytest

from tests.service.text.pipelines import take_apart, unchanged


def numbered(text: str) -> str:
    """Return the text with numbers in place of its sentences."""
    document = take_apart(text, "text")
    numbers = map(str, count())
    return document.assemble([one.translated(next(numbers), None) for one in document.sentences])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('!!! warning "Dávej pozor"\n    Dům je velký.', '!!! warning "0"\n    1'),
        ("!!! note\r\n    Dům je velký.\r\n\r\nPes spí.", "!!! note\r\n    0\r\n\r\n1"),
        ('!!! tip inline end "Dům"\n\n??? moje "Pes"', '!!! tip inline end "0"\n\n??? moje "1"'),
        ('=== "Dům"\n\n    Pes spí.\n\n=== "Pes"', '=== "0"\n\n    1\n\n=== "2"'),
        ("# Dům\n\n!!! note\n    Pes.\n\n    A `dům`.\n\nAno.", "# 0\n\n!!! note\n    1\n\n    2\n\n3"),
        ("# A\n\n!!! note\n\n    ```\n    pes\n    ```", "# 0\n\n!!! note\n\n    ```\n    pes\n    ```"),
        ("# Dům\n\n    pes\n\nAno.", "# 0\n\n    pes\n\n1"),
        (":::note[Velký dům]\nPes spí.\n:::", ":::note[0]\n1\n:::"),
        ("::: warning Velký dům\nPes spí.\n:::\n", "::: warning 0\n1\n:::\n"),
        ("::: details Dům {open}\nPes.\n:::", "::: details 0 {open}\n1\n:::"),
        ("::::tabs\n:::{note} Dům\nPes.\n:::\n::::", "::::tabs\n:::{note} 0\n1\n:::\n::::"),
        ("/// note | Velký dům\nPes spí.\n///", "/// note | 0\n1\n///"),
        ("> [!LEGACY]\n> Pes spí.", "> [!LEGACY]\n> 0"),
        ("> [!tip]- Velký dům\n> Pes spí.", "> [!tip]- 0\n> 1"),
        (".. note::\n\n   Pes spí.\n", ".. note::\n\n   0\n"),
        (".. warning:: Pes spí.\n", ".. warning:: 0\n"),
        (".. versionchanged:: Jen pes.\n", ".. versionchanged:: 0\n"),
        ("# A\n\n!!! note\n\n    Pes.\n\n        dům\n", "# 0\n\n!!! note\n\n    Pes.\n\n        dům\n"),
        ("# A\n\n=== Dům ===\n\n    pes", "# 0\n\n=== 1 ===\n\n    pes"),
        ("Signed-off-by: Jan <j@a.example>", "Signed-off-by: Jan <j@a.example>"),
        ("Pes.\n\nCo-authored-by: A B <b@c.example>\n", "0\n\nCo-authored-by: A B <b@c.example>\n"),
        ("Stand-by: Pes spí.", "0"),
        (".. image:: pes.png\n\nDům.", ".. image:: pes.png\n\n0"),
        ("{ $a ->\n    [one] Pes\n   *[other] Psi\n}", "{ $a ->\n    [one] 0\n   *[other] 1\n}"),
        ("import Dum from '@pes/D';\nimport \"p\"\n\nDům.", "import Dum from '@pes/D';\nimport \"p\"\n\n0"),
        ('export const dum = "pes";\n\nDům.', 'export const dum = "pes";\n\n0'),
        ('+++\na = "Dům"\n[b]\n  x = 1\n+++\n\nPes.', '+++\na = "Dům"\n[b]\n  x = 1\n+++\n\n0'),
    ],
)  # fmt: skip
def test_only_titles_and_bodies_are_translated(text: str, written: str) -> None:
    assert numbered(text) == written
    assert unchanged(take_apart(text, "text")) == text


@pytest.mark.parametrize(
    "text",
    [
        "!!! pozor na psa",
        "Cože??? note",
        "std::vector je pes",
        "import psů je drahý",
        "import from „dům“ je pes",
        "export default psů",
        "export default (psů) je pes",
        "export {a, b} psů",
        "/// vrací dům",
        "Ano ::: note",
        "+++ novinka +++",
    ],
)
def test_what_only_looks_like_a_directive_is_text(text: str) -> None:
    assert not any(map(str.isalpha, numbered(text)))
