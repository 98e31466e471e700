"""`python -m model.grade BUNDLE --data DIR --out GRADED`: divide training text by how hard a model finds it.

Every corpus is divided into `train.easy.*`, `train.mid.*` and `train.hard.*` (`train.web.*` into
`train.web-easy.*` and so on) by the mean negative log-likelihood per token over all of the model's
directions. A model learns little from pairs that it already translates well: with a small weight for
`data.corpora.easy`, a run that continues from it spends its time on the others. Pairs that are too long to
be scored count as hard. `valid.*` is copied, so GRADED can replace DIR.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from model import bundle
from model.checkpoint import CheckpointError
from model.data.batches import collate, cut
from model.data.corpus import Corpus
from model.data.text import DataError, find_corpora, iterate_lines, written_whole
from model.memory import keep_freed_memory
from model.precision import choose_precision
from model.tokenizer import PAD_ID
from model.transformer import Transformer

GRADES = ("easy", "mid", "hard")
BATCH_TOKENS = 3072
Losses = NDArray[np.float64]


def main(arguments: list[str] | None = None) -> int:
    """Grade the corpora and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m model.grade", description=__doc__)
    parser.add_argument("bundle", type=Path, help="bundle of the model")
    parser.add_argument("--data", type=Path, required=True, help="data folder, as for model.train")
    parser.add_argument("--out", type=Path, required=True, help="folder for the graded text")
    parser.add_argument(
        "--bounds",
        type=float,
        nargs=2,
        default=(0.8, 1.4),
        metavar=("MID", "HARD"),
        help="minimum loss of mid and of hard pairs, in nats per token (default 0.8 1.4)",
    )
    options = parser.parse_args(arguments)
    keep_freed_memory()
    try:
        grade(options.bundle, options.data, options.out, tuple(options.bounds))
    except (DataError, CheckpointError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def grade(folder: Path, data: Path, out: Path, bounds: tuple[float, float]) -> None:
    """Write every pair of `data` into the corpus of its grade, and print the size of each corpus.

    Raises:
        DataError: the text is unusable, `out` and `data` are the same folder, or `bounds` are not positive
            and ascending.
        CheckpointError: `folder` is not a usable bundle.
    """
    if os.path.realpath(out) == os.path.realpath(data):
        raise DataError(f"{out}: --out must not be the folder of the text")
    if not 0 < bounds[0] < bounds[1]:
        raise DataError(f"--bounds {bounds[0]} {bounds[1]} must be positive and ascending")
    model = bundle.load(folder)
    config = model.config
    config = replace(config, data=replace(config.data, corpora={}, temperature=1.0))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = model.network().to(device)
    corpora = find_corpora(data, config.data.languages)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as tokens:
        corpus = Corpus.open(data, config.data, model.vocabularies, Path(tokens))
        sums = pair_losses(network, corpus, choose_precision("auto", device))
        for name, files in corpora.items():
            means, num_tokens = _by_line(name, corpus, sums)
            grades = np.searchsorted(bounds, means, side="right")
            _write(name, files, grades, out)
            _describe(name, grades, means, num_tokens)
    for code in config.data.languages:
        if (data / f"valid.{code}").is_file():
            shutil.copyfile(data / f"valid.{code}", out / f"valid.{code}")


@torch.inference_mode()
def pair_losses(network: Transformer, corpus: Corpus, precision: torch.dtype) -> Losses:
    """Compute the negative log-likelihood of every pair's target, in nats: [len(corpus)]."""
    device = network.embedding.weight.device
    sums = np.zeros(len(corpus))
    batches = cut(
        corpus.source_lengths, corpus.target_lengths, BATCH_TOKENS, np.random.default_rng(0)
    )
    with tqdm(total=len(corpus), unit="pair", unit_scale=True, desc="reading") as progress:
        for numbers in batches:
            batch = collate([corpus[number] for number in numbers.tolist()]).to(device)
            with torch.autocast(device.type, precision, enabled=precision != torch.float32):
                logits = network(batch.source, batch.target_in)
            sums[numbers] = _nll(logits, batch.target_out).cpu().numpy()
            progress.update(len(numbers))
    return sums


def _nll(logits: Tensor, targets: Tensor) -> Tensor:
    """Sum the loss over each row, without padding: logits [B, T, V] and targets [B, T] -> [B]."""
    # with classes on the last axis, fifteen times as fast as over [B, V, T]
    flat = logits.flatten(0, 1).float()
    by_token = F.cross_entropy(flat, targets.flatten(), ignore_index=PAD_ID, reduction="none")
    return by_token.view_as(targets).sum(1)


def _by_line(name: str, corpus: Corpus, sums: Losses) -> tuple[Losses, Losses]:
    """Return each line's loss in nats per token and its number of tokens, over all directions.

    The loss of a pair that is too long is infinite.
    """
    ends = [0, *corpus.ends.tolist()]
    nats = tokens = np.zeros(0)
    for group, (start, end) in zip(corpus.groups, pairwise(ends), strict=True):
        if group.corpus != name:
            continue
        if not nats.size:
            nats, tokens = np.zeros(len(group.target)), np.zeros(len(group.target))
        nats[group.lines] += sums[start:end]
        tokens[group.lines] += corpus.target_lengths[start:end]
    means = np.divide(nats, tokens, out=np.full(len(nats), np.inf), where=tokens > 0)
    return means, tokens


def _write(name: str, files: Mapping[str, Path], grades: NDArray[np.int64], out: Path) -> None:
    """Write each line of each language to the file of its grade."""
    for code, path in files.items():
        targets = [out / f"train.{_corpus(name, grade)}.{code}" for grade in GRADES]
        with written_whole(targets) as files_of_grades:
            for (text, _), number in zip(iterate_lines(path), grades.tolist(), strict=True):
                files_of_grades[number].write(f"{text}\n")


def _corpus(name: str, grade_name: str) -> str:
    return f"{name}-{grade_name}" if name else grade_name


def _describe(name: str, grades: NDArray[np.int64], means: Losses, tokens: Losses) -> None:
    """Print a line per grade, such as `easy: 87,442 pairs, 39.1% of the tokens, 0.42 nats per token`."""
    for number, grade_name in enumerate(GRADES):
        in_grade = (grades == number) & (tokens > 0)
        total = tokens[in_grade].sum()
        mean = (means[in_grade] * tokens[in_grade]).sum() / max(1, total)
        share = total / max(1, tokens.sum())
        print(
            f"{_corpus(name, grade_name)}: {(grades == number).sum():,} pairs, "
            f"{share:.1%} of the tokens, {mean:.2f} nats per token"
        )


if __name__ == "__main__":
    sys.exit(main())
