"""Forms of text: both sides change in the same way, or only one, and placeholders replace translations."""

import re
from collections import Counter
from pathlib import Path

import pytest

from model.augment.forms import Change, Forms, Rough, main, single_words
from model.data.pairs import TextPair

PAIR = ("Wien mag Tom.", "Tom likes Vienna.")
TRANSLATED = {"Wien": "Vienna", "Tom": "Tom"}
WORDS = {"Wien": frozenset({"Vienna"}), "mag": frozenset({"may"})}
UMLAUTS = {"ä": "ae", "Ü": "Ue", "ß": "ss"}
TYPOGRAPHIC = {("„", "“"), ("»", "«"), ("‚", "‘")}, {("“", "”"), ("‘", "’")}
STRAIGHT = {('"', '"'), ("'", "'"), *map(tuple, ("()", "[]", "**", "__", "{}", "||"))}


def forms(*languages: str, seed: int = 1) -> Forms:
    return Forms((languages[0], languages[1]) if languages else ("de", "en"), WORDS, seed)


def all_of(change: Change, pair: TextPair = PAIR) -> set[TextPair]:
    """Return the results of five hundred draws for a pair."""
    return {made for _ in range(500) if (made := change(pair))}


def tags(text: str) -> list[str]:
    return re.findall(r"<p\d>", text)


def test_case_and_punctuation_change_alike_on_both_sides() -> None:
    of = forms()
    assert all_of(of.capitals) == {("WIEN MAG TOM.", "TOM LIKES VIENNA.")}
    assert all_of(of.title_case) == {("Wien Mag Tom.", "Tom Likes Vienna.")}
    assert all_of(of.without_mark) == {("Wien mag Tom", "Tom likes Vienna")}
    ends = {
        (one.removeprefix("Wien mag Tom"), two.removeprefix("Tom likes Vienna"))
        for one, two in all_of(of.other_mark)
    }
    assert all(one == two and len(one) in (1, 2, 3) for one, two in ends)
    assert len(ends) > 5
    starts = {
        (one.removesuffix(PAIR[0]), two.removesuffix(PAIR[1])) for one, two in all_of(of.listed)
    }
    assert {"- ", "1. ", "\t", "&"} <= {one for one, _ in starts}
    assert all(one == two for one, two in starts)


def test_headings_are_short_and_begin_with_a_capital() -> None:
    of = forms()
    assert of.heading(("übersicht der Kurse", "list of courses")) == (
        "Übersicht der Kurse",
        "List of courses",
    )
    assert of.heading(("das ist ein langer ganzer Satz", "a whole sentence")) is None


@pytest.mark.parametrize("pair", [("Ja.", "Yes"), ("Ja", "Yes."), ("Ja.", "Yes!"), ("Ja", "Yes")])
def test_final_punctuation_that_differs_between_the_sides_is_unchanged(pair: TextPair) -> None:
    assert not all_of(forms().without_mark, pair)
    assert not all_of(forms().other_mark, pair)


@pytest.mark.parametrize("first_language", ["de", "xx"])
def test_quotes_are_those_of_each_language_around_the_same_words(first_language: str) -> None:
    seen = set()
    for one, two in all_of(forms(first_language, "en").enclosed):
        first = re.search(r"([^\w ]|_)(Wien mag Tom\.|Wien|Tom)([^\w .]|_)", one)
        second = re.search(r"([^\w ]|_)(Tom likes Vienna\.|Vienna|Tom)([^\w .]|_)", two)
        assert first
        assert second
        assert second[2] == TRANSLATED.get(first[2], PAIR[1])
        marks = (first[1], first[3]), (second[1], second[3])
        seen.add(marks)
        if marks[1] in TYPOGRAPHIC[1]:
            assert marks[0] in (TYPOGRAPHIC[0] if first_language == "de" else STRAIGHT)
        else:
            assert marks[0] == marks[1] in STRAIGHT
    assert {second for _, second in seen} == STRAIGHT | TYPOGRAPHIC[1]


def test_two_pairs_are_joined_by_the_same_separator_on_both_sides() -> None:
    of = forms()
    assert of.joined(PAIR) is None
    while of(("Ja.", "Yes.")) is None:
        pass
    for one, two in all_of(of.joined):
        between = one.removeprefix("Ja.").removesuffix(PAIR[0])
        assert re.fullmatch(r"\s|[ ;–|]+", between)
        assert two in (f"Yes.{between}{PAIR[1]}", f"Yes.—{PAIR[1]}")
        assert between == " – " or "—" not in two
    assert ("Ja. – Wien mag Tom.", "Yes.—Tom likes Vienna.") in all_of(of.joined)


def test_placeholders_replace_the_same_words_on_both_sides() -> None:
    made = all_of(forms().with_placeholders)
    assert len(made) > 50
    whole = 0
    for one, two in made:
        assert Counter(tags(one)) == Counter(tags(two))
        assert max(Counter(tags(one)).values()) == 1
        left_out = [
            Counter(before.strip(".").split()) - Counter(re.findall(r"\b(?!p\d)\w+", after))
            for before, after in zip(PAIR, (one, two), strict=True)
        ]
        assert left_out[1] == Counter(TRANSLATED[word] for word in left_out[0].elements())
        if found := re.fullmatch(r"(\S+) mag (\S+)\.", one):
            whole += 1
            assert two == f"{found[2]} likes {found[1].replace('Wien', 'Vienna')}."
    assert whole > 20


def test_placeholders_are_numbered_in_the_order_of_the_first_language_or_at_random() -> None:
    made = all_of(forms().with_placeholders)
    numbered = [
        pair for pair in made if tags(pair[0]) == ["<p0>", "<p1>", "<p2>"][: len(tags(pair[0]))]
    ]
    assert len(numbered) > 20
    assert ("<p0> mag <p1>.", "<p1> likes <p0>.") in numbered
    assert {tag for one, _ in made for tag in tags(one)} == {f"<p{number}>" for number in range(10)}


def test_tags_around_a_word_touch_it_even_if_others_are_at_the_edge() -> None:
    made = all_of(forms().with_placeholders, ("Tom", "Tom"))
    assert all(one == two for one, two in made)
    assert {re.sub(r"\d", "", one) for one, _ in made} == {
        f"{before}{word}{after}"
        for word in ("<p>", "<p>Tom<p>")
        for before in ("", "<p> ")
        for after in ("", " <p>")
    }  # fmt: skip


def test_placeholders_are_at_the_edges_if_no_words_are_translations_of_each_other() -> None:
    pair = ("Tom und Tom aßen.", "Tom and Tim ate.")  # ambiguous
    made = {
        tuple(re.sub(r"\d", "", side) for side in new)
        for new in all_of(forms().with_placeholders, pair)
    }
    starts, ends = ("", "<p> "), (".", " <p>.", ". <p>")
    assert made == {
        (f"{start}Tom und Tom aßen{end}", f"{start}Tom and Tim ate{end}")
        for start in starts
        for end in ends
        if start or end != "."
    }


def test_word_translations_are_the_pairs_of_single_words_in_the_data() -> None:
    pairs = [("Bank", "bank"), ("Bank", "bench"), ("der Hund", "the dog"), ("Haus 5", "house")]
    assert single_words(pairs) == {"Bank": {"bank", "bench"}}


@pytest.mark.parametrize("side", [0, 1])
def test_typing_errors_are_on_one_side_only(side: int) -> None:
    pair = ("Über große Bären, Tom.", "Über große Bären, Tom.")
    of = Rough(side, UMLAUTS, seed=1)
    for new in all_of(of, pair):
        assert new[1 - side] == pair[1 - side]
        assert new[side] != pair[side]
    text = pair[0]
    assert of.digraphs(text) == "Ueber grosse Baeren, Tom."
    assert of.shift("Hallo du.") == "HAllo du."
    assert {of.spaces(text) for _ in range(50)} == {
        "Über große Bären, Tom .",
        "Über große Bären,Tom.",
    }


def test_typing_errors_spare_first_letters_and_short_words() -> None:
    of = Rough(0, {}, seed=1)
    made = {of.slip("Hand und Fu") for _ in range(300)}
    expected = {
        "Hnd",
        "Haand",
        "Hnad",
        "Hannd",
        "Hadn",
        "Had",
        "Hand",
    }  # omitted, doubled, swapped
    expected |= {f"H{letter}nd" for letter in "and"} | {f"Ha{letter}d" for letter in "and"}
    assert made == {f"{word} und Fu" for word in expected}


def test_the_same_seed_gives_the_same_pairs() -> None:
    pairs = [(f"Wort {number} ist da.", f"Word {number} is there.") for number in range(100)]
    for make in (lambda seed: forms(seed=seed), lambda seed: Rough(0, {}, seed)):
        one, again, other = ([make(seed)(pair) for pair in pairs] for seed in (1, 1, 2))
        assert [*map(make(3), pairs)] == [*map(make(3), pairs)] != [*map(make(4), pairs)]
        assert one == again != other


def test_long_pairs_are_left_out() -> None:
    long = " ".join(["Wort"] * 61), "word"
    assert not all_of(forms(), long)
    assert not all_of(Rough(1, {}, 1), long)
    assert all_of(forms(), (long[0].removesuffix(" Wort"), "word"))


def test_corpora_are_written_for_every_corpus_of_the_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpora = {"": [("Das ist Wien.", "This is Vienna.")] * 40, "words.": [("Wien", "Vienna")] * 20}
    for name, pairs in corpora.items():
        for code, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
            (tmp_path / f"train.{name}{code}").write_text("\n".join(side) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    assert main([str(tmp_path), "--languages", "de", "en", "--out", str(out)]) == 0
    kinds = ("forms", "rough-de", "rough-en", "copied-de", "copied-en")
    names = {f"{before}{kind}" for before in ("", "words-") for kind in kinds}
    read = {path.name: path.read_text("utf-8").splitlines() for path in out.iterdir()}
    assert read.keys() == {f"train.{name}.{code}" for name in names for code in ("de", "en")}
    assert read["train.copied-de.en"] == read["train.copied-de.de"] == ["Das ist Wien."] * 40
    assert read["train.copied-en.de"] == read["train.copied-en.en"] == ["This is Vienna."] * 40
    assert set(read["train.rough-de.en"]) == {"This is Vienna."}
    assert set(read["train.rough-en.de"]) == {"Das ist Wien."}
    assert ("Das ist <p0>.", "This is <p0>.") in zip(
        read["train.forms.de"], read["train.forms.en"], strict=True
    )
    assert "copied-de: 40 pairs, of 40" in capsys.readouterr().out


def test_a_folder_without_training_text_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(tmp_path), "--languages", "de", "en", "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert "has no training text" in capsys.readouterr().err
