"""`python -m model.augment.lexicon DATA LEXICON --out OUT`: pairs with other titles, places and dates.

Everyday text says "Tom" ten thousand times and "Mrs. Miller" never. A lexicon has classes of expressions, in
both languages, that can replace each other. If a pair has an entry on both sides, another entry of the same
class replaces it. Every corpus of DATA (`train.<code>` or `train.<name>.<code>`) gets a new one,
`train.lexicon.<code>` (`train.<name>-lexicon.<code>`), of its pairs with such an entry (after Fadaee et al.,
2017).

LEXICON is a TOML file, or the name of an included one: `de-en`, which explains its format.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from model.augment import derived
from model.augment.derived import BETWEEN, PLACEHOLDER, Span, Spans
from model.augment.fact_kinds import KINDS, Draw
from model.augment.invented import find_names
from model.augment.writing import writings
from model.data.pairs import TextPair, find_pairs, iterate_pairs
from model.data.text import DataError

LEXICONS = Path(__file__).parent / "lexicons"
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Entry:
    """An expression in both languages."""

    kind: str
    """The class of the entry."""
    sides: TextPair
    at_start: tuple[bool, bool]
    """For each language, whether the entry may only occur at the beginning of a line."""

    @cached_property
    def placeholders(self) -> list[str]:
        """What its placeholders stand for, in the order of the first side."""
        return PLACEHOLDER.findall(self.sides[0])

    @property
    def is_sought(self) -> bool:
        """Whether the entry is looked for in text."""
        return not self.placeholders and not any(self.at_start)

    def spans(self, pair: TextPair) -> Spans | None:
        """Find the entry in both sides as whole words; return None unless it occurs exactly once in each."""
        spans_by_side = [
            [match.span() for match in re.finditer(rf"(?<!\w){re.escape(side)}(?!\w)", text)]
            for side, text in zip(self.sides, pair, strict=True)
        ]
        if [len(spans) for spans in spans_by_side] != [1, 1]:
            return None
        return spans_by_side[0][0], spans_by_side[1][0]


@dataclass
class Lexicon:
    """Classes of entries that can replace each other."""

    languages: TextPair
    classes: dict[str, list[Entry]]
    parts: dict[str, list[Entry]] = field(default_factory=dict)
    """Classes that are used only by placeholders; their entries are not looked for."""

    def __post_init__(self) -> None:
        """Check that entries can be drawn from all classes.

        Raises:
            DataError: a placeholder is neither a class nor a kind of fact, or leads back to its own class, or
                no entry of a class may occur within a line.
        """
        for kind in self._all:
            self._check(kind, ())

    def __contains__(self, kind: str) -> bool:
        """Check whether there is a class of this name."""
        return kind in self._all

    @cached_property
    def by_word(self) -> dict[str, list[Entry]]:
        """The entries to look for in text, by the first word of their first side."""
        entries_by_word: dict[str, list[Entry]] = {}
        for entries in self.classes.values():
            for entry in entries:
                if entry.is_sought and (word := WORD.search(entry.sides[0])):
                    entries_by_word.setdefault(word[0], []).append(entry)
        return entries_by_word

    def draw(self, kind: str, at_start: tuple[bool, bool], draw: Draw) -> TextPair:
        """Draw an entry of a class and fill its placeholders.

        Several placeholders of a kind are filled in the same order on both sides. `at_start` says, for each
        language, whether the entry will be at the beginning of a line.
        """
        fitting = [
            entry
            for entry in self._all[kind]
            if all(
                is_start or not only_at_start
                for only_at_start, is_start in zip(entry.at_start, at_start, strict=True)
            )
        ]
        entry = draw.one_of(*fitting)
        drawn: dict[str, list[TextPair]] = {}
        for name in entry.placeholders:
            drawn.setdefault(name, []).append(self._fill(name, draw))

        def filled(side: int) -> str:
            remaining = {name: iter(pairs) for name, pairs in drawn.items()}
            return PLACEHOLDER.sub(lambda match: next(remaining[match[1]])[side], entry.sides[side])

        return filled(0), filled(1)

    def _fill(self, name: str, draw: Draw) -> TextPair:
        """Draw what a placeholder stands for: an entry of a class, or a fact as each language writes it."""
        if name in self:
            return self.draw(name, (False, False), draw)
        fact = KINDS[name](draw)
        return fact(writings()[self.languages[0]]), fact(writings()[self.languages[1]])

    @cached_property
    def _all(self) -> dict[str, list[Entry]]:
        return self.classes | self.parts

    def _check(self, kind: str, within: tuple[str, ...]) -> None:
        if kind in within:
            raise DataError(f"class {kind}: its placeholders lead back to itself")
        entries = self._all[kind]
        if all(any(entry.at_start) for entry in entries):
            raise DataError(f"class {kind}: has no entry that may occur within a line")
        for name in {name for entry in entries for name in entry.placeholders}:
            if name in self:
                self._check(name, (*within, kind))
            elif name not in KINDS:
                raise DataError(
                    f"class {kind}: {{{name}}} is not a class of the lexicon, nor a kind of fact: "
                    f"{', '.join(KINDS)}"
                )
            elif unknown := [code for code in self.languages if code not in writings()]:
                raise DataError(
                    f"class {kind}: {{{name}}}: writing.toml does not say how {unknown[0]!r} writes facts"
                )


def load_lexicon(name_or_path: str) -> Lexicon:
    """Read a lexicon from a TOML file by its path, or an included one by its name.

    Raises:
        DataError: the file is missing or invalid; the message names the class and the entry.
    """
    path, file = derived.read_toml(name_or_path, LEXICONS, _File)
    try:
        classes, parts = (
            {kind: [_entry(kind, text) for text in texts] for kind, texts in table.items()}
            for table in (file.classes, file.parts)
        )
        return Lexicon(file.languages, classes, parts)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


class _File(BaseModel):
    """The contents of a lexicon file."""

    model_config = ConfigDict(extra="forbid")
    languages: tuple[str, str]
    classes: dict[str, list[str]]
    parts: dict[str, list[str]] = {}


def _entry(kind: str, text: str) -> Entry:
    sides = text.split(BETWEEN)
    first, second = sides[0], sides[-1]
    if (
        len(sides) > 2
        or not all(side.removeprefix("^").strip() for side in sides)
        or sorted(PLACEHOLDER.findall(first)) != sorted(PLACEHOLDER.findall(second))
    ):
        raise DataError(
            f"class {kind}: an entry is FIRST{BETWEEN}SECOND with the same placeholders in both, or one for "
            f"both: {text!r}"
        )
    at_start = first.startswith("^"), second.startswith("^")
    return Entry(kind, (first.removeprefix("^"), second.removeprefix("^")), at_start)


class Exchange:
    """Replaces entries of a lexicon with others of their class; the draws are the same for the same seed."""

    def __init__(self, lexicon: Lexicon, seed: int, names: Sequence[str] = ()) -> None:
        """Find and draw entries of `lexicon`, in which new names are made from `names`."""
        self.lexicon = lexicon
        self._draw = Draw(names, seed)

    def __call__(self, pair: TextPair) -> TextPair | None:
        """Replace all entries in a pair; return None if the pair has none or did not change."""
        places = []
        for entry, spans in self._places(pair):
            at_start = spans[0][0] == 0, spans[1][0] == 0
            places.append((spans, self.lexicon.draw(entry.kind, at_start, self._draw)))
        first, second = (
            put(text, [(spans[side], drawn[side]) for spans, drawn in places])
            for side, text in enumerate(pair)
        )
        return None if (first, second) == pair else (first, second)

    def _places(self, pair: TextPair) -> Iterator[tuple[Entry, Spans]]:
        """Yield the entries that both sides have with their spans, the longest first, without overlaps."""
        candidates = [
            entry
            for word in dict.fromkeys(WORD.findall(pair[0]))
            for entry in self.lexicon.by_word.get(word, ())
        ]
        taken_spans: list[Spans] = []
        for entry in sorted(candidates, key=lambda entry: -len(entry.sides[0])):
            spans = entry.spans(pair)
            if spans and not any(
                span[0] < other[1] and other[0] < span[1]
                for taken in taken_spans
                for span, other in zip(spans, taken, strict=True)
            ):
                taken_spans.append(spans)
                yield entry, spans


def put(text: str, replacements: list[tuple[Span, str]]) -> str:
    """Replace these spans of the text."""
    for (start, end), replacement in sorted(replacements, reverse=True):
        # the full stop of an abbreviation at the end of a sentence also ends the sentence
        text_after = text[end:] or ("." if text[start:end].endswith(".") else "")
        if replacement.endswith("."):
            text_after = text_after.removeprefix(".")
        text = text[:start] + replacement + text_after
    return text


def main(arguments: list[str] | None = None) -> int:
    """Write the new corpora and return the exit status."""
    parser = derived.parser("model.augment.lexicon", __doc__)
    parser.add_argument("lexicon", help="TOML file, or the name of an included one: de-en")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    options = parser.parse_args(arguments)
    try:
        lexicon = load_lexicon(options.lexicon)
        corpora = find_pairs(options.data, lexicon.languages)
        names = find_names(chain.from_iterable(map(iterate_pairs, corpora.values())))
        exchange = Exchange(lexicon, options.seed, names)
        for line in derived.derive(corpora, lexicon.languages, options.out, "lexicon", exchange):
            print(line)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
