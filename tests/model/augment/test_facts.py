"""Facts in patterns: both sides have the same facts, in the notation that CLDR has for the language."""

import re
from datetime import date, datetime
from pathlib import Path

import pytest
from babel import dates, numbers

from model.augment.fact_kinds import KINDS, Draw
from model.augment.facts import filled, load_patterns, main
from model.augment.writing import writings
from model.data.text import DataError

GERMAN, ENGLISH = writings()["de"], writings()["en"]
NAMES = ["Anna", "Boston", "Miller"]
SMALL = """
languages = ["de", "en"]
sentences = ["{year} und {year} / {year} and {year}", "{name}", "Um {clock} / At {clock}"]
"""


def draw(seed: int = 1) -> Draw:
    return Draw(NAMES, ["{name}weg", "{name} Road"], seed)


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
    assert len(set(pairs)) > 20 or kind in ("track", "name", "place", "street")
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


def test_several_facts_of_a_kind_have_the_same_order_on_both_sides() -> None:
    pattern = "{year}, {name}, {year}", "{name}: {year} {year}"
    source = draw()
    for _ in range(50):
        german, english = filled(pattern, (GERMAN, ENGLISH), source)
        first, name, second = german.split(", ")
        assert english == f"{name}: {first} {second}"


def test_the_included_patterns_use_every_kind_of_fact() -> None:
    languages, patterns = load_patterns("de-en")
    assert languages == ("de", "en")
    assert set(re.findall(r"\{(\w+)\}", " ".join(map("".join, patterns)))) == KINDS.keys()
    assert len(set(patterns)) == len(patterns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SMALL.replace('"{name}"', '"{nam}"'), r"\{nam\} is not a kind of fact: '\{nam\}'; known: .*name"),
        (SMALL.replace('"{name}"', '"{digit}"'), r"\{digit\} is not a kind of fact: '\{digit\}'"),
        (SMALL.replace("At {clock}", "At {time}"), r"a pattern .*.*'Um \{clock\} / At \{time\}'"),
        (SMALL.replace("{year} and {year}", "{year}"), r"a pattern .* same facts in both.*'\{year\} und"),
        (SMALL.replace('"{name}"', '"a / b / c"'), "a pattern is FIRST / SECOND .*: 'a / b / c'"),
        (SMALL.replace('"en"', '"xx"'), "languages: 'xx' is not among de, en"),
        (SMALL.replace("sentences", "sentence"), "sentences: Field required"),
        ('languages = ["de", "en"]\nsentences = []', "sentences: .*at least 1 item"),
        ("languages = [", "Invalid value"),
    ],
)  # fmt: skip
def test_invalid_patterns_are_errors_that_name_the_place(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=f"{re.escape(str(path))}: {message}"):
        load_patterns(str(path))
    with pytest.raises(DataError, match=r"xy: No such file.*de-en"):
        load_patterns("xy")


def test_the_corpus_has_the_names_of_the_text_and_depends_on_the_seed_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.de").write_text("Anna wohnt in Boston.\n", encoding="utf-8")
    (tmp_path / "train.en").write_text("Anna lives in Boston.\n", encoding="utf-8")
    patterns = tmp_path / "names.toml"
    patterns.write_text('languages = ["de", "en"]\nsentences = ["Ja, {name} / Yes, {name}"]')
    read = []
    for seed in ("1", "1", "2"):
        command = [str(tmp_path), str(patterns), "--count", "60", "--seed", seed]
        assert main([*command, "--out", str(tmp_path / "out")]) == 0
        paths = (tmp_path / "out" / f"train.facts.{code}" for code in ("de", "en"))
        read.append([path.read_text("utf-8").splitlines() for path in paths])
    german, english = read[0]
    assert english == [line.replace("Ja", "Yes") for line in german]
    assert len(german) == 60
    assert {"Ja, Anna", "Ja, Boston"} < set(german)
    assert read[0] == read[1] != read[2]
    assert "facts: 60 pairs" in capsys.readouterr().out
    (tmp_path / "train.en").write_text("She lives there.\n", encoding="utf-8")
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    assert "no pair has the same name on both sides" in capsys.readouterr().err
