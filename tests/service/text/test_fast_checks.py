"""Rules that skip texts after a fast check give the same results without the check."""

import re
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.text import segmenter
from service.text.common_words import common_words
from service.text.markup import labels, markdown, plain
from service.text.pipeline import ORDER
from service.text.rules import (
    already,
    casing,
    ellipses,
    placeholders,
    quotes,
    scripts,
    symbols,
    unread,
)
from service.text.rules.already import Already
from service.text.rules.dashes import Dashes
from service.text.rules.directions import Directions
from service.text.rules.ellipses import Ellipses
from service.text.rules.enumerators import Enumerators
from service.text.rules.escapes import Escapes
from service.text.rules.names import Names
from service.text.rules.operators import Operators
from service.text.rules.placeholders import Placeholders
from service.text.rules.punctuation import Punctuation
from service.text.rules.quotes import Quotes
from service.text.rules.rule import Rule
from service.text.rules.scripts import Scripts
from service.text.rules.slashes import Slashes
from service.text.rules.spelling import Spelling
from service.text.rules.symbols import Symbols
from service.text.rules.unread import Unread
from service.text.run import Run, plain_words

ALWAYS = re.compile("")
CHECKED_STEPS: dict[str, tuple[ModuleType, Callable[[str], object]]] = {
    "placeholders": (placeholders, lambda text: Placeholders().prepare(Run(text))),
    "ellipses": (ellipses, lambda text: Ellipses().prepare(Run(text))),
    "quotes": (quotes, lambda text: Quotes("„“‚‘").prepare(Run(text))),
    "scripts": (scripts, lambda text: Scripts(str.isascii).prepare(Run(text))),
    "symbols": (symbols, lambda text: Symbols().prepare(Run(text))),
    "unread": (unread, lambda text: Unread(str.isascii).prepare(Run(text))),
    "labels": (labels, lambda text: labels.cut(Run(text), "all")),
    "already": (already, lambda text: Already("de", "en").leaves(Run(text))),
}
"""Modules with a fast check, and the step that it may skip, by name."""
PIECES = (
    *".,:…+@#%{}[]()<>\\$_`&/~-!'\"„“”«»‚‘’‹›「」",
    *("\u00a0", "\u202f", "\u0301", "\ufeff", "×", "°", "µ", "½", "²", "Ⅷ", "€", "ß", "я", "日"),
    *("ª",),
    *("?!", "!!!", "...", "..", "→", "->", "<-", "<==", "--", "- - - -", "++", "****", "||"),
    *("^^", "😀", "⃣"),
    *("a", "A", "1", "Ab", "ab", "AB", ". . . .", "C++", "a.b", "%s", "{a}", ":a:", "10⁶"),
    *("o'clock",),
    *("She has been there ", "George Walker ", "the ", "und ", "Ωmega ", " Élan "),
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.just(" ") | st.characters(), max_size=12).map("".join)


@given(TEXTS)
@example("She has been there with Und Die ")  # certainly English only without its capitalized words
@settings(max_examples=300)
def test_rules_give_the_same_result_without_the_fast_check(text: str) -> None:
    found = {name: apply(text) for name, (_, apply) in CHECKED_STEPS.items()}
    with pytest.MonkeyPatch.context() as patch:
        for module, _ in CHECKED_STEPS.values():
            patch.setattr(module, "_MAY_HOLD_ONE", ALWAYS)
        assert {name: apply(text) for name, (_, apply) in CHECKED_STEPS.items()} == found


OF_SIGNS: dict[str, Rule] = {
    "placeholders": Placeholders(),
    "directions": Directions(),
    "symbols": Symbols(),
    "scripts": Scripts(lambda _: False),
    "unread": Unread(lambda _: False),
    "spelling": Spelling(lambda _: True),
    "escapes": Escapes(),
    "quotes": Quotes("„“‚‘"),
    "ellipses": Ellipses(),
    "dashes": Dashes(),
    "slashes": Slashes(),
    "operators": Operators(),
    "enumerators": Enumerators(),
    "punctuation": Punctuation("en"),
}
"""Rules that depend on a vocabulary have the one with which they change the most."""
WORDS = st.lists(
    st.sampled_from(["a", "X", "7", "Äbß", "dass", "www", "No", "z", "pm", "123", "é1"])
    | st.text(st.characters(max_codepoint=255, categories=["Lu", "Ll"], exclude_characters="ªº"))
    | st.sampled_from([",", ".", "?", "!", " ", " ", " "]),
    max_size=15,
).map("".join)


@given(text=WORDS.filter(lambda text: Run(text).is_of_words), translation=TEXTS)
@settings(max_examples=300)
def test_rules_of_signs_do_not_change_plain_words(text: str, translation: str) -> None:
    for name, rule in OF_SIGNS.items():
        assert rule.prepare(Run(text)) == Run(text), name
        assert rule.restore(Run(text), Run(translation)) == Run(translation), name
        assert rule.came_through(Run(text), Run(translation)), name


@given(text=WORDS.filter(lambda text: Run(text).is_of_words))
def test_plain_text_is_split_the_same_without_the_fast_check(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "is_of_words", False)
        found = plain.parse(text), labels.cut(Run(text), "all")
    assert (plain.parse(text), labels.cut(Run(text), "all")) == found


@given(text=WORDS | TEXTS)
def test_plain_words_match_the_pattern(text: str) -> None:
    found = plain_words(text)
    assert found is None or found == re.findall(r"\w+", text)


def test_plain_words_are_split_at_common_punctuation() -> None:
    assert plain_words("Ja, um 7. Kommst du?") == ["Ja", "um", "7", "Kommst", "du"]


def test_the_list_of_rules_of_signs() -> None:
    assert {rule.name for rule in ORDER if rule.is_of_signs} == set(OF_SIGNS)


@pytest.mark.parametrize("sign", ["-", "'", '"', ":", "  ", "..", "?!", "a.b", "×", "µ", "²", "я"])
def test_a_text_with_another_sign_is_not_plain(sign: str) -> None:
    assert Run("Guten Tag, Welt.").is_of_words
    assert not Run(f"Guten Tag,{sign} Welt.").is_of_words


@pytest.mark.parametrize("rule", [(scripts, "_WORDS"), (unread, "_SIGN")])
def test_skipped_characters_begin_no_match(rule: tuple[ModuleType, str]) -> None:
    module, pattern = rule
    skipped = [one for one in map(chr, range(0x11_0000)) if not module._MAY_HOLD_ONE.search(one)]
    assert set(map(chr, range(128))) <= set(skipped)  # texts in ASCII are not even searched
    assert not [one for one in skipped if getattr(module, pattern).search(one)]


LINES = st.lists(st.sampled_from(" \t\u00a0-*+•‣–—>#・(1٣²aA\u0301.)x"), max_size=6).map("".join)


@given(LINES)
def test_skipped_lines_begin_with_no_marker(line: str) -> None:
    found = segmenter._MARKER.match(line)
    assert found is not None
    assert not found.end() or segmenter._MAY_BE_MARKED.match(line)


NAMES = {
    "Rom": "Rome",
    "New York": "Nuova York",
    "York": "Jork",
    "'s-Hag": "Hag",
    "&": "and",
    "A.": "B",
}


@given(*[st.lists(st.sampled_from([*NAMES, "x", " ", "-", "New Yorker", "Romy"])).map("".join)] * 2)
def test_names_are_found_by_the_first_word(source: str, target: str) -> None:
    """Names that are in both texts, even within words, replace whole words of the translation."""
    found = [name for name in NAMES if name in source and name in target]
    words = [set(re.findall(r"\w+", text)) for text in (source, target)]
    found = [name for name in found if not name.isalnum() or name in words[0] & words[1]]
    pattern = "|".join(map(re.escape, sorted(found, key=len, reverse=True))) or "(?!)"
    expected = re.sub(rf"\b(?:{pattern})\b", lambda match: NAMES[match[0]], target)
    assert Names(NAMES).restore(Run(source), Run(target)).text == expected


@given(TEXTS, st.booleans())
def test_the_check_for_case_agrees_with_its_definition(text: str, capitalizes_nouns: bool) -> None:
    words = re.findall(r"[^\W\d_]+", text)
    if casing._CASELESS.search(text):
        expected = False
    elif text.islower():
        expected = text != text.title() and len(words) >= casing.MIN_SMALL_WORDS
    elif text.isupper() or capitalizes_nouns or len(words) < casing.MIN_CAPITAL_WORDS:
        expected = casing.is_in_capitals(text)
    else:
        expected = all(word[0].isupper() for word in words)
    assert casing.says_nothing(text, capitalizes_nouns) == expected


def test_telling_words_are_frequent_and_less_common_in_the_other_language() -> None:
    table = common_words()
    telling = table.telling("en", "de", lead=5)
    assert {"the", "and", "is"} <= telling
    assert not {"in", "die", "sail"} & telling
    weights = dict(zip(table.entries, table.weights_in(table.entries, "en", "de"), strict=True))
    assert telling == {word for word, (en, de) in weights.items() if en >= 30 and en - de >= 5}


def test_markdown_does_not_search_placeholders_without_marks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(markdown, "Placeholders")
    parts = plain.parse("- Lies %s\n- Nimm %s")
    assert [one.text for one in parts if isinstance(one, Run)] == ["Lies %s", "Nimm %s"]
