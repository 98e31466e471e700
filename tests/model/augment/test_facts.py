"""Facts in sentences: both sides have the same facts, in the notation that CLDR has for the language."""

import re
from datetime import date, datetime
from pathlib import Path

import pytest
from babel import Locale, dates, numbers

from model.augment.fact_kinds import KINDS, Draw
from model.augment.facts import generated, main
from model.augment.lexicon import Lexicon, load_lexicon
from model.augment.writing import writings

GERMAN, ENGLISH = writings()["de"], writings()["en"]
NAMES = ["Anna", "Boston", "Miller"]


def lexicon_of(folder: Path, sentences: str, parts: str = "") -> Lexicon:
    path = folder / "mine.toml"
    lines = f'languages = ["de", "en"]\n[classes]\n[parts]\n{parts}\nsentence = [{sentences}]\n'
    path.write_text(lines, encoding="utf-8")
    return load_lexicon(str(path))


def draw(seed: int = 1) -> Draw:
    return Draw(NAMES, seed)


def written(kind: str, times: int = 200) -> list[tuple[str, str]]:
    """Draw facts of a kind, each in German and in English."""
    source = draw()
    facts = [KINDS[kind](source) for _ in range(times)]
    return [(fact(GERMAN), fact(ENGLISH)) for fact in facts]


@pytest.mark.parametrize("code", writings())
def test_months_and_decimal_marks_equal_those_of_cldr(code: str) -> None:
    language = writings()[code]
    assert dict(enumerate(language.months, 1)) == dates.get_month_names("wide", locale=code)
    assert language.decimal_mark == numbers.get_decimal_symbol(code)
    assert language.number("1,234,567.5") == numbers.format_decimal(1234567.5, locale=code)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"clock", "date"}))
def test_facts_have_the_same_digits_and_letters_in_both_languages(kind: str) -> None:
    pairs = written(kind)
    assert len(set(pairs)) > 20 or kind in ("track", "name")
    for german, english in pairs:
        assert german.strip() == german != ""
        assert re.findall(r"\w", german) == re.findall(r"\w", english)


@pytest.mark.parametrize("kind", ["amount", "percent", "measure", "large"])
def test_numbers_written_in_each_language_have_the_same_value(kind: str) -> None:
    pattern = r"\d[\d.,]*"
    decimals = 0
    for german, english in written(kind):
        one, two = (re.search(pattern, side) for side in (german, english))
        assert one
        assert two
        value = numbers.parse_decimal(one[0], locale="de", strict=True)
        assert value == numbers.parse_decimal(two[0], locale="en", strict=True)
        decimals += value % 1 != 0
    assert decimals > 50 or kind == "large"


def test_times_on_24_hour_and_12_hour_clocks_are_the_same() -> None:
    times = written("clock")
    for german, english in times:
        expected = datetime.strptime(german, "%H:%M Uhr").time()
        assert datetime.strptime(english, "%I:%M %p").time() == expected
    assert {"12", "1", "11"} <= {english.partition(":")[0] for _, english in times}


def test_dates_in_both_languages_are_the_same_day() -> None:
    for german, english in written("date"):
        day, month, year = english.split()
        meant = date(int(year), ENGLISH.months.index(month) + 1, int(day))
        assert german == dates.format_date(meant, "d. MMMM y", locale="de")


def test_percent_and_currency_signs_are_placed_as_each_language_does() -> None:
    for german, english in written("percent"):
        assert german.endswith(" %")
        assert re.fullmatch(r"[\d.,]+%", english)
    sums = [(g, e) for g, e in written("amount") if not e[-1].isalpha()]
    for german, english in sums:
        assert german[-2:] == f" {english[0]}"
    assert {english[0] for _, english in sums} == {"€", "$", "£"}


def test_several_facts_of_a_kind_have_the_same_order_on_both_sides(tmp_path: Path) -> None:
    lexicon = lexicon_of(tmp_path, '"{year}, {name}, {year} / {name}: {year} {year}"')
    for german, english in generated(lexicon, draw(), 50):
        first, name, second = german.split(", ")
        assert english == f"{name}: {first} {second}"


HOURS = [
    "twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
]  # fmt: skip
STUNDEN = [
    "zwölf", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf",
]  # fmt: skip
PAST = {
    "Viertel nach ": ("quarter past ", 15),
    "Viertel vor ": ("quarter to ", -15),
    "halb ": ("half past ", -30),
    "fünf vor halb ": ("twenty-five past ", -35),
    "fünf nach halb ": ("twenty-five to ", -25),
    "zwanzig vor ": ("twenty to ", -20),
    "zehn nach ": ("ten past ", 10),
}


def test_clock_times_in_words_are_the_same_time_in_both_languages() -> None:
    lexicon = load_lexicon("de-en")
    source = draw()
    drawn = {lexicon.draw("clock_words", (False, False), source) for _ in range(20_000)}
    for german_start, (english_start, minutes) in PAST.items():
        for hour in range(12):
            # "to" counts back from the coming hour, "past" on from the last one
            hour_in_english = (hour - (minutes < 0 and "past" in english_start)) % 12
            assert (
                f"{german_start}{STUNDEN[hour]}",
                f"{english_start}{HOURS[hour_in_english]}",
            ) in drawn
    assert ("halb drei", "2:30") in drawn
    assert ("halb eins", "12:30") in drawn
    assert ("ein Uhr", "one o'clock") in drawn


def test_ordinals_of_days_are_those_of_cldr() -> None:
    lexicon = load_lexicon("de-en")
    source = draw()
    days = {lexicon.draw("day", (False, False), source) for _ in range(800)}
    suffixes = {"one": "st", "two": "nd", "few": "rd", "other": "th"}
    english = Locale.parse("en")
    assert days == {
        (f"{day}.", f"{day}{suffixes[english.ordinal_form(day)]}") for day in range(1, 32)
    }


def test_the_included_sentences_use_every_kind_of_fact_and_class() -> None:
    lexicon = load_lexicon("de-en")
    entries = [entry for entries in (lexicon.classes | lexicon.parts).values() for entry in entries]
    used = {name for entry in entries for name in entry.placeholders}
    assert used >= KINDS.keys()
    assert lexicon.parts.keys() - used == {"sentence", "whole_name"}
    sentences = [entry.sides for entry in lexicon.parts["sentence"]]
    assert len(set(sentences)) > 200


def test_whole_names_are_the_same_on_both_sides_except_towns_with_another_name() -> None:
    lexicon = load_lexicon("de-en")
    source = draw()
    pairs = [lexicon.draw("whole_name", (False, False), source) for _ in range(500)]
    assert sum(first == second for first, second in pairs) > 480
    for first, second in pairs:
        assert min(len(first.split()), len(second.split())) > 1


def test_the_corpus_has_the_names_of_the_text_and_depends_on_the_seed_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.de").write_text("Anna wohnt in Boston.\n", encoding="utf-8")
    (tmp_path / "train.en").write_text("Anna lives in Boston.\n", encoding="utf-8")
    lexicon_of(tmp_path, '"Ja, {name} / Yes, {name}"')
    read = []
    for seed in ("1", "1", "2"):
        command = [str(tmp_path), str(tmp_path / "mine.toml"), "--count", "20", "--seed", seed]
        assert main([*command, "--out", str(tmp_path / "out")]) == 0
        paths = (tmp_path / "out" / f"train.facts.{code}" for code in ("de", "en"))
        read.append([path.read_text("utf-8").splitlines() for path in paths])
    german, english = read[0]
    assert english == [line.replace("Ja", "Yes") for line in german]
    assert len(set(german)) == len(german) == 20
    assert {"Ja, Anna", "Ja, Boston"} < set(german)
    assert read[0] == read[1] != read[2]
    assert "facts: 20 pairs" in capsys.readouterr().out
    (tmp_path / "train.en").write_text("She lives there.\n", encoding="utf-8")
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    assert "no pair has the same name on both sides" in capsys.readouterr().err


def test_sentences_of_test_sets_are_left_out_and_none_is_written_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.de").write_text("Anna wohnt in Boston.\n", encoding="utf-8")
    (tmp_path / "train.en").write_text("Anna lives in Boston.\n", encoding="utf-8")
    (tmp_path / "test.en").write_text("greetings from bonn\n", encoding="utf-8")
    lexicon_of(
        tmp_path, '"Grüße aus {town}! / Greetings from {town}!"', 'town = ["Bonn", "Wien / Vienna"]'
    )
    command = [str(tmp_path), str(tmp_path / "mine.toml"), "--without", str(tmp_path / "test.en")]
    assert main([*command, "--count", "5", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "train.facts.de").read_text("utf-8") == "Grüße aus Wien!\n"
    assert "facts: 1 pairs" in capsys.readouterr().out


def test_a_lexicon_without_sentences_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('languages = ["de", "en"]\n[classes]\n', encoding="utf-8")
    assert main([str(tmp_path), str(path), "--out", str(tmp_path)]) == 1
    assert "mine.toml: has no class sentence" in capsys.readouterr().err
