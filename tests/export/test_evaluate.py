"""A running service is measured with sacreBLEU, and the scores can be recorded in a bundle."""

import io
import shutil
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

from export import client, evaluate
from export.client import ServiceError
from service.models import bundle

GERMAN = ["Der Hund schläft im Garten.", "Wir gehen heute ins Kino.", "Sie liest ein gutes Buch."]
ENGLISH = ["The dog sleeps in the garden.", "We go to the cinema today.", "She reads a good book."]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for code, lines in (("de", GERMAN), ("en", ENGLISH)):
        (tmp_path / f"test.{code}").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


@pytest.fixture
def translations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The service's translations, in a list that tests may change."""
    answers = list(ENGLISH)

    def fetch(url: str, body: dict[str, Any] | None = None) -> Any:
        if url == "http://service/languages":
            return [{"code": "de", "targets": ["en"]}, {"code": "en", "targets": []}]
        assert url == "http://service/translate"
        assert body is not None
        assert (body["source"], body["target"]) == ("de", "en")
        return {"translatedText": [answers[GERMAN.index(line)] for line in body["q"]]}

    monkeypatch.setattr(client, "fetch", fetch)
    monkeypatch.setattr(evaluate, "LINES_A_REQUEST", 2)
    return answers


def test_scores_and_signatures_are_those_of_sacrebleu(data: Path, translations: list[str]) -> None:
    translations[1] = "today we are going to the cinema"
    figures = evaluate.evaluate("http://service", data, "test")
    bleu, chrf = (
        sacrebleu.corpus_bleu(translations, [ENGLISH]),
        sacrebleu.corpus_chrf(translations, [ENGLISH]),
    )
    assert figures.keys() == {"de-en"}
    assert figures["de-en"].startswith(f"test, 3 lines: BLEU {bleu.score:.2f} (nrefs:1|case:mixed")
    assert f"chrF2 {chrf.score:.2f} (nrefs:1" in figures["de-en"]


def test_case_is_compared_unless_lowercase_is_set(data: Path, translations: list[str]) -> None:
    translations[:] = [line.upper() for line in ENGLISH]
    assert "BLEU 100.00" not in evaluate.evaluate("http://service", data, "test")["de-en"]
    lower = evaluate.evaluate("http://service", data, "test", lowercase=True)["de-en"]
    assert "BLEU 100.00 (nrefs:1|case:lc" in lower


def test_scores_are_recorded_in_the_manifest_of_the_bundle(
    data: Path, translations: list[str], tiny_bundle: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(tiny_bundle, copy)
    command = ["http://service/", "--data", str(data), "--record", str(copy)]
    assert evaluate.main(command) == 0
    before, after = bundle.load(tiny_bundle).manifest, bundle.load(copy).manifest
    assert after.provenance.bleu["de-en"].startswith("test, 3 lines: BLEU 100.00")
    assert after.model_copy(update={"provenance": before.provenance}) == before


def test_translations_are_written_to_the_folder_given_by_out(
    data: Path, translations: list[str]
) -> None:
    translations[1] = "Wir gehen heute ins Kino, heute schön."
    out = data / "kept" / "first"
    assert evaluate.main(["http://service/", "--data", str(data), "--out", str(out)]) == 0
    assert [path.name for path in out.iterdir()] == ["test.de-en.en"]
    assert (out / "test.de-en.en").read_text("utf-8").splitlines() == translations


def test_fields_given_by_set_are_in_every_request(
    data: Path, translations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[dict[str, Any]] = []
    fetch = client.fetch

    def recorded(url: str, body: dict[str, Any] | None = None) -> Any:
        bodies.extend([body] if body else [])
        return fetch(url, body)

    monkeypatch.setattr(client, "fetch", recorded)
    command = ["http://service/", "--data", str(data), "--set", "length_penalty=1.2"]
    assert evaluate.main([*command, "--set", "rerank=true", "--set", "format=html"]) == 0
    assert len(bodies) == 2
    for body in bodies:
        assert (body["length_penalty"], body["rerank"], body["format"]) == (1.2, True, "html")


def test_scores_cannot_be_recorded_when_fields_are_set(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["http://service/", "--data", str(data), "--record", str(data)]
    with pytest.raises(SystemExit):
        evaluate.main([*command, "--set", "beam_size=1"])
    assert "cannot be used with --set" in capsys.readouterr().err


def test_a_field_without_a_value_is_an_error(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        evaluate.main(["http://service/", "--data", str(data), "--set", "rerank"])
    assert "'rerank' is not of the form FIELD=VALUE" in capsys.readouterr().err


def test_a_folder_that_cannot_be_created_is_an_error(
    data: Path, translations: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    taken = data / "test.de"
    assert evaluate.main(["http://service/", "--data", str(data), "--out", str(taken)]) == 1
    assert str(taken) in capsys.readouterr().err


def test_an_unreachable_service_is_an_error(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(url: str, body: object = None) -> Any:
        raise ServiceError(f"{url}: Connection refused")

    monkeypatch.setattr(client, "fetch", refuse)
    assert evaluate.main(["http://nowhere", "--data", str(data)]) == 1
    assert "error: http://nowhere/languages: Connection refused" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("nowhere", "unknown url type: 'nowhere/languages'"),
        ("http://127.0.0.1/a b", "URL can't contain control characters."),
        ("http://127.0.0.1:port", "nonnumeric port: 'port'"),
        ("http://127.0.0.1/ä", "ordinal not in range"),
    ],
)
def test_an_invalid_url_is_an_error(
    url: str, problem: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([url, "--data", str(data)]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {url}/languages: {problem}")


def test_an_answer_that_is_not_json_is_an_error(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(b"<html>"))
    assert evaluate.main(["http://page", "--data", str(data)]) == 1
    assert capsys.readouterr().err == "error: http://page/languages: the answer is not JSON\n"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            [b'{"a": 1}'],
            "languages: not an answer of Attendant: the whole: Input should be a valid list",
        ),
        ([b"[" * 100_000], "languages: the answer is not JSON"),
        ([b"null"], "translate: not an answer of Attendant: the whole: "),
        ([b'{"translatedText": [1]}'], "translate: not an answer of Attendant: translatedText.0: "),
        ([b'{"translatedText": "abc"}'], "translate: not an answer of Attendant: translatedText: "),
        ([b'{"translatedText": ["a"]}'], "translate: 1 answers for 3 texts"),
    ],
)
def test_an_answer_of_another_shape_is_an_error(
    answers: list[bytes],
    said: str,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if said.startswith("translate"):
        answers = [b'[{"code": "de", "targets": ["en"]}]', *answers]
    left = iter(answers)
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(next(left)))
    assert evaluate.main(["http://other", "--data", str(data)]) == 1
    assert f"error: http://other/{said}" in capsys.readouterr().err
