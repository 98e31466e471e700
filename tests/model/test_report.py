"""The report of a run agrees with sacreBLEU and the log, and is a complete page."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import sacrebleu

from model import log
from model.checkpoint import load_run
from model.config import Config
from model.data.text import read_aligned
from model.report import Translated, main, translate
from model.train import train


@pytest.fixture
def run(config: Config, corpus_folder: Path, tmp_path: Path) -> Path:
    train(config, corpus_folder, tmp_path / "run")
    return tmp_path / "run"


class Page(HTMLParser):
    """Collects the text, and the tags that are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.text = ""

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_valid_html_without_external_resources(
    run: Path, corpus_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run), "--data", str(corpus_folder), "--sentences", "2"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == run / "report.html"
    page = Page()
    written = path.read_text(encoding="utf-8")
    page.feed(written)
    assert page.open == []
    assert page.count["svg"] == 4
    assert page.count["img"] >= 2
    assert not re.search(r"(src|href)=.https?:", written)
    assert not re.search(r"\$[a-z]+", page.text)
    source = (corpus_folder / "valid.de").read_text().splitlines()[0]
    assert source in page.text


def test_a_run_without_logged_steps_has_a_page(
    config: Config, corpus_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = replace(config.training, max_steps=2, log_every=100)
    train(replace(config, training=short), corpus_folder, tmp_path / "run")
    options = [str(tmp_path / "run"), "--data", str(corpus_folder), "--sentences"]
    assert main([*options, "1"]) == 0
    with pytest.raises(SystemExit):
        main([*options, "0"])
    assert "--sentences: 0 must be at least 1" in capsys.readouterr().err


def test_bleu_by_length_is_sacrebleus_score_of_those_sentences() -> None:
    short, long = ["a b c"] * 12, ["a b c d e f g"] * 12
    translated = Translated(
        "de-en",
        [*short, *long, "x " * 30],
        ["one two three four"] * 25,
        ["one two three five"] * 25,
    )
    scores = translated.bleu_by_length()
    expected = sacrebleu.corpus_bleu(["one two three four"] * 12, [["one two three five"] * 12])
    assert scores == [expected.score, expected.score, None, None, None], "one sentence is too few"


def test_translations_are_paired_with_their_own_references(
    run: Path, corpus_folder: Path, config: Config
) -> None:
    checkpoint = load_run(run, 1)
    text = read_aligned(corpus_folder, "valid", ("de", "en"))
    found = translate(checkpoint.network(), checkpoint, text, "en-de")
    assert (found.sources, found.references) == (text["en"], text["de"])
    assert len(found.translations) == 6


def test_repeated_steps_are_read_once_and_a_truncated_line_is_ignored(
    tmp_path: Path,
) -> None:
    reports = log.RunLog(tmp_path)
    for step in range(1, 6):
        reports.write("train", step, loss=1 / step)
    before = log.read(tmp_path)
    again = {**before[3], "loss": 99.0}
    with (tmp_path / log.FILE_NAME).open("a") as file:
        file.write(json.dumps(again) + "\n" + '{"kind": "tra')
    after = log.read(tmp_path)
    assert len(after) == 5
    assert [report["step"] for report in after] == [report["step"] for report in before]
    assert [report["loss"] for report in after].count(99.0) == 1


def test_a_missing_run_is_an_error(
    tmp_path: Path, corpus_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "nothing"), "--data", str(corpus_folder)]) == 1
    assert "neither a checkpoint nor a run" in capsys.readouterr().err


def test_tensorboard_has_the_values_of_the_log(
    config: Config, corpus_folder: Path, tmp_path: Path
) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    short = replace(config, training=replace(config.training, max_steps=3, validate_every=3))
    train(short, corpus_folder, tmp_path / "run", tensorboard=True)
    accumulator = events.EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    shown = {event.step: event.value for event in accumulator.Scalars("train/loss")}
    reports = [one for one in log.read(tmp_path / "run") if one["kind"] == "train"]
    assert shown == pytest.approx({one["step"]: one["loss"] for one in reports})
    assert "validation/bleu/de-en" in accumulator.Tags()["scalars"]
