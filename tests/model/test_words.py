"""Words exchanged: both sides alike, only where the text has them beside the same neighbours."""

import re
from pathlib import Path

import pytest

from model.words import Exchange, Vocabulary, align_text, cut, main

ANIMALS = {"Hund": "dog", "Vogel": "bird", "Frosch": "frog", "Fisch": "fish"}
DEEDS = {"lacht": "laughs", "kocht": "cooks", "wacht": "watches"}


def a_text() -> list[tuple[str, str]]:
    """Every animal does everything twice; "Katze" alone is feminine, "Hunde" are several."""
    pairs = [
        (f"{der} {animal} {deed} {when}.", f"{the} {ANIMALS[animal]} {DEEDS[deed]} {then}.")
        for animal in ANIMALS
        for deed in DEEDS
        for der, the in (("Da: der", "There: the"), ("Hier: der", "Here: the"))
        for when, then in (("jetzt", "now"),)
    ]
    pairs += [(f"Sie mag die Katze {n}.", f"She likes the cat {n}.") for n in range(4)]
    pairs += [("Eine Katze.", "A cat."), ("Oh, eine Katze!", "Oh, a cat!")]
    pairs += [(f"Wo sind die Hunde {n}?", f"Where are the dogs {n}?") for n in range(4)]
    pairs += [(f"Wo sind die Katzen {n}?", f"Where are the cats {n}?") for n in range(4)]
    return pairs


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(align_text(a_text()).values())


def test_text_is_cut_into_words_and_marks() -> None:
    sentence = cut("Er sagt: „Geht's, Anna-Maria?“")
    assert sentence.tokens == ["Er", "sagt", ":", "„", "Geht's", ",", "Anna-Maria", "?", "“"]
    assert sentence.neighbours(0) == ("", "sagt")
    assert sentence.neighbours(8) == ("?", "")
    assert [sentence.spans[place] for place in (0, 4)] == [(0, 2), (10, 16)]


def test_words_that_are_each_others_translation_are_found(vocabulary: Vocabulary) -> None:
    assert {
        *ANIMALS.items(),
        *DEEDS.items(),
        ("Katze", "cat"),
        ("Hunde", "dogs"),
    } <= vocabulary.words


def test_others_have_the_same_neighbours_and_the_same_form(vocabulary: Vocabulary) -> None:
    around = ("der", "lacht", "the", "laughs")
    others = {("Vogel", "bird"), ("Frosch", "frog"), ("Fisch", "fish")}
    assert set(vocabulary.fitting(("Hund", "dog"), around)) == others
    # "die" stands before the feminine and before several, which the other language tells apart
    around = ("die", "1", "the", "1")
    assert vocabulary.fitting(("Katze", "cat"), around) == []
    assert vocabulary.fitting(("Hunde", "dogs"), around) == [("Katzen", "cats")]


def test_what_stands_behind_a_verb_counts(vocabulary: Vocabulary) -> None:
    others = [("kocht", "cooks"), ("wacht", "watches")]
    assert vocabulary.fitting(("lacht", "laughs"), ("Hund", "jetzt", "dog", "now")) == others
    assert vocabulary.fitting(("lacht", "laughs"), ("Hund", "gern", "dog", "now")) == []


def test_both_sides_are_exchanged_and_all_else_stays() -> None:
    exchange = Exchange(a_text(), seed=1)
    seen = set()
    for _ in range(100):
        new = exchange(("Da: der Hund lacht jetzt.", "There: the dog laughs now."))
        assert new is not None
        one = re.fullmatch(r"Da: der (\w+) (\w+) jetzt\.", new[0])
        other = re.fullmatch(r"There: the (\w+) (\w+) now\.", new[1])
        assert one
        assert other
        animal, deed = one.groups()
        assert (ANIMALS[animal], DEEDS[deed]) == other.groups()
        assert (animal, deed) != ("Hund", "lacht")
        seen.add(animal)
    assert seen == set(ANIMALS)


def test_a_pair_that_is_unknown_or_leaves_no_choice_becomes_none() -> None:
    exchange = Exchange(a_text(), seed=1)
    assert exchange(("Etwas anderes.", "Something else.")) is None
    assert exchange(("Sie mag die Katze 1.", "She likes the cat 1.")) is None


def test_every_corpus_gets_one_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for code, side in zip(("de", "en"), zip(*a_text(), strict=True), strict=True):
        (tmp_path / f"train.{code}").write_text("\n".join(side) + "\n", encoding="utf-8")
        (tmp_path / f"train.chat.{code}").write_text(side[0] + "\n", encoding="utf-8")
    arguments = [str(tmp_path), "--languages", "de", "en", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "out").iterdir()}
    assert {name: text.count("\n") for name, text in written.items()} == {
        "train.words.de": 24,
        "train.words.en": 24,
        "train.chat-words.de": 1,
        "train.chat-words.en": 1,
    }
    assert capsys.readouterr().out.endswith(
        " words\nchat-words: 1 pairs, of 1\nwords: 24 pairs, of 38\n"
    )
    assert main(arguments) == 0
    again = {path.name: path.read_text("utf-8") for path in (tmp_path / "out").iterdir()}
    assert again == written


def test_text_that_cannot_be_used_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.de").write_text("Ja.\nNein.\n", encoding="utf-8")
    (tmp_path / "train.en").write_text("Yes.\n", encoding="utf-8")
    assert main([str(tmp_path), "--languages", "de", "en", "--out", str(tmp_path / "o")]) == 1
    assert "train.en: ends at line 1" in capsys.readouterr().err
