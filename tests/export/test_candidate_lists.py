"""Candidates are the service's translations, with gains that agree with a reader's judgement."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from export import client as client_of_services
from export.candidates import compare, main
from export.client import Translation
from model.config import load_config
from model.data.candidates import COUNT, Candidates
from model.tokenizer import Tokenizer, Vocabularies
from tests import toy
from tests.conftest import TINY_BUNDLE

REFERENCE = "The old dog sleeps there."
NEAR = ("The old dog sleeps.", "An old dog sleeps there.", "The old cat sleeps there.")


@pytest.fixture
def request_bodies(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The bodies of the requests to a service in this process, without a network."""
    bodies: list[dict[str, Any]] = []

    def fetch(url: str, body: dict[str, Any]) -> Any:
        bodies.append(body)
        answer = client.post(url.removeprefix("http://service"), json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    monkeypatch.setattr(client_of_services, "fetch", fetch)
    return bodies


@pytest.mark.parametrize("corpus", ["", "toy"])
def test_candidate_lists_are_the_services_translations_and_training_reads_them(
    corpus: str,
    tmp_path: Path,
    request_bodies: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    toy.write_corpus(tmp_path, train=60, valid=1)
    options = ["--data", str(tmp_path), "--source", "de", "--target", "en"]
    path = tmp_path / "candidates.de-en.jsonl"
    if corpus:
        for code in ("de", "en"):
            (tmp_path / f"train.{code}").rename(tmp_path / f"train.{corpus}.{code}")
        options += ["--corpus", corpus]
        path = tmp_path / f"candidates.{corpus}.de-en.jsonl"
    assert main(["http://service", *options]) == 0
    lists = [json.loads(line) for line in path.read_text().splitlines()]
    assert f"{path}: {len(lists)} lists; dropped: " in capsys.readouterr().out
    assert 10 < len(lists) <= 60
    assert {
        (body["beam_size"], body["alternatives"], body["rerank"]) for body in request_bodies
    } == {(COUNT, COUNT - 1, False)}
    references = dict(toy.sentences())
    right = 0
    for one in lists:
        assert len(set(one["candidates"])) == COUNT
        for candidate, gain in zip(one["candidates"], one["gains"], strict=True):
            right += (equal := candidate == references[one["source"]])
            assert (gain == 1.0) == equal
    assert right > len(lists) / 2, "the tiny bundle translates this language"

    tokenizer = Tokenizer.load(TINY_BUNDLE / "sentencepiece.model")
    config = load_config("tiny")
    read = Candidates.open(tmp_path, config, Vocabularies(tokenizer, tokenizer))
    assert [one.source for one in read.lists] == [one["source"] for one in lists]


def test_gains_grow_with_the_similarity_to_the_reference() -> None:
    far = "The bird sings today."
    outcome, gains = compare(Translation((*NEAR, REFERENCE, far), ("end",)), REFERENCE)
    assert outcome == "kept"
    assert gains[3] == 1.0 > max(gains[:3])
    assert gains[4] < 0.3 < min(gains[:3])


@pytest.mark.parametrize(
    ("candidates", "finishes", "outcome"),
    [
        ((*NEAR, REFERENCE), ("end",), "several sentences, or too few candidates"),
        ((*NEAR, REFERENCE, REFERENCE), ("end",), "several sentences, or too few candidates"),
        ((*NEAR, REFERENCE, "No."), ("end", "end"), "several sentences, or too few candidates"),
        ((*NEAR, REFERENCE, "The dog " * 20), ("end",), "long"),
        (tuple(f"Nobody knows {n}" for n in "abcde"), ("end",), "far from the reference"),
        (tuple(f"The old dog {n}." for n in "abcde"), ("end",), "alike"),
    ],
)
def test_candidates_that_teach_nothing_are_dropped(
    candidates: tuple[str, ...], finishes: tuple[str, ...], outcome: str
) -> None:
    assert compare(Translation(candidates, finishes), REFERENCE)[0] == outcome


def test_files_of_different_lengths_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.toy.de").write_text("eins\nzwei\n")
    (tmp_path / "train.toy.en").write_text("one\n")
    options = ["--data", str(tmp_path), "--corpus", "toy", "--source", "de", "--target", "en"]
    assert main(["http://service", *options]) == 1
    assert f"{tmp_path / 'train.toy.en'}: has 1 lines" in capsys.readouterr().err
    assert not (tmp_path / "candidates.toy.de-en.jsonl").exists()
