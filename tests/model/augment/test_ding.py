"""Entries read from the lines of a dictionary."""

from pathlib import Path

import pytest

from model.augment.ding import Entry, read_entries, write_out

DICTIONARY = """\
Flugzeug {n} /Fz./; Flieger {m} [ugs.]; Aero {m} [veraltet] | Flugzeuge {pl} :: plane; jet /AC/ (any) | planes
etw. (leise; langsam) sagen {vt} :: to say sth.
Ameise {f} [zool.] | Ameisen {pl} :: ant | ants
Hund {m} | Hunde {pl} | Hündin {f} :: dog | dogs
dies / jenes :: this
"""


def test_entries_have_one_form_per_side_without_rare_words(tmp_path: Path) -> None:
    (tmp_path / "de-en").write_text(DICTIONARY)
    entries = list(read_entries(tmp_path / "de-en", frozenset({"zool."})))
    assert entries[0] == Entry(
        ["Flugzeug {n}", "Flieger {m} [ugs.]", "/Fz./"], ["plane", "jet (any)", "/AC/"]
    )
    assert entries[2].first == [
        "etw. (leise; langsam) sagen {vt}"
    ]  # one entry, whatever its remark contains
    firsts = [entry.first[0].split()[0] for entry in entries]
    # without ants, which have the label, and dogs, whose sides have different numbers of forms
    assert firsts == ["Flugzeug", "Flugzeuge", "etw.", "dies"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("jdn. {m} um etw. [ugs.] bitten (selten)", "jemanden um etwas bitten"),
        ("pure <purer> <purest>", "pure"),
        ("Afghanistan {n} /AF/ (Kfz: /AFG/)", "Afghanistan"),
    ],
)
def test_remarks_are_removed_and_abbreviations_written_out(text: str, plain: str) -> None:
    assert write_out(text, "de") == plain
