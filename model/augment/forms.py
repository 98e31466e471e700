"""`python -m model.augment.forms DATA --languages de en --out OUT`: the same pairs in the forms that text takes.

Corpora hold clean sentences. People also write in capitals, in quotes, in lists, with variables and tags, without
a mark at the end, and with slips of the keyboard. Every corpus of DATA (`train.<code>` or `train.<name>.<code>`)
gets others, `train.<kind>.<code>` (`train.<name>-<kind>.<code>`), with each of its pairs in one form drawn at random:

- `forms`: changed on both sides in the same way;
- `rough-<code>`: the side of <code> alone as people mistype it, for the directions from <code>;
- `copied-<code>`: text that is in <code> already and stays as it is, for the directions into <code>.

What is protected in a text reaches the network as `<p0>` to `<p9>`, which `data.symbols` makes tokens. Here they
stand for words that are known to translate each other: those that are the same on both sides, and those that are
a pair of the data by themselves, as a lexicon's are.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain

from model.augment import derived
from model.augment.derived import WORD, Span, Spans
from model.data.pairs import Pair, find_pairs, iterate_pairs
from model.data.text import DataError

PLACEHOLDERS = tuple(f"<p{number}>" for number in range(10))
END_MARK = re.compile(r"[.!?]$")
OTHER_MARKS = ("!", "!", "!!", "!!!", "?", "??", "?!", "...", "…", ":", ";")
LIST_MARKS = (
    "- ",
    "- ",
    "* ",
    "• ",
    "– ",
    "1. ",
    "2. ",
    "3) ",
    "a) ",
    "(b) ",
    "[ ] ",
    "[x] ",
    "> ",
    "# ",
    "\t",
)
BRACKETS = ("()", "()", "[]", "**", "__", "{}", "||")
QUOTES = {"de": ("„“", "»«", "‚‘"), "en": ("“”", "“”", "‘’"), "fr": ("«»",)}
"""Typographic quotes of languages that have their own; any language has `"` and `'`."""
DIGRAPHS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
"""How letters are written where a keyboard lacks them."""
SHORTEST_MISTYPED = 4
MOST_WORDS = 60
"""Words of a side from which on nothing is made of a pair."""
Change = Callable[[str], str]
Place = tuple[Spans, str]
"""Where a placeholder is put, and what is around it."""


@dataclass
class Forms:
    """Draws a form for a pair; the same draws for the same seed."""

    languages: Pair
    words: dict[str, frozenset[str]]
    """What words of the first language are translated by, one word each."""
    seed: int
    _random: random.Random = field(init=False)
    _before: Pair | None = None

    def __post_init__(self) -> None:
        """Begin at the seed."""
        self._random = random.Random(self.seed)

    def __call__(self, pair: Pair) -> Pair | None:
        """The pair in another form, or None where the one drawn does not fit it."""
        if max(len(side.split()) for side in pair) > MOST_WORDS:
            return None
        kinds: list[Callable[[Pair], Pair | None]] = [
            self._capitals, self._title_case, self._without_mark, self._other_mark, self._enclosed,
            self._listed, self._joined, self._with_placeholders,
        ]  # fmt: skip
        made = self._random.choices(kinds, weights=[2, 1, 3, 2, 3, 2, 3, 8])[0](pair)
        self._before = pair
        return None if made == pair else made

    def _capitals(self, pair: Pair) -> Pair:
        return _both(pair, str.upper)

    def _title_case(self, pair: Pair) -> Pair:
        return _both(
            pair, lambda side: WORD.sub(lambda word: word[0][0].upper() + word[0][1:], side)
        )

    def _without_mark(self, pair: Pair) -> Pair | None:
        return _both(pair, lambda side: side[:-1].rstrip()) if _end_alike(pair) else None

    def _other_mark(self, pair: Pair) -> Pair | None:
        mark = self._random.choice(OTHER_MARKS)
        return _both(pair, lambda side: side[:-1].rstrip() + mark) if _end_alike(pair) else None

    def _enclosed(self, pair: Pair) -> Pair:
        """All of it, or one word, in quotes or brackets."""
        spans = self._aligned(pair)
        if spans and self._random.random() < 0.6:
            place = self._random.choice(spans)
        else:
            place = ((0, len(pair[0])), (0, len(pair[1])))
        first, second = (
            f"{side[:begin]}{around[0]}{side[begin:end]}{around[1]}{side[end:]}"
            for side, (begin, end), around in zip(pair, place, self._marks(), strict=True)
        )
        return first, second

    def _marks(self) -> tuple[str, str]:
        """What opens and closes, for each language: typographic quotes are those of each."""
        kind = self._random.random()
        if kind < 0.4:
            brackets = self._random.choice(BRACKETS)
            return brackets, brackets
        quotes = "''" if kind < 0.5 else '""'
        if kind > 0.75:
            first, second = (
                self._random.choice(QUOTES.get(code, ('""',))) for code in self.languages
            )
            return first, second
        return quotes, quotes

    def _listed(self, pair: Pair) -> Pair:
        mark = self._random.choice(LIST_MARKS)
        return _both(pair, lambda side: f"{mark}{side}")

    def _joined(self, pair: Pair) -> Pair | None:
        """Behind the pair that came before (Nguyen, Murray and Chiang, 2021)."""
        if self._before is None:
            return None
        between = self._random.choice((" ", " ", " ", " – ", "; ", " | ", "\t"))
        first, second = (
            f"{one}{between}{two}" for one, two in zip(self._before, pair, strict=True)
        )
        return first, second

    def _with_placeholders(self, pair: Pair) -> Pair | None:
        """In the place of words, around words, or before and behind all."""
        draw, places = self._random, []
        spans = self._aligned(pair)
        for span in draw.sample(spans, min(len(spans), draw.choice((1, 1, 2, 3)))):
            places += _around(span) if draw.random() < 0.35 else [(span, "{}")]
        if not places or draw.random() < 0.2:
            places += self._at_edges(pair)
        places.sort()
        names = list(PLACEHOLDERS[: len(places)])
        if draw.random() < 0.2:
            names = draw.sample(PLACEHOLDERS, len(places))
        written = [
            (spans, how.format(name)) for (spans, how), name in zip(places, names, strict=True)
        ]
        first, second = (
            _put(pair[side], [(spans[side], name) for spans, name in written]) for side in (0, 1)
        )
        return first, second

    def _at_edges(self, pair: Pair) -> list[Place]:
        """Places before and behind the sentence, or before the mark at its end."""
        back = 1 if _end_alike(pair) and self._random.random() < 0.6 else 0
        first, second = (len(side) - back for side in pair)
        start: Place = ((0, 0), (0, 0)), "{} "
        end: Place = ((first, first), (second, second)), " {}"
        return self._random.choice(([start], [end], [start, end]))

    def _aligned(self, pair: Pair) -> list[Spans]:
        """Words that stand once in each side and translate each other."""
        first, second = ({word: span for word, span in _once(side)} for side in pair)
        found = []
        for word, span in first.items():
            for other in (word, *sorted(self.words.get(word, ()))):
                if other in second:
                    found.append((span, second[other]))
                    break
        taken: set[Span] = set()
        return [one for one in found if one[1] not in taken and not taken.add(one[1])]


@dataclass
class Rough:
    """One side as people mistype it."""

    side: int
    seed: int
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Begin at the seed."""
        self._random = random.Random(self.seed)

    def __call__(self, pair: Pair) -> Pair | None:
        """The pair with that side mistyped, or None where nothing of it changed."""
        kinds: list[Change] = [str.lower, self._slip, self._digraphs, self._shift, self._spaces]
        changed = self._random.choices(kinds, weights=[5, 5, 2, 1, 1])[0](pair[self.side])
        if changed == pair[self.side] or max(len(side.split()) for side in pair) > MOST_WORDS:
            return None
        return (changed, pair[1]) if self.side == 0 else (pair[0], changed)

    def _slip(self, text: str) -> str:
        """A letter left out, doubled, exchanged with the next, or another in its place; in one word or two."""
        words = [one for one in WORD.finditer(text) if len(one[0]) >= SHORTEST_MISTYPED]
        for one in sorted(self._random.sample(words, min(len(words), self._random.choice((1, 1, 2)))),
                          key=re.Match.start, reverse=True):  # fmt: skip
            at = one.start() + self._random.randrange(1, len(one[0]) - 1)
            here, following = text[at], text[at + 1]
            new = self._random.choice(
                (
                    following,
                    here * 2 + following,
                    following + here,
                    self._random.choice("enirtsahdlu") + following,
                )
            )
            text = text[:at] + new + text[at + 2 :]
        return text

    def _digraphs(self, text: str) -> str:
        return "".join(DIGRAPHS.get(letter, letter) for letter in text)

    def _shift(self, text: str) -> str:
        """The shift key held for too long: HAllo."""
        return re.sub(r"^(\w)(\w)(?=\w)", lambda found: found[1].upper() + found[2].upper(), text)

    def _spaces(self, text: str) -> str:
        """A space before the mark at the end, or none behind a comma."""
        return (
            END_MARK.sub(r" \g<0>", text)
            if self._random.random() < 0.5
            else text.replace(", ", ",", 1)
        )


def copied(side: int) -> Callable[[Pair], Pair]:
    """A language's text on both sides."""
    return lambda pair: (pair[side], pair[side])


def single_words(pairs: Iterable[Pair]) -> dict[str, frozenset[str]]:
    """Of pairs that are one word on each side, what the first is translated by."""
    found: dict[str, set[str]] = {}
    for first, second in pairs:
        if WORD.fullmatch(first) and WORD.fullmatch(second):
            found.setdefault(first, set()).add(second)
    return {word: frozenset(others) for word, others in found.items()}


def _both(pair: Pair, change: Change) -> Pair:
    return change(pair[0]), change(pair[1])


def _end_alike(pair: Pair) -> bool:
    marks = [END_MARK.search(side) for side in pair]
    return bool(marks[0] and marks[1] and marks[0][0] == marks[1][0])


def _once(text: str) -> list[tuple[str, Span]]:
    """The words that a text has once, and where."""
    words = [(one[0], one.span()) for one in re.finditer(r"\w+(?:['-]\w+)*", text)]
    counts = Counter(word for word, _ in words)
    return [(word, span) for word, span in words if counts[word] == 1]


def _around(spans: Spans) -> list[Place]:
    """The places before and behind."""
    (a, b), (c, d) = spans
    return [(((a, a), (c, c)), "{}"), (((b, b), (d, d)), "{}")]


def _put(text: str, places: list[tuple[Span, str]]) -> str:
    """The text with something at each of these places."""
    for (begin, end), name in sorted(places, reverse=True):
        text = f"{text[:begin]}{name}{text[end:]}"
    return text


def main(arguments: list[str] | None = None) -> int:
    """Write the new corpora; returns the exit status."""
    parser = derived.parser("model.augment.forms", __doc__)
    parser.add_argument("--languages", nargs=2, required=True, metavar="CODE")
    parser.add_argument("--seed", type=int, default=1, help="of the draws (default 1)")
    options = parser.parse_args(arguments)
    languages, seed = tuple(options.languages), options.seed
    try:
        corpora = find_pairs(options.data, languages)
        words = single_words(chain.from_iterable(map(iterate_pairs, corpora.values())))
        changes: dict[str, Callable[[Pair], Pair | None]] = {"forms": Forms(languages, words, seed)}
        for side, code in enumerate(languages):
            changes[f"rough-{code}"] = Rough(side, seed)
            changes[f"copied-{code}"] = copied(side)
        for kind, change in changes.items():
            for line in derived.derive(corpora, languages, options.out, kind, change):
                print(line)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
