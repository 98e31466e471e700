"""Corpora made of other corpora, pair by pair."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from tqdm import tqdm

from model.data.text import DataError, find_corpora, iterate_lines, written_whole

Pair = tuple[str, str]
"""A sentence in both languages."""


def parser(command: str, description: str | None) -> argparse.ArgumentParser:
    """What all commands that derive corpora are told: where from, where to, and the seed of their draws."""
    made = argparse.ArgumentParser(
        prog=f"python -m {command}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("data", type=Path, help="folder with train.<code> or train.<name>.<code>")
    made.add_argument("--out", type=Path, required=True, help="folder for the new pairs")
    made.add_argument("--seed", type=int, default=1, help="of the draws (default 1)")
    return made


def find_pairs(data: Path, languages: Pair) -> dict[str, tuple[Path, Path]]:
    """The corpora of a data folder, by name, with their files in the order of the languages.

    Raises:
        DataError: there is none.
    """
    corpora = find_corpora(data, languages)
    return {name: (files[languages[0]], files[languages[1]]) for name, files in corpora.items()}


def derive(
    corpora: dict[str, tuple[Path, Path]],
    languages: Pair,
    out: Path,
    kind: str,
    change: Callable[[Pair], Pair | None],
) -> Iterator[str]:
    """Of each corpus, write another, `train.<kind>.<code>` or `train.<name>-<kind>.<code>`.

    It has the pairs that `change` makes something of. For each, a line that says how many these are.

    Raises:
        DataError: the text is not usable.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name, paths in corpora.items():
        new_name = f"{name}-{kind}" if name else kind
        progress = tqdm(iterate_pairs(paths), desc=new_name, unit="pair", unit_scale=True)
        written = write_pairs(
            (new for pair in progress if (new := change(pair))),
            [out / f"train.{new_name}.{code}" for code in languages],
        )
        yield f"{new_name}: {written:,} pairs, of {progress.n:,}"


def iterate_pairs(paths: tuple[Path, Path]) -> Iterator[Pair]:
    """The lines of two files.

    Raises:
        DataError: one has more than the other, or is not usable.
    """
    for number, lines in enumerate(zip_longest(*map(iterate_lines, paths)), start=1):
        if None in lines:
            short = paths[lines.index(None)]
            raise DataError(f"{short}: ends at line {number - 1}, but the other side goes on")
        yield lines[0][0], lines[1][0]


def write_pairs(pairs: Iterable[Pair], targets: Sequence[Path]) -> int:
    """Each side into its file; how many pairs there were."""
    written = 0
    with written_whole(targets) as (one, two):
        for first, second in pairs:
            written += 1
            one.write(f"{first}\n")
            two.write(f"{second}\n")
    return written
