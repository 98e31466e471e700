"""Cleaning: each rule drops the right pairs, all are counted, and the sides stay aligned."""

import json
from pathlib import Path

import pytest

from model.clean import Rules, main

GOOD = (
    "Der alte Hund schläft heute vor dem großen Haus.",
    "The old dog sleeps before the big house today.",
)


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (GOOD, None),
        (("", "something"), "empty"),
        (("Herr H\ufffdnsch ist hier.", "Mr Hänsch is here."), "lost characters"),
        (("Herr Hänsch ist hier.", "Mr H\ufffdnsch is here."), "lost characters"),
        (("ja " * 201, "yes " * 150), "too long"),
        (("ja", "this is much longer than what it is to translate"), "ratio"),
        (("ja", "yes, of course"), None),
        (("Copyright 2020 by all", "Copyright 2020 by all"), "copied"),
        (("Berlin 2020", "Berlin 2020"), None),
        (("The weather is very nice in the mountains today.", GOOD[1]), "wrong language"),
        ((GOOD[0], "Das Wetter in den Bergen ist heute wieder sehr schön."), "wrong language"),
    ],
)
def test_each_rule_drops_the_pairs_that_break_it(pair: tuple[str, str], reason: str | None) -> None:
    def detect(text: str) -> tuple[str, float]:
        return ("en" if "the" in text.lower().split() else "de", 0.99)

    assert Rules(("de", "en"), detect=detect).reason(pair) == reason


def test_duplicates_are_whole_pairs_that_differ_at_most_in_case() -> None:
    rules = Rules(("de", "en"))
    assert rules.reason(GOOD) is None
    assert rules.reason((GOOD[0].upper(), GOOD[1].upper())) == "duplicate"
    assert rules.reason((GOOD[0], "An old dog sleeps before the big house today.")) is None


def test_a_cleaned_folder_is_aligned_and_every_dropped_pair_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw, out = tmp_path / "raw", tmp_path / "clean"
    raw.mkdir()
    german = [GOOD[0], "Ja.", "Nein.", "", GOOD[0], GOOD[1]]
    english = [GOOD[1], "Yes.", "No.", "Nothing.", GOOD[1], GOOD[1] + " Really."]
    for name, lines in (("train.de", german), ("train.en", english)):
        (raw / name).write_text("".join(f"{line}\n" for line in lines))
    (raw / "train.web.de").write_bytes(b"Gut\xff\nGut.\n")
    (raw / "train.web.en").write_bytes(b"Good\nGood.\n")
    options = ["--languages", "de", "en", "--out", str(out), "--rejected", str(tmp_path / "no.tsv")]
    assert main([str(raw), *options]) == 0
    assert (out / "train.de").read_text().splitlines() == german[:3]
    assert (out / "train.en").read_text().splitlines() == english[:3]
    assert (out / "train.web.en").read_text() == "Good.\n"
    assert json.loads((out / "clean.json").read_text()) == {
        "train": {"kept": 3, "empty": 1, "duplicate": 1, "wrong language": 1},
        "web": {"kept": 1, "not UTF-8": 1},
    }
    shown = capsys.readouterr().out
    assert (
        "train: 6 pairs, 3 kept (50.0%); dropped: 1 empty, 1 duplicate, 1 wrong language" in shown
    )
    reasons = [line.split("\t")[0] for line in (tmp_path / "no.tsv").read_text().splitlines()]
    assert reasons == ["empty", "duplicate", "wrong language", "not UTF-8"]


def test_unusable_folders_and_unaligned_files_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.de").write_text("a\nb\n")
    (tmp_path / "train.en").write_text("a\n")
    options = ["--languages", "de", "en", "--any-language", "--out"]
    assert main([str(tmp_path), *options, str(tmp_path)]) == 1
    assert "must not be the folder of the text" in capsys.readouterr().err
    (tmp_path / "loop").symlink_to("loop")
    assert main([str(tmp_path), *options, str(tmp_path / "loop")]) == 1
    assert f"error: [Errno 17] File exists: '{tmp_path / 'loop'}'" in capsys.readouterr().err
    assert main([str(tmp_path), *options, str(tmp_path / "out")]) == 1
    assert "train.en: ends at line 1, but the other side continues" in capsys.readouterr().err
    assert not (tmp_path / "out" / "train.de").exists(), (
        "a partial corpus could be mistaken for a complete one"
    )
