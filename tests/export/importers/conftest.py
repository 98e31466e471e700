"""Marian models trained on the toy language, and the check that a broken model is refused."""

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from export.importers.__main__ import main
from tests import toy
from tests.export.importers.breaking import Break
from tests.export.importers.marian_folders import SHAPES, write_folder, write_toy_folder

STEPS, BATCH = 150, 24


@pytest.fixture(scope="session", autouse=True)
def _few_sentences() -> Iterator[None]:
    """Use fewer sentences for calibration and verification: enough for networks of this size."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("export.importers.held_out.SENTENCES", 12)
        yield


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder of a model that translates the toy language both ways, and the model."""
    folder = tmp_path_factory.mktemp("toy") / "opus-mt-toy"
    return folder, write_toy_folder(folder)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, Any]]:
    """A function that trains a model of the given shape for a few seconds, and returns folder and model."""

    @cache
    def make(name: str) -> tuple[Path, Any]:
        folder = tmp_path_factory.mktemp(name) / "opus-mt-de-en"
        model = write_folder(folder, **SHAPES[name])
        train(model, folder)
        model.save_pretrained(folder)
        return folder, model

    return make


@pytest.fixture
def check_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path, Break, str], None]:
    """A function that checks that importing a broken copy prints one error line and writes nothing."""

    def check(whole: Path, change: Break, message: str) -> None:
        monkeypatch.chdir(tmp_path)  # a pickle's code would write a file here
        folder = Path(shutil.copytree(whole, tmp_path / whole.name))
        change(folder)
        before = sorted(tmp_path.rglob("*"))
        assert main([str(folder), "--out", str(tmp_path / "bundle")]) == 1
        [line] = [one for one in capsys.readouterr().err.splitlines() if one.startswith("error: ")]
        assert message in line
        assert len(line) < 1000
        assert sorted(tmp_path.rglob("*")) == before

    return check


def train(model: Any, folder: Path) -> None:
    import transformers

    tokenizer: Any = transformers.MarianTokenizer.from_pretrained(str(folder))
    pairs = toy.sentences()
    sides = [german for german, _ in pairs], [english for _, english in pairs]
    source = tokenizer(sides[0], padding=True, return_tensors="pt")
    labels = tokenizer(text_target=sides[1], padding=True, return_tensors="pt")["input_ids"]
    pad = model.config.pad_token_id
    labels = labels.masked_fill(labels == pad, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    for module in model.modules():
        if isinstance(module, torch.nn.Linear | torch.nn.Embedding) and module.weight.requires_grad:
            torch.nn.init.normal_(module.weight, std=0.1)
    model.final_logits_bias.zero_()
    model.train()
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * min(1.0, (step + 1) / 30, (STEPS - step) / 80)
        rows = torch.randint(len(pairs), (BATCH,), generator=generator)
        batch = {name: tensor[rows] for name, tensor in source.items()}
        loss = model(**batch, labels=labels[rows]).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model.get_input_embeddings().weight[pad] = 0.0
