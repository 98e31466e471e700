"""Grading: losses equal those of single pairs, wrong pairs are hard, and the sides stay aligned."""

from pathlib import Path

import numpy as np
import pytest
import torch

from model import bundle
from model.data.corpus import Corpus
from model.grade import main, pair_losses
from model.tokenizer import BOS_ID
from tests import toy

DIRECTIONS = 2


def _write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    folder.mkdir(exist_ok=True)
    for side, code in enumerate(("de", "en")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / f"{name}.{code}").write_text(text, encoding="utf-8")


def _read(folder: Path, name: str) -> list[tuple[str, ...]]:
    sides = [(folder / f"{name}.{code}").read_text("utf-8").splitlines() for code in ("de", "en")]
    return list(zip(*sides, strict=True))


def test_the_loss_of_a_pair_in_a_batch_equals_its_loss_alone(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    _write(tmp_path / "data", "train", toy.sentences()[::7])
    model = bundle.load(tiny_bundle)
    network = model.network()
    corpus = Corpus.open(
        tmp_path / "data", model.config.data, model.vocabularies, tmp_path / "tokens"
    )
    found = pair_losses(network, corpus, torch.float32)
    assert len(found) == DIRECTIONS * len(toy.sentences()[::7])
    for number in range(len(corpus)):
        source, target = (torch.tensor(side.tolist()) for side in corpus[number])
        before = torch.cat((torch.tensor([BOS_ID]), target[:-1]))
        with torch.inference_mode():
            log_probs = network(source[None], before[None])[0].log_softmax(-1)
        alone = -sum(float(log_probs[at, token]) for at, token in enumerate(target))
        assert found[number] == pytest.approx(alone, abs=1e-3)


def test_true_pairs_are_graded_easy_and_false_pairs_hard(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    true = toy.sentences()[:60]
    false = [(german, true[at - 7][1]) for at, (german, _) in enumerate(true[:20])]
    too_long = (" ".join([true[0][0]] * 20), " ".join([true[0][1]] * 20))
    data, out = tmp_path / "data", tmp_path / "graded"
    _write(data, "train", [*false, *true])
    _write(data, "train.web", [*true[:5], too_long])
    _write(data, "valid", true[:2])
    options = ["--data", str(data), "--out", str(out), "--bounds", "0.5", "0.6"]
    assert main([str(tiny_bundle), *options]) == 0
    assert _read(out, "train.easy") == true
    assert _read(out, "train.hard") == false
    assert _read(out, "train.web-easy") == true[:5]
    assert _read(out, "train.web-hard") == [too_long]
    assert _read(out, "valid") == true[:2]
    made = {"easy", "hard", "web-easy", "web-hard"}
    assert {path.name for path in out.iterdir()} == {
        f"{name}.{code}"
        for name in ("valid", *(f"train.{one}" for one in made))
        for code in ("de", "en")
    }
    printed = capsys.readouterr().out
    assert "easy: 60 pairs, " in printed
    assert "mid: 0 pairs, 0.0% of the tokens" in printed
    assert np.isclose(sum(_shares(printed, web=False)), 100, atol=0.2)
    assert "web-hard: 1 pairs, 0.0% of the tokens" in printed


def _shares(printed: str, *, web: bool) -> list[float]:
    lines = [line for line in printed.splitlines() if line.startswith("web-") == web]
    return [float(line.split("pairs, ")[1].split("%")[0]) for line in lines]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (("1.4", "0.8"), "--bounds 1.4 0.8 must be positive and ascending"),
        (("0", "1"), "--bounds 0.0 1.0 must be positive and ascending"),
    ],
)
def test_bounds_in_the_wrong_order_are_refused(
    bounds: tuple[str, str],
    message: str,
    tiny_bundle: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _write(tmp_path / "data", "train", toy.sentences()[:3])
    options = ["--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    assert main([str(tiny_bundle), *options, "--bounds", *bounds]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_folder_of_the_text_and_sides_of_different_lengths_are_refused(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    _write(data, "train", toy.sentences()[:3])
    assert main([str(tiny_bundle), "--data", str(data), "--out", str(data)]) == 1
    assert "must not be the folder of the text" in capsys.readouterr().err
    (data / "train.en").write_text("One.\n", encoding="utf-8")
    assert main([str(tiny_bundle), "--data", str(data), "--out", str(tmp_path / "out")]) == 1
    assert "has 1 lines, but" in capsys.readouterr().err
    assert main([str(data), "--data", str(data), "--out", str(tmp_path / "out")]) == 1
    assert str(data) in capsys.readouterr().err
