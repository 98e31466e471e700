"""Abbreviations written out, for a model that makes nonsense of those that it has hardly seen."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import ClassVar, Literal, Self, cast

import regex

from service.errors import BundleError
from service.models.bundle_files import printable
from service.text.rules.rule import Rule, Setting, Table
from service.text.run import Run
from service.text.tables import read_table

_BEFORE, _BEHIND = r"(?<![\w.,:/@&#-])", r"(?!\w)"
_ENDS_LINE = re.compile(r"[)\]}\"'”’“»]*[ \t]*(?:[\r\n]|\Z)")
_BEGINS_SENTENCE = regex.compile(r"[)\]}\"'”’“»]*\s+[(\[{\"'„“‚«]*[^\W\d_\p{Ll}]")


class Abbreviations(Rule):
    """Writes out those of one language."""

    name: ClassVar[str] = "abbreviations"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"
    parameters = Table

    def __init__(self, written_out: Mapping[str, str]) -> None:
        """Take in what each is written out; behind one that may end a sentence, that ends in a dot.

        A space in one may be missing in the text.
        """
        self._written_out = {_key(short): long for short, long in written_out.items()}
        longest_first = sorted(written_out, key=len, reverse=True)
        self._first_words = frozenset(chain.from_iterable(map(_first_words, written_out)))
        self._pattern = re.compile(
            f"{_BEFORE}(?:{'|'.join(map(_as_pattern, longest_first))}){_BEHIND}"
            if longest_first
            else r"(?!)"
        )

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """With those of the source language, as a table of the bundle has them."""
        return cls.read(setting.folder / cast(Table, setting.parameters).table, setting.source)

    @classmethod
    def read(cls, path: Path, language: str) -> Self:
        """Those of a table: in each line a language's code, an abbreviation and what it is, parted by tabs.

        Raises:
            BundleError: it cannot be read, or a line is none of these.
        """
        rows = read_table(path)
        for number, row in enumerate(rows, start=1):
            if len(row) != 3 or not all(cell.strip(" .") for cell in row):
                raise BundleError(
                    f": line {number} must be a language, an abbreviation and what it is, "
                    f"and is {printable(repr(row))}",
                    path,
                )
        return cls({short: long for code, short, long in rows if code == language})

    def prepare(self, run: Run) -> Run:
        """The sentence with its abbreviations written out."""
        if self._first_words.isdisjoint(run.words) and "" not in self._first_words:
            return run
        found = self._pattern.finditer(run.text)
        return run.edited_outside([(*match.span(), self._instead(match)) for match in found])

    def _instead(self, match: re.Match[str]) -> str:
        """What to write; with a dot where the abbreviation's own ended a sentence."""
        short, text, end = match[0], match.string, match.end()
        long = self._written_out[_key(short)]
        may_end = long.endswith(".")
        long = long.removesuffix(".")
        if short[0].isupper():
            long = long[0].upper() + long[1:]
        ends = _ENDS_LINE.match(text, end) or (may_end and _BEGINS_SENTENCE.match(text, end))
        return f"{long}." if ends and short.endswith(".") else long


def _key(short: str) -> str:
    """The same for all ways to write it."""
    return re.sub(r"\s", "", short[0].lower() + short[1:])


def _first_words(short: str) -> Iterator[str]:
    """The words that it may begin with in a text; "" where that is no word.

    >>> sorted(set(_first_words("z. B."))), sorted(set(_first_words("d R")))
    (['Z', 'z'], ['D', 'DR', 'd', 'dR'])
    """
    parts = short.split(" ")
    for first in _cases(short):
        for number in range(1, len(parts) + 1):  # spaces may be missing
            written = first + "".join(parts[:number])[1:]
            yield re.split(r"\W", written, maxsplit=1)[0]


def _cases(short: str) -> list[str]:
    """Of its first letter."""
    cases = {short[0], short[0].lower(), short[0].upper()}
    return sorted(case for case in cases if len(case) == 1)


def _as_pattern(short: str) -> str:
    """With or without its spaces, and with either case of its first letter."""
    first = f"[{''.join(map(re.escape, _cases(short)))}]"
    return first + r"[ \u00a0\u202f]?".join(map(re.escape, short[1:].split(" ")))
