"""A reader for dictionaries in the format of the program Ding, with an entry per line.

`::` separates the languages. `|` divides both sides into the same number of forms and examples, and `;`
separates synonyms, the most common first. Remarks are in brackets, and abbreviations or alternatives in
slashes:

    Flugzeug {n} /Fz./; Flieger {m} [ugs.] | er/sie fliegt :: aeroplane; plane [coll.] | he/she flies
"""

import argparse
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from model.data.pairs import TextPair
from model.data.text import DataError, iterate_lines

logger = logging.getLogger(__name__)

SYNONYM = re.compile(r";(?![^(\[{]*[)\]}])")
"""A semicolon that is not inside brackets."""
ABBREVIATION = re.compile(r"(?<![^\s;])/([^/;]+)(?:;[^/]*)?/(?![^\s;])")
"""The first abbreviation between slashes: /z. B.; zB/."""
REMARK = re.compile(r"\{[^}]*\}|\[[^]]*\]|<[^>]*>|\([^()]*\)|" + ABBREVIATION.pattern)
LABEL = re.compile(r"\[([^]]*)\]")
UNUSUAL = frozenset(
    {
        "alt",
        "veraltet",
        "veraltend",
        "selten",
        "poet.",
        "Schw.",
        "Ös.",
        "Bayr.",
        "Süddt.",
        "Norddt.",
        "obs.",
        "archaic",
        "rare",
        "dated",
        "slang",
    }
)
"""Labels of words that are left out if they have other synonyms."""
WRITTEN_OUT = {
    "de": {
        "jd.": "jemand",
        "jdn.": "jemanden",
        "jdm.": "jemandem",
        "jds.": "jemandes",
        "etw.": "etwas",
    },
    "en": {"sb.": "somebody", "sth.": "something"},
}
"""Abbreviations of dictionaries, by language."""
MAX_SYNONYMS = 4


class Entry(NamedTuple):
    """Synonyms in both languages: the most common first, and an abbreviation, in slashes, last."""

    first: list[str]
    second: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the dictionary and the labels to leave out."""
    parser.add_argument(
        "--dictionary", type=Path, required=True, metavar="FILE", help="dictionary in UTF-8"
    )
    parser.add_argument(
        "--without",
        nargs="+",
        default=[],
        metavar="LABEL",
        help="leave out entries with any of these labels, for example bot. chem.",
    )


def read_entries(path: Path, without: frozenset[str] = frozenset()) -> Iterator[Entry]:
    """Yield all forms and examples of a dictionary, except those of entries with one of these labels.

    Lines whose sides have different numbers of forms are left out, and their number is logged.

    Raises:
        DataError: the file is unusable, or a line is not an entry.
    """
    lines = tqdm(iterate_lines(path), desc=path.name, unit="line", unit_scale=True)
    uneven = 0
    for number, (line, _) in enumerate(lines, start=1):
        if line.startswith("#"):
            continue
        sides = [side.split(" | ") for side in line.replace("’", "'").split(" :: ")]
        if len(sides) != 2:
            raise DataError(
                f"{path}:{number}: must have ' :: ' once, but has it {len(sides) - 1} times: {line[:60]!r}"
            )
        if without.intersection(LABEL.findall(f"{sides[0][0]} {sides[1][0]}")):
            continue
        if len(sides[0]) != len(sides[1]):
            uneven += 1
            continue
        for first, second in zip(*sides, strict=True):
            yield Entry(_usual(first), _usual(second))
    if uneven:
        logger.warning(
            "%s: %d lines with more forms on one side than on the other are left out", path, uneven
        )


def candidates(entry: Entry, source: int) -> Iterator[TextPair]:
    """Pair all words of one side with the most common one of the other, and abbreviations with each other."""
    other_words = entry[1 - source]
    for words in entry[source]:
        other = other_words[0]
        if abbreviation := ABBREVIATION.fullmatch(words):
            other_abbreviation = ABBREVIATION.fullmatch(other_words[-1])
            words, other = abbreviation[1], other_abbreviation[1] if other_abbreviation else other
        yield (words, other) if source == 0 else (other, words)


def write_out(text: str, code: str) -> str:
    """Remove remarks from a text, and write out the abbreviations of dictionaries."""
    text = REMARK.sub(" ", text)
    for abbreviated, written in WRITTEN_OUT.get(code, {}).items():
        text = re.sub(rf"(?<!\w){re.escape(abbreviated)}", written, text)
    return " ".join(text.split())


def _usual(form: str) -> list[str]:
    """Return a few common synonyms from one side of an entry, followed by the first abbreviation."""
    synonyms = [" ".join(synonym.split()) for synonym in SYNONYM.split(ABBREVIATION.sub("", form))]
    usual = [synonym for synonym in synonyms if UNUSUAL.isdisjoint(LABEL.findall(synonym))]
    usual = usual or synonyms[:1]
    abbreviation = ABBREVIATION.search(form)
    return usual[:MAX_SYNONYMS] + ([abbreviation[0]] if abbreviation else [])
