"""`python -m model.augment.facts DATA PATTERNS --count 60000 --out OUT`: sentences with facts of all kinds.

Numbers, amounts, dates, codes and names must not be changed by a translation. Most text has too few of them,
and repeats the same ones, so a model does not learn this. Here, patterns are filled with random facts and
become the corpus `train.facts.<code>`. Names and places come from DATA, or are composed from those.

PATTERNS is a TOML file, or the name of an included one: `de-en`, which explains its format. Its two
languages must be in `writing.toml`, which defines how each writes numbers, dates and so on.
"""

import random
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from model.augment import derived
from model.augment.derived import BETWEEN, PLACEHOLDER
from model.augment.fact_kinds import KINDS, Draw, Fact
from model.augment.names import find_names
from model.augment.writing import Writing, writings
from model.data.pairs import TextPair, find_pairs, iterate_pairs, write_pairs
from model.data.text import DataError

PATTERNS = Path(__file__).parent / "patterns"


class _File(BaseModel):
    """The contents of a file of patterns."""

    model_config = ConfigDict(extra="forbid")
    languages: tuple[str, str]
    sentences: list[str] = Field(min_length=1)


def load_patterns(name_or_path: str) -> tuple[TextPair, list[TextPair]]:
    """Read the languages and patterns of a TOML file by its path, or of an included one by its name.

    Raises:
        DataError: the file is missing or invalid; the message names the file and the pattern.
    """
    path, file = derived.read_toml(name_or_path, PATTERNS, _File)
    for code in file.languages:
        if code not in writings():
            codes = ", ".join(writings())
            raise DataError(f"{path}: languages: {code!r} is not among {codes}")
    try:
        return file.languages, [_pattern(sentence) for sentence in file.sentences]
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _pattern(sentence: str) -> TextPair:
    sides = sentence.split(BETWEEN)
    first, second = sides[0], sides[-1]
    kinds = sorted(PLACEHOLDER.findall(first))
    if len(sides) > 2 or kinds != sorted(PLACEHOLDER.findall(second)):
        raise DataError(
            f"a pattern is FIRST{BETWEEN}SECOND with the same facts in both, or one for both: {sentence!r}"
        )
    for kind in kinds:
        if kind not in KINDS:
            raise DataError(
                f"{{{kind}}} is not a kind of fact: {sentence!r}; known: {', '.join(KINDS)}"
            )
    return first, second


def filled(pattern: TextPair, languages: tuple[Writing, Writing], draw: Draw) -> TextPair:
    """Fill a pattern with facts. Several facts of a kind are in the same order on both sides."""
    drawn: dict[str, list[Fact]] = {}
    for kind in PLACEHOLDER.findall(pattern[0]):
        drawn.setdefault(kind, []).append(KINDS[kind](draw))

    def written(side: str, language: Writing) -> str:
        remaining = {kind: iter(facts) for kind, facts in drawn.items()}
        return PLACEHOLDER.sub(lambda match: next(remaining[match[1]])(language), side)

    return written(pattern[0], languages[0]), written(pattern[1], languages[1])


def main(arguments: list[str] | None = None) -> int:
    """Write the corpus and return the exit status."""
    parser = derived.parser("model.augment.facts", __doc__)
    parser.add_argument("patterns", help="TOML file, or the name of an included one: de-en")
    parser.add_argument("--count", type=int, default=60_000, help="number of pairs (default 60000)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    options = parser.parse_args(arguments)
    try:
        codes, patterns = load_patterns(options.patterns)
        corpora = find_pairs(options.data, codes)
        names = find_names(chain.from_iterable(map(iterate_pairs, corpora.values())))
        if not names:
            raise DataError(f"{options.data}: no pair has the same name on both sides")
        pairs = _pairs(codes, patterns, names, options.seed, options.count)
        options.out.mkdir(parents=True, exist_ok=True)
        written = write_pairs(pairs, [options.out / f"train.facts.{code}" for code in codes])
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"facts: {written:,} pairs")
    return 0


def _pairs(
    codes: TextPair, patterns: list[TextPair], names: list[str], seed: int, count: int
) -> Iterator[TextPair]:
    """Draw `count` patterns at random and fill them."""
    languages = writings()[codes[0]], writings()[codes[1]]
    draw = Draw(names, languages[0].streets + languages[1].streets, seed)
    drawn = random.Random(seed).choices(patterns, k=count)
    return (filled(pattern, languages, draw) for pattern in drawn)


if __name__ == "__main__":
    sys.exit(main())
