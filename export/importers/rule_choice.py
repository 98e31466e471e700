"""The choice of text rules for an imported model: those with which it translates a check set better.

The bundle is run as its users will run it, by `attendant translate`.
"""

import logging
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sacrebleu

from export.bundle_writer import write_manifest
from export.importers.imported import SourceError
from model.data.text import read_aligned
from service.models.bundle import Direction, Manifest
from service.text.pipeline import RULES
from service.text.rules.rule import Table

AUTO, SPLIT = "auto", "valid"
PARAMETERS: Mapping[str, dict[str, Any]] = {"clauses": {"max_words": 32}}
"""The parameters of rules that need some: the bundled model's."""
CANDIDATES = [
    name
    for name, rule in RULES.items()
    if not rule.is_default and not issubclass(rule.parameters, Table)
]
"""The rules that a manifest may ask for and that need no table, in their order."""


class CheckSet(NamedTuple):
    """Aligned text of one direction."""

    direction: Direction
    source: list[str]
    target: list[str]


class Scores(NamedTuple):
    """Mean scores of all check sets, 0 to 100."""

    chrf: float
    bleu: float

    def improve(self, other: "Scores") -> bool:
        """Whether one of the scores is higher than in `other`, and none is lower."""
        return self != other and self.chrf >= other.chrf and self.bleu >= other.bleu

    def __str__(self) -> str:
        """Return both with two decimals."""
        return f"chrF {self.chrf:.2f}, BLEU {self.bleu:.2f}"


def rules_named(names: str) -> dict[str, dict[str, Any]]:
    """Return the rules in a comma-separated list, with their parameters.

    Raises:
        SourceError: one of them is not among `CANDIDATES`.
    """
    listed = [name for name in names.split(",") if name]
    for name in listed:
        if name not in CANDIDATES:
            raise SourceError(f"--rules {name}; supported: {AUTO}, {', '.join(CANDIDATES)}")
    return {name: PARAMETERS.get(name, {}) for name in listed}


def read_check_sets(folder: Path, directions: Sequence[Direction]) -> list[CheckSet]:
    """Read the aligned texts `valid.<code>` of all directions that have both.

    Raises:
        SourceError: none has.
        DataError: a text is unusable, or two texts are not aligned.
    """
    sets = []
    for direction in directions:
        codes = direction.source, direction.target
        if all((folder / f"{SPLIT}.{code}").is_file() for code in codes):
            text = read_aligned(folder, SPLIT, codes)
            sets.append(CheckSet(direction, text[codes[0]], text[codes[1]]))
    if not sets:
        first = directions[0]
        raise SourceError(
            f"{folder}: has no {SPLIT}.{first.source} with a {SPLIT}.{first.target}, nor the aligned texts "
            "of another of the model's directions"
        )
    return sets


def with_chosen_rules(
    folder: Path, manifest: Manifest, sets: Sequence[CheckSet], excluded: Collection[str] = ()
) -> Manifest:
    """Try each rule on top of those that were kept; return and write the manifest with the kept ones.

    Rules that are `excluded` or already in the manifest are not tried.

    Raises:
        SourceError: the bundle cannot translate the texts.
    """
    logger = logging.getLogger("export")
    best = _scores(folder, sets)
    logger.info("without further rules: %s", best)
    for name in CANDIDATES:
        if name in manifest.rules or name in excluded:
            continue
        rules = manifest.rules | {name: PARAMETERS.get(name, {})}
        tried = manifest.model_copy(update={"rules": rules})
        write_manifest(folder, tried)
        scores = _scores(folder, sets)
        is_kept = scores.improve(best)
        logger.info("with %s: %s: %s", name, scores, "kept" if is_kept else "not kept")
        if is_kept:
            manifest, best = tried, scores
    write_manifest(folder, manifest)
    return manifest


def _scores(folder: Path, sets: Sequence[CheckSet]) -> Scores:
    """Translate the check sets with a bundle, and score the translations."""
    chrf = bleu = 0.0
    for direction, source, target in sets:
        found = _translations(folder, direction, source)
        chrf += sacrebleu.corpus_chrf(found, [target]).score / len(sets)
        bleu += sacrebleu.corpus_bleu(found, [target]).score / len(sets)
    return Scores(chrf, bleu)


def _translations(folder: Path, direction: Direction, lines: Sequence[str]) -> list[str]:
    options = "--bundle", str(folder), "--source", direction.source, "--target", direction.target
    done = subprocess.run(
        [sys.executable, "-m", "attendant", "translate", *options],
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        check=False,
    )
    found = done.stdout.decode("utf-8", "replace").splitlines()
    if done.returncode or len(found) != len(lines):
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SourceError(f"the bundle cannot translate the check set: {reason or 'no reason'}")
    return found
