"""The figures that the report on a service has besides BLEU."""

import doctest
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

from export import client, evaluate
from export import report as module
from export.report import Report, placeholder, report, with_placeholder, words_of

SOURCE = ["Zimmer 106 ist frei.", "Das kostet 1.250,50 Euro.", "Der Hund schläft.", "Um 8 Uhr."]
REFERENCES = ["Room 106 is free.", "That is 1,250.50 euros.", "The dog sleeps.", "At eight."]
KNOWN = frozenset("room is free that euros the dog sleeps at eight".split())  # noqa: SIM905


def test_the_examples_in_docstrings_are_right() -> None:
    assert doctest.testmod(module) == (0, 1)


def measured(translated: Sequence[str], answers: Any, known: frozenset[str] = KNOWN) -> Report:
    return report(answers, SOURCE, translated, REFERENCES, known)


def test_perfect_translations_have_perfect_figures() -> None:
    found = measured(REFERENCES, lambda lines: list(lines))
    assert (found.numbers, found.numbered_lines) == (1, 3)
    assert (found.placeholders, found.lines) == (1, 4)
    assert (found.length, found.unknown, found.words) == (1, 0, 11)
    assert found.chrf["unchanged"] == 100


def test_lost_numbers_lost_placeholders_and_unknown_words_are_reported() -> None:
    translated = ["Room ten6 is free.", "That is 1250.50 euros.", "The dog wuffles.", "At 9."]
    found = measured(translated, lambda lines: [line.split()[0] for line in lines])
    assert found.numbers == pytest.approx(1 / 3)
    assert found.placeholders == 0
    assert found.unknown == pytest.approx(2 / 11)  # ten, wuffles; none is from the source
    assert "unknown words          18.18% of 11 words" in str(found)


def test_words_of_the_source_are_known_and_without_a_word_list_none_are_counted() -> None:
    copied = ["Zimmer", "Euro", "Hund", "xyz"]
    assert measured(copied, list).unknown == 0.25
    without = measured(copied, list, frozenset())
    assert (without.unknown, without.words) == (0, 0)
    assert "no word list" in str(without)


def test_translations_of_changed_case_and_quoted_lines_are_compared_with_chrf() -> None:
    asked: list[list[str]] = []
    by_line = {line.casefold(): text for line, text in zip(SOURCE, REFERENCES, strict=True)}

    def answers(lines: Sequence[str]) -> list[str]:
        asked.append(list(lines))
        return [f"“{by_line.get(line.strip(chr(34)).casefold(), 'no')}”" for line in lines]

    found = measured(REFERENCES, answers)
    assert [lines[0] for lines in asked[1:]] == [
        "ZIMMER 106 IST FREI.",
        "zimmer 106 ist frei.",
        '"Zimmer 106 ist frei."',
    ]
    assert found.chrf["in quotes"] == 100
    quoted = [f"“{line.upper()}”" for line in REFERENCES]
    capitals = sacrebleu.corpus_chrf(quoted, [[line.upper() for line in REFERENCES]]).score
    assert found.chrf["in capitals"] == pytest.approx(capitals)


@pytest.mark.parametrize("line", ["Ja", "Ja nein", "Ein Satz mit Wörtern."])
def test_a_placeholder_is_inserted_after_the_first_word(line: str) -> None:
    for seed in range(30):
        made, one = with_placeholder(line, random.Random(seed))
        assert made.replace(f" {one}", "", 1) == line
        assert made.startswith(line.split()[0])
    assert len({placeholder(random.Random(seed)) for seed in range(60)}) > 40


def test_words_of_the_training_text_and_of_word_files_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, lines in {
        "test.de": SOURCE, "test.en": REFERENCES, "train.de": ["Hund"], "train.en": ["Room is Free"],
        "more": ["that euros", "the dog sleeps at"],
    }.items():  # fmt: skip
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def fetch(url: str, body: dict[str, Any] | None = None) -> Any:
        if body is None:
            return [{"code": "de", "targets": ["en"]}]
        by_line = dict(zip(SOURCE, REFERENCES, strict=True))
        return {"translatedText": [by_line.get(line, line) for line in body["q"]]}

    monkeypatch.setattr(client, "fetch", fetch)
    command = [
        "http://service",
        "--data",
        str(tmp_path),
        "--report",
        "--words",
        str(tmp_path / "more"),
    ]
    assert evaluate.main(command) == 0
    printed = capsys.readouterr().out
    assert "de-en: test, 4 lines: BLEU 100.00" in printed
    assert "numbers right          100.0% of 3 lines" in printed
    assert f"unknown words          {1 / 11:.2%} of 11 words" in printed  # eight
    assert words_of([tmp_path / "train.en"]) == {"room", "is", "free"}
