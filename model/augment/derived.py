"""What the commands that make corpora have in common."""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from tqdm import tqdm

from model.data.pairs import Pair, iterate_pairs, write_pairs


def parser(command: str, description: str | None) -> argparse.ArgumentParser:
    """What all commands of this room are told: where from, and where to."""
    made = argparse.ArgumentParser(
        prog=f"python -m {command}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("data", type=Path, help="folder with train.<code> or train.<name>.<code>")
    made.add_argument("--out", type=Path, required=True, help="folder for the new pairs")
    return made


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
