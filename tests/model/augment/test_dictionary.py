"""Training pairs from a dictionary."""

from pathlib import Path

import pytest

from model.augment.dictionary import divide, main, unfold
from model.augment.ding import Entry, read_entries

DICTIONARY = """\
# Version :: made for this test
Flugzeug {n} /Fz./; Flieger {m} [ugs.]; Aero {m} [veraltet] | Flugzeuge {pl} :: plane; jet /AC/ (any) | planes
etw. (leise; langsam) sagen {vt} | sagend | Sie hat es gesagt. :: to say sth. | saying | She’s said it.
er/sie geht :: he/she goes
rund um die Uhr :: 24/7
Ameise {f} [zool.] | Ameisen {pl} :: ant | ants
Hund {m} | Hunde {pl} | Hündin {f} :: dog | dogs
dies / jenes :: this
"""
NOTHING = frozenset[str](), frozenset[str]()


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    path = tmp_path / "de-en"
    path.write_text(DICTIONARY)
    return path


def test_each_source_has_the_most_common_translation(dictionary: Path) -> None:
    both = [
        ("Fz.", "AC"),
        ("Flugzeuge", "planes"),
        ("etwas sagen", "to say something"),
        ("sagend", "saying"),
        ("er geht", "he goes"),
        ("sie geht", "she goes"),
        ("Ameise", "ant"),
        ("Ameisen", "ants"),
    ]
    assert divide(read_entries(dictionary), ("de", "en"), NOTHING) == {
        "examples": [("Sie hat es gesagt.", "She's said it.")],
        "from-de": [("Flugzeug", "plane"), ("Flieger", "plane"), *both],
        "from-en": [("Flugzeug", "plane"), ("Flugzeug", "jet"), *both],
    }


def test_an_abbreviation_without_a_counterpart_is_translated_by_the_word() -> None:
    entries = [Entry(["und so weiter", "/usw./"], ["and so on"])]
    assert divide(entries, ("de", "en"), NOTHING)["from-de"][1] == ("usw.", "and so on")


def test_known_words_are_left_out_but_phrases_of_them_are_kept() -> None:
    known = frozenset(["guter", "mann", "den", "faden", "verlieren"]), frozenset({"good"})
    entries = [
        Entry(["guter Mann"], ["good man"]),
        Entry(["den Faden verlieren"], ["to lose the thread"]),
        Entry(["Mann"], ["good"]),
    ]
    corpora = divide(entries, ("de", "en"), known)
    assert corpora["from-de"] == [("den Faden verlieren", "to lose the thread")]
    assert corpora["from-en"] == [
        ("guter Mann", "good man"),  # "man" is new
        ("den Faden verlieren", "to lose the thread"),
    ]


@pytest.mark.parametrize(
    ("pair", "pairs"),
    [
        (("reiner Hohn", "sheer/pure mockery"), [("reiner Hohn", "sheer mockery")]),
        (
            ("er/sie/es ist", "he/she/it is"),
            [("er ist", "he is"), ("sie ist", "she is"), ("es ist", "it is")],
        ),
        (("ganz", "24/7"), []),
        (("", "left over"), []),
        (("offen (", "open"), []),
    ],
)
def test_alternatives_of_both_sides_are_paired_in_order(
    pair: tuple[str, str], pairs: list[tuple[str, str]]
) -> None:
    assert list(unfold(pair)) == pairs


def test_the_command_writes_the_corpora(
    dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "train.de").write_text("Ein Flugzeug, zwei Flugzeuge.\n" * 15)
    (data / "train.en").write_text("A plane, two planes.\n" * 15)
    command = [str(data), "--dictionary", str(dictionary), "--languages", "de", "en"]
    assert main([*command, "--out", str(tmp_path / "out"), "--without", "zool."]) == 0
    assert capsys.readouterr().out == "examples: 1 pairs\nfrom-de: 6 pairs\nfrom-en: 6 pairs\n"
    assert (tmp_path / "out/train.from-en.en").read_text().splitlines()[0] == "jet"
    assert (tmp_path / "out/train.from-en.de").read_text().splitlines()[0] == "Flugzeug"
    assert (tmp_path / "out/train.examples.en").read_text() == "She's said it.\n"


def test_an_invalid_line_is_an_error_that_names_it(
    dictionary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.de").write_text("Hund\n")
    (tmp_path / "train.en").write_text("dog\n")
    dictionary.write_text("# Wörter\nHund\tdog\n")
    command = [str(tmp_path), "--dictionary", str(dictionary), "--languages", "de", "en"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    assert (
        f"{dictionary}:2: must have ' :: ' once, but has it 0 times: 'Hund\\tdog'"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "out").exists()
