r"""Escaped quotes stay escaped: It\'s, \"Save\"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.rules.escapes import Escapes
from service.text.rules.placeholders import Placeholders
from service.text.run import Run, Tag
from tests.service.text.pipelines import aligned, assembled, take_apart, unchanged


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"Das ist Anna\'s Haus.", "Das ist Anna's Haus."),
        (r"Klick \"Neu\" an.", "Klick Neu an."),
        (r"Ein \"Haus, ja", 'Ein "Haus, ja'),
        (r"Geht\'s \"gut\"?", "Geht's gut?"),
        (r"Sag \"wie geht\'s\" zu ihr", "Sag wie geht's zu ihr"),
        (r"Geht\'s, ja 'so'", r"Geht\'s, ja 'so'"),
        (r"Ein \\\"Haus und \\'so", r"Ein \\\"Haus und \\'so"),
        ("Ohne 'alle' Zeichen", "Ohne 'alle' Zeichen"),
        ('"""Schließt die Datei."""', "Schließt die Datei."),
        ('Sag ""Hallo"" zu mir', "Sag Hallo zu mir"),
        ('Ein "" leerer, "einfacher"', 'Ein "" leerer, "einfacher"'),
    ],
)
def test_a_model_reads_escaped_quotes_without_backslashes(text: str, read: str) -> None:
    assert Escapes().prepare(Run(text)).text == read


def test_doubled_apostrophes_of_messages_stay_doubled() -> None:
    text = "Das ist {0}''s Haus"
    run = Placeholders().prepare(Run(text))
    assert Escapes().prepare(run).text == "Das ist {0}'s Haus"
    assert Escapes().restore(run, Run("It's {0}'s house")).text == "It''s {0}''s house"
    for other in ("Das ist {0}s ''Haus'', geht's", "Geht''s gut"):
        run = Placeholders().prepare(Run(other))
        assert Escapes().prepare(run) == run
        assert Escapes().restore(run, Run("It's so")).text == "It's so"


def test_pairs_of_escaped_quotes_are_tags() -> None:
    run = Escapes().prepare(Run(r"Klick \"Neu\" an."))
    assert run.tags == [Tag(6, '\\"', "open"), Tag(9, '\\"', "close")]


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [
        (r"Wie geht\'s?", "How's it going?", r"How\'s it going?"),
        (r"Wie geht\'s?", "How are you?", "How are you?"),
        (r"Wie geht\'s?", 'A "so" it\'s', r"""A "so" it\'s"""),
        ("Wie geht's?", "How's it going?", "How's it going?"),
        (r"Geht\'s 'so'?", "It's so?", "It's so?"),
    ],
)
def test_quotes_of_a_translation_are_escaped_as_in_its_source(
    source: str, translation: str, written: str
) -> None:
    assert Escapes().restore(Run(source), Run(translation)).text == written


@pytest.mark.parametrize(
    ("form", "text", "written"),
    [
        ("text", r"Klick \"Neu\" an.", r"Click \"New\" now."),
        ("html", r"<p>Klick \"Neu\" an.</p>", r"<p>Click \"New\" now.</p>"),
        ("text", 'Klick ""Neu"" an.', 'Click ""New"" now.'),
        ("text", r"*Klick* \"Neu\" an.", r"*Click* \"New\" now."),
    ],
)
def test_escaped_quotes_move_with_their_words(form: str, text: str, written: str) -> None:
    document = take_apart(text, form, "sentences")  # type: ignore[arg-type]
    [sentence] = document.sentences
    links = aligned(sentence.text, "Click New now.", [0, 1, 2, 3])
    assert assembled(document, ["Click New now."], [links]) == written


@given(st.text(alphabet="ab \\\\\"\"''.*", max_size=30), st.sampled_from(["text", "html", "xml"]))
def test_a_copied_text_is_unchanged(text: str, form: str) -> None:
    assert unchanged(take_apart(text, form)) == text  # type: ignore[arg-type]
