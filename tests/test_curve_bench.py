"""`python -m tests.bench.curve`: its points, bundles, measurements and reports."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from model.data.text import DataError
from service.engine.types import StopRule
from service.models import bundle
from service.python_api import Translator
from tests.bench import curve, curve_report, picture
from tests.bench.curve_points import Point, points, write_bundles
from tests.bench.curve_report import Curve, ahead
from tests.bench.measure import Row
from tests.bench.over_http import steady_rate


def row(side: str, beams: int, rate: float, bleu: float, rerank: bool = False) -> Row:
    """Return figures in int8 with the stop rule `first`."""
    point = {"side": side, "precision": "int8", "beam_size": beams}
    point |= {"stop_rule": "first", "rerank": rerank}
    return {**point, "sentences/s": rate, "BLEU": bleu}


ROWS = [
    row("Attendant", 4, 200.0, 34.0),
    row("Attendant", 1, 300.0, 33.0),
    row("Attendant", 2, 250.0, 34.0),
    row("Attendant", 8, 200.0, 34.5),
    row("Attendant", 4, 90.0, 35.0, rerank=True),
    row("CTranslate2", 4, 210.0, 34.2),
]


def test_every_search_has_a_point_and_one_beam_is_never_reranked() -> None:
    found = list(points())
    assert len(found) == len(set(found)) == 2 * (4 + 3 * (4 + 3))
    assert Curve().default in found
    assert not any(point.rerank for point in found if point.beam_size == 1)
    assert {point.server(Path("made"), 2) for point in found if point.side == "Attendant"} == {
        Point("Attendant", precision, 1, rule).server(Path("made"), 2)
        for precision in ("int8", "fp32")
        for rule in ("first", "likely", "bound")
    }


def test_both_engines_use_the_length_penalty_of_the_bundle() -> None:
    manifest = json.loads((bundle.DEFAULT_BUNDLE / "manifest.json").read_text())
    [module, *options] = Point("CTranslate2", "fp32", 8).server(Path("made"), 2).command
    assert module == "tests.bench.shell"
    assert options[:2] == ["made", "2"]
    assert dict(zip(options[2::2], options[3::2], strict=True)) == {
        "--precision": "fp32",
        "--beam-size": "8",
        "--length-penalty": str(manifest["decoding"]["length_penalty"]),
    }


def test_bundles_for_each_stop_rule_translate_like_the_original(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    original = bundle.load(tiny_bundle)
    write_bundles(original, original.graphs("fp32"), tmp_path)
    for rule in ("first", "likely", "bound"):
        decoding = bundle.load(tmp_path / rule).manifest.decoding
        assert decoding.stop_rule == rule
        assert decoding.beam_size == original.manifest.decoding.beam_size
    [direction, *_] = original.manifest.directions
    texts, codes = ["ein Hund", "zwei"], (direction.source, direction.target)
    for precision in ("int8", "fp32"):
        with (
            Translator.load(tiny_bundle, precision=precision, device="cpu") as expected,
            Translator.load(tmp_path / "first", precision=precision, device="cpu") as found,
        ):
            mine, theirs = (one.translate(texts, *codes) for one in (found, expected))
            assert [one.text for one in mine] == [one.text for one in theirs]
            # rounding in fp32 depends on the batch
            scores = [one.sentences[0].score for one in theirs]
            assert [one.sentences[0].score for one in mine] == pytest.approx(scores, abs=1e-5)


def test_only_requests_that_end_under_full_load_are_counted() -> None:
    # with two connections, the first two are a warm-up, and the last one ends alone
    assert steady_rate([7.0, 9.0, 10.0, 10.5, 11.0, 30.0], connections=2) == 2.0


async def shouted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer with the text in capitals, for even lines immediately and for odd ones later."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            request = json.loads(await reader.readexactly(length))
            assert request["beam_size"] == 2
            await asyncio.sleep(0.001 * (int(request["q"].split()[1]) % 2))
            body = json.dumps({"translatedText": request["q"].upper()}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
    except asyncio.IncompleteReadError:  # closed by the client
        writer.close()
        await writer.wait_closed()


def test_answers_are_in_the_order_of_the_lines() -> None:
    async def answers(lines: Sequence[str]) -> list[str]:
        server = await asyncio.start_server(shouted, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            found, _ = await curve.answered(port, lines, {"beam_size": 2})
        return found

    count = curve.MIN_LINES
    found = asyncio.run(answers([f"line {number}" for number in range(count)]))
    assert found == [f"LINE {number}" for number in range(count)]


def test_a_point_has_the_bleu_of_all_lines_and_the_median_rate() -> None:
    references = [
        f"the {animal} sleeps in the old house" for animal in ("cat", "dog", "cow", "hen")
    ]
    course = curve.Course()
    course.answers = {place: references[place] for place in (0, 2, 1, 3)}  # as after two rounds
    course.rates = [10.0, 30.0]
    found = course.row(Point("Attendant", "int8", 4), references)
    assert (found["sentences/s"], found["BLEU"], found["beam_size"]) == (20.0, 100.0, 4)
    course.answers[3] = "something else entirely"
    assert course.row(Point("Attendant", "int8", 4), references)["BLEU"] < 90


def test_one_point_dominates_another_if_no_value_is_worse_and_one_is_better() -> None:
    assert ahead(ROWS, ROWS[0]) == [ROWS[2], ROWS[3]]
    assert ahead(ROWS, ROWS[4]) == []


def test_the_page_marks_the_default() -> None:
    text = curve_report.overview(Curve("a machine", "a command", 600, points=ROWS))
    assert "The default is int8, 4 beams, `first`: 200.0 sentences/s, BLEU 34.0." in text
    assert "int8, 2 beams, `first` (250.0/s, 34.0); int8, 8 beams, `first` (200.0/s, 34.5)." in text
    assert "| 4 | 200.0/s, 34.0 | 90.0/s, 35.0 | 210.0/s, 34.2 |" in text
    assert "| 1 | 300.0/s, 33.0 |  |  |" in text


def test_the_picture_connects_points_of_one_search_by_beam_size() -> None:
    axes = Figure().subplots()
    picture._curves(axes, ROWS, Curve().default)
    drawn = {str(line.get_label()): np.array(line.get_data()).T.tolist() for line in axes.lines}
    beams = [[300.0, 33.0], [250.0, 34.0], [200.0, 34.0], [200.0, 34.5]]
    assert drawn["Attendant, first"] == beams
    assert drawn["Attendant, reranked, first"] == [[90.0, 35.0]]
    assert drawn["CTranslate2"] == [[210.0, 34.2]]
    rings = [
        np.array(line.get_data()).T.tolist()
        for line in axes.lines
        if line.get_fillstyle() == "none"
    ]
    assert rings == [[[200.0, 34.0]]]
    assert [text.get_text() for text in axes.texts] == ["1", "2", "4", "8", "4", "4"]
    assert picture.quality_by_speed(ROWS, Curve().default).startswith("<svg")


def test_a_text_that_is_too_short_is_refused_before_measuring(tmp_path: Path) -> None:
    for code in ("de", "en"):
        (tmp_path / f"test.{code}").write_text("a line\n" * 300)
    with pytest.raises(
        DataError, match="300 lines are too few for 2 rounds: 64 connections need 384"
    ):
        curve.lines_of(tmp_path, 600, 2)
    assert len(curve.lines_of(tmp_path, 200, 1)["de"]) == 300


def test_the_curve_has_all_stop_rules_of_the_engine() -> None:
    assert {point.stop_rule for point in points()} == set(StopRule) - {
        StopRule.NARROW,
        StopRule.BEATEN,
    }
