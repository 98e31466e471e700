"""`--rules auto` keeps the rules that improve the translations of a check set."""

from pathlib import Path
from typing import Any

import pytest

from export.importers import rule_choice
from export.importers.__main__ import main
from export.importers.rule_choice import CANDIDATES
from service.models.bundle import load
from tests import toy

PAIRS = toy.sentences()[::40]


def check_folder(folder: Path) -> Path:
    """Write a check set: sentences as the toy model knows them, and in capitals, which it does not."""
    folder.mkdir()
    for code, side in zip(("de", "en"), zip(*PAIRS, strict=True), strict=True):
        lines = [*side, *map(str.upper, side)]
        (folder / f"valid.{code}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_rules_that_improve_the_check_set_are_kept(
    toy_folder: tuple[Path, Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert {"quotes", "dashes", "ellipses", "end_marks", "slashes", "month_names"} < {*CANDIDATES}
    monkeypatch.setattr(rule_choice, "CANDIDATES", ["slashes", "case", "clauses"])  # saves time
    caplog.set_level("INFO")
    check, out = check_folder(tmp_path / "check"), tmp_path / "bundle"
    options = ["--source", "de,en", "--target", "en", "--precisions", "fp32"]
    more = ["--rules", "auto", "--check", str(check)]
    assert main([str(toy_folder[0]), "--out", str(out), *options, *more]) == 0
    assert load(out).manifest.rules == {"case": {}}
    tried = [line for line in caplog.messages if line.startswith("with ")]
    assert len(tried) == 3
    [kept] = [line for line in tried if line.endswith(": kept")]
    assert kept.startswith("with case: chrF ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "check"]


def test_rules_can_be_named(toy_folder: tuple[Path, Any], tmp_path: Path) -> None:
    options = ["--source", "de", "--target", "en", "--precisions", "fp32"]
    more = ["--rules", "case,clauses", "--out", str(tmp_path / "bundle")]
    assert main([str(toy_folder[0]), *options, *more]) == 0
    rules = load(tmp_path / "bundle").manifest.rules
    assert rules == {"case": {}, "clauses": {"max_words": 32}}


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        (["--rules", "auto"], 2, "--rules auto and --check need each other"),
        (["--check", "."], 2, "--rules auto and --check need each other"),
        (["--rules", "quotes,names"], 1, "--rules names; supported: auto, quotes, dashes"),
        (["--rules", "auto", "--check", "{empty}"], 1, "has no valid.de with a valid.en"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    toy_folder: tuple[Path, Any],
    more: list[str],
    status: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = [one.replace("{empty}", str(tmp_path)) for one in more]
    options = ["--source", "de", "--target", "en", "--out", str(tmp_path / "bundle")]
    assert main([str(toy_folder[0]), *options, *more]) == status
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
