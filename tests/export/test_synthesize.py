"""Text made by a model: the service's own translations, aligned, and the same after an interruption."""

from pathlib import Path

import pytest

from export import synthesize
from export.synthesize import main
from model.config import load_config
from model.data.corpus import Corpus
from model.tokenizer import Tokenizer, Vocabularies
from service.errors import EngineDeadError
from service.model_set import ModelSet
from service.translation import Translation
from tests import toy
from tests.conftest import TINY_BUNDLE


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "mono.en"
    path.write_text("".join(f"{english}\n" for _, english in toy.sentences()[::9]))
    return path


def command(lines: Path, out: Path) -> list[str]:
    languages = ["--source", "en", "--target", "de", "--name", "back", "--out", str(out)]
    return [str(TINY_BUNDLE), str(lines), *languages]


def test_the_corpus_is_the_models_translation_and_can_be_trained_on(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(lines, tmp_path / "data")) == 0
    pairs = dict(toy.sentences())
    german = (tmp_path / "data" / "train.back.de").read_text().splitlines()
    english = (tmp_path / "data" / "train.back.en").read_text().splitlines()
    assert len(german) == len(english) > 30
    assert f"{len(german):,} pairs; dropped: " in capsys.readouterr().out
    right = sum(pairs.get(de) == en for de, en in zip(german, english, strict=True))
    assert right > 0.8 * len(english)

    config = load_config("tiny", ['data.corpora.back.directions=["de-en"]'])
    tokenizer = Tokenizer.load(TINY_BUNDLE / "sentencepiece.model")
    corpus = Corpus.open(
        tmp_path / "data", config.data, Vocabularies(tokenizer, tokenizer), tmp_path / "tokens"
    )
    assert [group.name for group in corpus.groups] == ["back de-en"]


def test_an_interrupted_run_goes_on_where_it_was(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthesize, "LINES_AT_ONCE", 7)
    assert main(command(lines, tmp_path / "whole")) == 0
    translate = ModelSet.translate
    calls = 0

    async def failing(self: ModelSet, texts: list[str], *rest: object) -> list[Translation]:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise EngineDeadError("the engine died")
        return await translate(self, texts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(ModelSet, "translate", failing)
    assert main(command(lines, tmp_path / "halves")) == 1
    with (tmp_path / "halves" / "train.back.de").open("a") as file:
        file.write("written, but not yet counted\n")
    assert main(command(lines, tmp_path / "halves")) == 0
    for code in ("de", "en"):
        whole, halves = (
            (tmp_path / name / f"train.back.{code}").read_text() for name in ("whole", "halves")
        )
        assert whole == halves
