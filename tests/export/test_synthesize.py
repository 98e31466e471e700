"""Synthetic text is the service's own translations, aligned, and the same after an interruption."""

import socket
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from export import client as client_of_services
from export.client import ServiceError
from export.synthesize import judge, main
from model.config import load_config
from model.data.corpus import Corpus
from model.tokenizer import Tokenizer, Vocabularies
from tests import toy
from tests.conftest import TINY_BUNDLE


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "mono.en"
    path.write_text("".join(f"{english}\n" for _, english in toy.sentences()[::9]))
    return path


def command(lines: Path, out: Path) -> list[str]:
    languages = ["--source", "en", "--target", "de", "--name", "back", "--out", str(out)]
    return ["http://service", str(lines), *languages]


@pytest.fixture
def requests(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of lines of each request to a service in this process; the third request fails once."""
    made: list[int] = []

    def fetch(url: str, body: dict[str, Any]) -> Any:
        made.append(len(body["q"]))
        if made[2:] == [made[-1]]:
            raise ServiceError("http://service/translate: 503: it is going away")
        answer = client.post(url.removeprefix("http://service"), json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    monkeypatch.setattr(client_of_services, "fetch", fetch)
    monkeypatch.setattr(client_of_services, "LINES_A_REQUEST", 7)
    monkeypatch.setattr(client_of_services, "REQUESTS_AT_ONCE", 1)
    return made


def test_an_interrupted_corpus_is_completed_without_lost_or_repeated_lines(
    lines: Path, tmp_path: Path, requests: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "data"
    assert main(command(lines, out)) == 1
    assert "error: http://service/translate: 503: it is going away" in capsys.readouterr().err
    with (out / "train.back.de").open("a") as file:
        file.write("written, but not yet counted\n")
    assert main(command(lines, out)) == 0
    given = lines.read_text().splitlines()
    assert sum(requests) == len(given) + 7, "only the lines of the failed request were sent twice"

    german, english = (
        (out / f"train.back.{code}").read_text().splitlines() for code in ("de", "en")
    )
    assert english == given
    pairs = dict(toy.sentences())
    right = sum(pairs.get(de) == en for de, en in zip(german, english, strict=True))
    assert right > 0.8 * len(given)
    assert f"{len(given):,} pairs; dropped: none" in capsys.readouterr().out

    config = load_config("tiny", ['data.corpora.back.directions=["de-en"]'])
    tokenizer = Tokenizer.load(TINY_BUNDLE / "sentencepiece.model")
    corpus = Corpus.open(out, config.data, Vocabularies(tokenizer, tokenizer), tmp_path / "tokens")
    assert [group.name for group in corpus.groups] == ["back de-en"]


@pytest.mark.usefixtures("requests")
def test_a_tag_is_put_before_each_translation_but_not_before_the_given_text(
    lines: Path, tmp_path: Path
) -> None:
    plain, tagged = tmp_path / "plain", tmp_path / "tagged"
    for out, tag in ((plain, []), (tagged, ["--tag", "<bt>"])):
        while main([*command(lines, out), *tag]) != 0:  # once, the service goes away
            pass
    assert (tagged / "train.back.en").read_text() == lines.read_text()
    german = (plain / "train.back.de").read_text().splitlines()
    assert (tagged / "train.back.de").read_text().splitlines() == [
        f"<bt> {line}" for line in german
    ]


def test_a_service_that_cannot_be_reached_leaves_no_empty_corpus(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "data"
    with socket.socket() as nobody:  # bound, but not listening
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        assert main([url, *command(lines, out)[1:]]) == 1
    assert f"error: {url}/translate: Connection refused\n" in capsys.readouterr().err
    assert not list(out.glob("train.*"))


@pytest.mark.usefixtures("requests")
def test_a_corpus_of_another_origin_is_not_overwritten(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "data" / "train.back.de"
    mine.parent.mkdir()
    mine.write_text("Mein Satz.\n")
    assert main(command(lines, mine.parent)) == 1
    assert (
        f"error: {mine} exists already; give this corpus another --name" in capsys.readouterr().err
    )
    assert mine.read_text() == "Mein Satz.\n"


def test_added_lines_are_translated_and_a_changed_text_is_an_error(
    lines: Path, tmp_path: Path, requests: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "data"
    assert main(command(lines, out)) == 1
    assert main(command(lines, out)) == 0
    count = len(lines.read_text().splitlines())
    with lines.open("a") as file:
        file.write("The dog sleeps.\n")
    assert main(command(lines, out)) == 0
    english = (out / "train.back.en").read_text()
    assert english == lines.read_text()

    lines.write_text(english.upper())
    assert main(command(lines, out)) == 1
    assert (
        f"{lines}: its first {count + 1:,} lines are not those that train.back.en and train.back.de "
        "were started with; give a corpus of this text another --name" in capsys.readouterr().err
    )
    assert (out / "train.back.en").read_text() == english


@pytest.mark.parametrize(
    ("translation", "finishes", "outcome"),
    [
        ("Der Hund schläft.", ["end", "pieces"], "kept"),
        (" ", ["end"], "empty"),
        ("Hund Hund Hund", ["end", "repetition"], "repetition"),
        ("The dog", ["copied"], "copied"),
        ("Der der der", ["length"], "length"),
    ],
)
def test_empty_repetitive_copied_and_cut_off_translations_are_dropped(
    translation: str, finishes: list[str], outcome: str
) -> None:
    assert judge(translation, finishes) == outcome
