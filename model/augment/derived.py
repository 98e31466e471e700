"""Common parts of the commands that derive corpora."""

import argparse
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from tqdm import tqdm

from model.data.pairs import TextPair, iterate_pairs, write_pairs
from model.data.text import DataError

WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
BETWEEN = " / "
"""Separates the two sides of an entry or a pattern."""
PLACEHOLDER = re.compile(r"\{(\w+)\}")
Span = tuple[int, int]
"""The start and end of a piece of text."""
Spans = tuple[Span, Span]
"""A span in each language."""
File = TypeVar("File", bound=BaseModel)


def parser(command: str, description: str | None) -> argparse.ArgumentParser:
    """Build a parser with the arguments of all commands of this package: the data and output folders."""
    argument_parser = argparse.ArgumentParser(
        prog=f"python -m {command}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    argument_parser.add_argument(
        "data", type=Path, help="folder with train.<code> or train.<name>.<code>"
    )
    argument_parser.add_argument("--out", type=Path, required=True, help="folder for the new pairs")
    return argument_parser


def read_toml(name_or_path: str, folder: Path, kind: type[File]) -> tuple[Path, File]:
    """Read a TOML file by its path, or one of `folder` by its name.

    Returns:
        The path and the validated contents.

    Raises:
        DataError: the file cannot be read, is not TOML, or does not match `kind`.
    """
    path = Path(name_or_path)
    if not path.suffix:
        path = folder / f"{name_or_path}.toml"
    try:
        return path, kind.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        included = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
        raise DataError(f"{name_or_path}: {error.strerror}; included: {included}") from None
    except ValidationError as error:
        first_error = error.errors()[0]
        location = ".".join(map(str, first_error["loc"]))
        raise DataError(
            f"{path}: {location}: {first_error['msg']}, but is {first_error['input']!r}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from None


def derive(
    corpora: dict[str, tuple[Path, Path]],
    languages: TextPair,
    out: Path,
    kind: str,
    change: Callable[[TextPair], TextPair | None],
) -> Iterator[str]:
    """Derive a corpus `train.<kind>.<code>` or `train.<name>-<kind>.<code>` from each corpus.

    It contains the results of `change`, which returns None for pairs to leave out.

    Yields:
        A line for each corpus with its number of pairs.

    Raises:
        DataError: the text is unusable.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name, paths in corpora.items():
        new_name = f"{name}-{kind}" if name else kind
        progress = tqdm(iterate_pairs(paths), desc=new_name, unit="pair", unit_scale=True)
        written = write_pairs(
            (derived for pair in progress if (derived := change(pair))),
            [out / f"train.{new_name}.{code}" for code in languages],
        )
        yield f"{new_name}: {written:,} pairs, of {progress.n:,}"
