"""New words in sentences: the results are grammatical."""

from pathlib import Path

import pytest

from model.augment.context import Exchange, find_slots, main, new_words
from model.augment.ding import Entry
from model.data.pairs import TextPair

CAT = Entry(["Katze {f}"], ["cat", "kitty"])
NOTHING = frozenset[str](), frozenset[str]()


def exchange(pair: TextPair, *entries: Entry, new: Entry, source: int = 0) -> TextPair | None:
    """Exchange a word of a pair, with `entries` as the dictionary and `new` as the only replacement."""
    ranks = tuple({word.lower(): 0 for text in side for word in text.split()} for side in new)
    words = new_words([new], source, NOTHING, (ranks[0], ranks[1]))
    return Exchange(find_slots([*entries, new]), words, seed=1)(pair)


@pytest.mark.parametrize(
    ("pair", "entry", "new", "wanted"),
    [
        (
            ("Ich habe eine Katze.", "I have a kitty."),
            CAT,
            Entry(["Ameise {f}"], ["ant"]),
            ("Ich habe eine Ameise.", "I have an ant."),
        ),
        (
            ("Alte Häuser sind schön.", "Old houses are beautiful."),
            Entry(["alt {adj}"], ["old"]),
            Entry(["morsch {adj}"], ["rotten"]),
            ("Morsche Häuser sind schön.", "Rotten houses are beautiful."),
        ),
        (
            ("Er spielt mit den Hunden.", "He plays with the dogs."),
            Entry(["Hunden {pl}"], ["dogs"]),
            Entry(["Ameisen {pl}"], ["ants"]),
            ("Er spielt mit den Ameisen.", "He plays with the ants."),
        ),
        (
            ("Das ist ein Apfel.", "That is an apple."),
            Entry(["Apfel {m}"], ["apple"]),
            Entry(["Balken {m}"], ["beam"]),
            ("Das ist ein Balken.", "That is a beam."),
        ),
    ],
)
def test_a_word_is_replaced_by_one_of_the_same_kind_and_agreement_is_preserved(
    pair: TextPair, entry: Entry, new: Entry, wanted: TextPair
) -> None:
    assert exchange(pair, entry, new=new) == wanted


@pytest.mark.parametrize(
    ("pair", "new"),
    [
        (("Ich habe eine Katze.", "I have an animal."), Entry(["Ameise {f}"], ["ant"])),
        (("Ich habe eine Katze.", "I have a cat."), Entry(["Käfer {m}"], ["beetle"])),
        (("Eine Katze ist keine Katze.", "One cat is no kitty."), Entry(["Ameise {f}"], ["ant"])),
        (("Eine Katze.", "A cat is a kitty."), Entry(["Ameise {f}"], ["ant"])),
        (("Ich habe eine Katze.", "I have a cat."), Entry(["rote Ameise {f}"], ["fire ant"])),
        (("Ich habe eine Katze.", "I have a cat."), Entry(["Schweiz {f}"], ["Switzerland"])),
    ],
    ids=["no translation", "another gender", "twice", "two translations", "two words", "a name"],
)
def test_a_word_that_does_not_fit_is_not_inserted(pair: TextPair, new: Entry) -> None:
    assert exchange(pair, CAT, new=new) is None


def test_a_dative_plural_is_replaced_by_a_dative_plural_only() -> None:
    dogs = Entry(["Hunden {pl}"], ["dogs"])
    beetles = Entry(["Käfer {pl}"], ["beetles"])
    assert exchange(("mit den Hunden", "with the dogs"), dogs, new=beetles) is None


def test_words_with_unknown_forms_are_not_inserted() -> None:
    lion, dark = Entry(["Löwe {m}"], ["lion"]), Entry(["dunkel {adj}"], ["dark"])
    ranks = {"löwe": 0, "dunkel": 1}, {"lion": 0, "dark": 1}
    assert new_words([lion, dark], 0, NOTHING, ranks) == {}


def test_new_words_are_common_and_have_their_most_common_translations() -> None:
    entries = [
        Entry(["Bank {f}"], ["settle"]),
        Entry(["Bank {f}", "Ruhebank {f}"], ["bench", "seat"]),
        Entry(["Ameise {f}"], ["ant"]),
    ]
    ranks = {"bank": 0, "ameise": 1}, {"bench": 0, "seat": 1, "settle": 2, "ant": 3}
    known = frozenset[str](), frozenset({"ant"})
    assert new_words(entries, 0, known, ranks) == {"f": [("Bank", "bench"), ("Ameise", "ant")]}
    assert new_words(entries, 1, known, ranks) == {
        "f": [("Bank", "settle"), ("Bank", "bench"), ("Bank", "seat")]
    }


def test_the_command_writes_a_corpus_for_each_direction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.de").write_text("Ich habe eine Katze.\nWas?\n")
    (tmp_path / "train.en").write_text("I have a cat.\nWhat?\n")
    (tmp_path / "de-en").write_text("Katze {f} :: cat\nAmeise {f} :: ant\nEmse {f} :: ant\n")
    (tmp_path / "usual.de").write_text("Ameise\n")
    (tmp_path / "usual.en").write_text("ant\n")
    command = [str(tmp_path), "--dictionary", str(tmp_path / "de-en"), "--out", str(tmp_path)]
    command += ["--usual", str(tmp_path / "usual.de"), str(tmp_path / "usual.en")]
    assert main(command) == 0
    assert capsys.readouterr().out == ("context-de: 1 pairs, of 2\ncontext-en: 1 pairs, of 2\n")
    for code in ("de", "en"):
        assert (tmp_path / f"train.context-{code}.de").read_text() == "Ich habe eine Ameise.\n"
        assert (tmp_path / f"train.context-{code}.en").read_text() == "I have an ant.\n"


def test_a_missing_word_list_is_an_error_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "usual.de"
    command = [str(tmp_path), "--dictionary", "x", "--usual", str(missing), str(missing)]
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    assert str(missing) in capsys.readouterr().err
