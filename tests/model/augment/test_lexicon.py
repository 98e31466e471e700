"""A lexicon: its format, its errors, and that changed pairs remain translations of each other."""

import re
from pathlib import Path

import pytest

from model.augment.lexicon import Exchange, Lexicon, load_lexicon, main
from model.data.text import DataError

SMALL = """
languages = ["de", "en"]
[classes]
man = ["Tom", "^Herr {surname} / Mr. {surname}", "{first} {surname}"]
with_man = ["mit Tom / with Tom", "mit Herrn {surname} / with Mr. {surname}"]
city = ["Wien / Vienna", "Boston", "Sankt Gallen / St. Gallen"]
and_so_on = ["und so weiter / and so on", "usw. / etc."]
[parts]
surname = ["Koch", "Weber"]
first = ["Otto", "Max"]
"""


def lexicon_of(folder: Path, text: str) -> Lexicon:
    path = folder / "lexicon.toml"
    path.write_text(text, encoding="utf-8")
    return load_lexicon(str(path))


@pytest.fixture
def small(tmp_path: Path) -> Lexicon:
    return lexicon_of(tmp_path, SMALL)


def all_of(lexicon: Lexicon, first: str, second: str) -> set[tuple[str, str]]:
    """Return the results of two hundred draws for a pair."""
    exchange = Exchange(lexicon, seed=1)
    return {new for _ in range(200) if (new := exchange((first, second)))}


def test_an_entry_is_replaced_by_another_on_both_sides(small: Lexicon) -> None:
    assert all_of(small, "Wien ist schön.", "I like Vienna.") == {
        ("Boston ist schön.", "I like Boston."),
        ("Sankt Gallen ist schön.", "I like St. Gallen."),
    }


def test_placeholders_are_filled_alike_and_initial_entries_occur_at_the_start_only(
    small: Lexicon,
) -> None:
    full = {(f"{first} {name}", name) for first in ("Otto", "Max") for name in ("Koch", "Weber")}
    names = {(whole, whole) for whole, _ in full}
    titles = {(f"Herr {name}", f"Mr. {name}") for name in ("Koch", "Weber")}
    assert all_of(small, "Tom lacht.", "He laughs, Tom.") == {
        (f"{first} lacht.", f"He laughs, {second}.") for first, second in names | titles
    }
    assert all_of(small, "Da ist Tom.", "There is Tom.") == {
        (f"Da ist {first}.", f"There is {second}.") for first, second in names
    }


def test_the_longest_of_nested_entries_is_replaced(small: Lexicon) -> None:
    assert all_of(small, "Sie geht mit Tom.", "She walks with Tom.") == {
        (f"Sie geht mit Herrn {name}.", f"She walks with Mr. {name}.") for name in ("Koch", "Weber")
    }


def test_several_entries_of_a_pair_are_replaced_each_in_its_place(small: Lexicon) -> None:
    for first, second in all_of(small, "Tom mag Wien.", "Vienna is what Tom likes."):
        man, city = re.fullmatch(r"(.*) mag (.*)\.", first).groups()  # type: ignore[union-attr]
        expected = re.fullmatch(r"(.*) is what (.*) likes\.", second).groups()  # type: ignore[union-attr]
        translated = {"Wien": "Vienna", "Sankt Gallen": "St. Gallen"}.get(city, city)
        assert expected == (translated, man.replace("Herr", "Mr."))


def test_one_full_stop_ends_an_abbreviation_and_the_sentence(small: Lexicon) -> None:
    assert all_of(small, "Äpfel und so weiter.", "Apples and so on.") == {
        ("Äpfel usw.", "Apples etc.")
    }
    assert all_of(small, "Äpfel usw.", "Apples, etc.") == {
        ("Äpfel und so weiter.", "Apples, and so on.")
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Wiener sind nett.", "People of Vienna are nice."),  # a part of a word
        ("In Wien ist Wien.", "Vienna is in Vienna."),  # ambiguous
        ("Wien ist schön.", "It is beautiful."),
        ("Koch ist hier.", "Koch is here."),  # parts are not replaced
        ("Herr Koch ist hier.", "Mr. Koch is here."),
    ],
)
def test_a_pair_without_exactly_one_entry_on_each_side_is_left_out(
    small: Lexicon, first: str, second: str
) -> None:
    assert not all_of(small, first, second)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("languages = 3\n[classes]\n", "languages: .*, but is 3"),
        ('languages = ["de", "en"]\n[clases]\n', "class"),
        (SMALL.replace('"Koch"', "4"), r"parts.surname.0: .*, but is 4"),
        (SMALL.replace("{first}", "{fist}"), r"class man: \{fist\} is not a class"),
        (SMALL.replace('"Otto"', '"{first} X"'), "class first: its placeholders lead back"),
        (
            SMALL.replace('"Boston"', '"a / b / c"'),
            "class city: an entry is FIRST / SECOND.*'a / b",
        ),
        (SMALL.replace('"Boston"', '" / b"'), "class city: an entry is FIRST / SECOND"),
        (SMALL.replace('"Otto", "Max"', '"^Otto"'), "class first: has no entry that may occur"),
        (SMALL.replace('"Otto", "Max"', ""), "class first: has no entry that may occur"),
        (
            SMALL.replace("{fist}", "{first}").replace('"Otto"', '"{tod}"'),
            r"class first: \{tod\} is not .*time",
        ),
        (
            SMALL.replace("Mr. {surname}", "Mr. X"),
            "class man: an entry .* the same placeholders in both",
        ),
        (
            SMALL.replace('"en"', '"xx"').replace('"Otto"', '"{time}"'),
            "does not say how 'xx' writes facts",
        ),
        ("languages = [", r"lexicon.toml: "),
    ],
)
def test_an_invalid_lexicon_is_an_error_that_names_the_place(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        lexicon_of(tmp_path, text)


def test_a_missing_lexicon_is_an_error_that_names_the_included_ones() -> None:
    with pytest.raises(DataError, match=r"xy: No such file.*de-en"):
        load_lexicon("xy")


def test_the_included_lexicon_replaces_names_with_titles_and_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for code, line in (("de", "Tom lernt im Mai Polnisch."), ("en", "Tom learns Polish in May.")):
        (tmp_path / f"train.{code}").write_text(f"{line}\n" * 300, encoding="utf-8")
    assert main([str(tmp_path), "de-en", "--out", str(tmp_path / "out")]) == 0
    german, english = (
        (tmp_path / "out" / f"train.lexicon.{code}").read_text("utf-8").splitlines()
        for code in ("de", "en")
    )
    assert capsys.readouterr().out == f"lexicon: {len(german)} pairs, of 300\n"
    assert len(german) == len(english) > 290
    titles = [pair for pair in zip(german, english, strict=True) if pair[0].startswith("Herr ")]
    assert titles
    for first, second in titles:
        name = first.removeprefix("Herr ").removeprefix("Dr. ").partition(" lernt")[0]
        assert re.match(rf"(Mr\.?|Dr\.) {name} learns \w+ in \w+\.", second)
    assert ("Türkisch" in " ".join(german)) == ("Turkish" in " ".join(english))


def test_a_folder_without_training_text_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path), "de-en", "--out", str(tmp_path / "out")]) == 1
    assert "has no training text" in capsys.readouterr().err
