"""`python -m model.augment.forms DATA --languages de en --out OUT`: the forms that real text takes.

Corpora contain clean sentences. People also write in capitals, in quotes, in lists, with variables and tags,
without final punctuation, and with typing errors. Every corpus of DATA (`train.<code>` or
`train.<name>.<code>`) gets new ones, `train.<kind>.<code>` (`train.<name>-<kind>.<code>`), in which each
pair has one form, drawn at random:

- `forms`: both sides are changed in the same way;
- `rough-<code>`: only the side of <code> has typing errors, for training the directions from <code>;
- `copied-<code>`: both sides are the same text in <code>, for training the directions into <code>.

The service replaces protected parts of a text with `<p0>` to `<p9>`, which `data.symbols` makes tokens. Here,
they replace words that are known to translate each other: those that are the same on both sides, and those
that form a whole pair of the data, such as the entries of a dictionary. They are numbered in the order of
the first language; on the other side, where the word order may differ, `<p1>` may come before `<p0>`.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from model.augment import derived
from model.augment.derived import WORD, Span, Spans
from model.augment.writing import Around, writings
from model.data.pairs import TextPair, find_pairs, iterate_pairs
from model.data.text import DataError

PLACEHOLDERS = tuple(f"<p{number}>" for number in range(10))
TOKEN = re.compile(r"\w+(?:['-]\w+)*")
END_MARK = re.compile(r"[.!?]$")
OTHER_MARKS = ("!", "!", "!!", "!!!", "?", "??", "?!", "...", "…", ":", ";")
LIST_MARKS = (
    "- ", "- ", "* ", "• ", "– ", "1. ", "2. ", "3) ", "a) ", "(b) ", "[ ] ", "[x] ", "> ", "# ", "\t", "— ",
    "&", "_",
)  # fmt: skip
"""Marks of list items, and of a label's key on the keyboard (&File)."""
DASH = "–"
SEPARATORS = (" ", " ", " ", " – ", DASH, "; ", " | ", "\t")
"""Separators of two sentences in one line. `DASH` becomes the dash of each language."""
BRACKETS: tuple[Around, ...] = (
    ("(", ")"), ("(", ")"), ("[", "]"), ("*", "*"), ("_", "_"), ("{", "}"), ("|", "|"),
)  # fmt: skip
MIN_LETTERS = 4
"""Minimum length of words with typing errors."""
MAX_HEADING = 5
"""Maximum number of words of a phrase that becomes a heading."""
MAX_WORDS = 60
"""Maximum length of a side of pairs that are changed."""
Change = Callable[[TextPair], TextPair | None]
Place = tuple[Spans, str]
"""The spans that a placeholder replaces, and a format with `{}` for the placeholder."""


class Forms:
    """Changes both sides of a pair in the same way; the draws are the same for the same seed."""

    def __init__(self, languages: TextPair, words: Mapping[str, frozenset[str]], seed: int) -> None:
        """`words` maps words of the first language to their translations that are single words."""
        by_code = writings()
        self._quotes = [by_code[code].quotes if code in by_code else () for code in languages]
        self._dashes = [by_code[code].dash if code in by_code else " – " for code in languages]
        self._words = words
        self._random = random.Random(seed)
        self._previous: TextPair | None = None
        self._weights: dict[Change, int] = {
            self.capitals: 2,
            self.title_case: 1,
            self.heading: 3,
            self.without_mark: 3,
            self.other_mark: 2,
            self.enclosed: 3,
            self.listed: 2,
            self.joined: 3,
            self.with_placeholders: 8,
        }

    def __call__(self, pair: TextPair) -> TextPair | None:
        """Change the form of a pair; return None if the form drawn does not fit it."""
        if not _is_short(pair):
            return None
        [change] = self._random.choices(list(self._weights), list(self._weights.values()))
        changed = change(pair)
        self._previous = pair
        return None if changed == pair else changed

    def capitals(self, pair: TextPair) -> TextPair:
        """Change all letters to capitals."""
        return pair[0].upper(), pair[1].upper()

    def title_case(self, pair: TextPair) -> TextPair:
        """Capitalize each word."""
        first, second = (
            WORD.sub(lambda word: word[0][0].upper() + word[0][1:], side) for side in pair
        )
        return first, second

    def heading(self, pair: TextPair) -> TextPair | None:
        """Capitalize the first letter of a word or a short phrase."""
        if max(len(side.split()) for side in pair) > MAX_HEADING:
            return None
        first, second = (side[:1].upper() + side[1:] for side in pair)
        return first, second

    def without_mark(self, pair: TextPair) -> TextPair | None:
        """Remove the final punctuation."""
        return _with_end(pair, "")

    def other_mark(self, pair: TextPair) -> TextPair | None:
        """Replace the final punctuation."""
        return _with_end(pair, self._random.choice(OTHER_MARKS))

    def enclosed(self, pair: TextPair) -> TextPair:
        """Put the whole text, or one word, in quotes or brackets."""
        spans = self._aligned(pair)
        if spans and self._random.random() < 0.6:
            spans_enclosed = self._random.choice(spans)
        else:
            spans_enclosed = (0, len(pair[0])), (0, len(pair[1]))
        first, second = (
            f"{side[:start]}{opening}{side[start:end]}{closing}{side[end:]}"
            for side, (start, end), (opening, closing) in zip(
                pair, spans_enclosed, self._marks(), strict=True
            )
        )
        return first, second

    def listed(self, pair: TextPair) -> TextPair:
        """Make the text an item of a list."""
        mark = self._random.choice(LIST_MARKS)
        return f"{mark}{pair[0]}", f"{mark}{pair[1]}"

    def joined(self, pair: TextPair) -> TextPair | None:
        """Append the pair to the previous one (Nguyen, Murray and Chiang, 2021)."""
        if self._previous is None:
            return None
        separator = self._random.choice(SEPARATORS)
        separators = self._dashes if separator == DASH else (separator, separator)
        first, second = (
            between.join(sides)
            for between, *sides in zip(separators, self._previous, pair, strict=True)
        )
        return first, second

    def with_placeholders(self, pair: TextPair) -> TextPair | None:
        """Put placeholders in place of words, around words, or at the start and end."""
        draw, places = self._random, list[Place]()
        spans = self._aligned(pair)
        for span in draw.sample(spans, min(len(spans), draw.choice((1, 1, 2, 3)))):
            places += _around(span) if draw.random() < 0.35 else [(span, "{}")]
        if not places or draw.random() < 0.2:
            start, end = self._edges(pair)
            wanted = draw.choice(("start", "end", "both"))
            places = [start] * (wanted != "end") + places + [end] * (wanted != "start")
        places.sort(key=lambda place: place[0][0][0])
        names = PLACEHOLDERS[: len(places)]
        if draw.random() < 0.2:
            names = tuple(draw.sample(PLACEHOLDERS, len(places)))
        written = [form.format(name) for (_, form), name in zip(places, names, strict=True)]
        first, second = (
            _replace(pair[side], [spans[side] for spans, _ in places], written) for side in (0, 1)
        )
        return first, second

    def _marks(self) -> tuple[Around, Around]:
        """Draw opening and closing marks for both languages; typographic quotes depend on the language."""
        kind = self._random.random()
        if kind < 0.4:
            brackets = self._random.choice(BRACKETS)
            return brackets, brackets
        straight = ("'", "'") if kind < 0.5 else ('"', '"')
        if kind < 0.75:
            return straight, straight
        first, second = (self._random.choice(quotes or (straight,)) for quotes in self._quotes)
        return first, second

    def _edges(self, pair: TextPair) -> tuple[Place, Place]:
        """Return the places before a sentence, and after it or before its final punctuation."""
        num_marks = 1 if _ends_alike(pair) and self._random.random() < 0.6 else 0
        first, second = (len(side) - num_marks for side in pair)
        return (((0, 0), (0, 0)), "{} "), (((first, first), (second, second)), " {}")

    def _aligned(self, pair: TextPair) -> list[Spans]:
        """Return the spans of words that occur once on each side and translate each other, each word once."""
        first, second = map(_unique_words, pair)
        aligned: dict[Span, Spans] = {}
        for word, span in first.items():
            for other in (word, *sorted(self._words.get(word, ()))):
                if other in second:
                    aligned.setdefault(second[other], (span, second[other]))
                    break
        return list(aligned.values())


class Rough:
    """Adds typing errors to one side of a pair; the draws are the same for the same seed."""

    def __init__(self, side: int, digraphs: Mapping[str, str], seed: int) -> None:
        """`digraphs` maps letters that a keyboard may lack to their replacements, such as `ä` to `ae`."""
        self._side, self._digraphs = side, str.maketrans(dict(digraphs))
        self._random = random.Random(seed)
        self._weights: dict[Callable[[str], str], int] = {
            str.lower: 5,
            self.slip: 5,
            self.digraphs: 2,
            self.shift: 1,
            self.spaces: 1,
        }

    def __call__(self, pair: TextPair) -> TextPair | None:
        """Add an error to the side of the pair; return None if it did not change."""
        if not _is_short(pair):
            return None
        [change] = self._random.choices(list(self._weights), list(self._weights.values()))
        changed = change(pair[self._side])
        if changed == pair[self._side]:
            return None
        return (changed, pair[1]) if self._side == 0 else (pair[0], changed)

    def slip(self, text: str) -> str:
        """In one or two words, omit a letter, double it, swap it with the next, or replace it."""
        draw = self._random
        words = [word for word in WORD.finditer(text) if len(word[0]) >= MIN_LETTERS]
        words_to_change = draw.sample(words, min(len(words), draw.choice((1, 1, 2))))
        for word in sorted(words_to_change, key=re.Match.start, reverse=True):
            position = word.start() + draw.randrange(1, len(word[0]) - 1)
            letter, next_letter = text[position], text[position + 1]
            other = draw.choice(word[0][1:])
            letters = draw.choice(
                (next_letter, letter * 2 + next_letter, next_letter + letter, other + next_letter)
            )
            text = f"{text[:position]}{letters}{text[position + 2 :]}"
        return text

    def digraphs(self, text: str) -> str:
        """Replace letters that a keyboard may lack."""
        return text.translate(self._digraphs)

    def shift(self, text: str) -> str:
        """Capitalize the second letter, as if the shift key was held for too long: HAllo."""
        return re.sub(r"^\w\w(?=\w)", lambda match: match[0].upper(), text)

    def spaces(self, text: str) -> str:
        """Insert a space before the final punctuation, or remove the one after a comma."""
        if self._random.random() < 0.5:
            return END_MARK.sub(r" \g<0>", text)
        return text.replace(", ", ",", 1)


def copied(side: int) -> Change:
    """Return a change that puts the text of one language on both sides."""
    return lambda pair: (pair[side], pair[side])


def single_words(pairs: Iterable[TextPair]) -> dict[str, frozenset[str]]:
    """Return the translations of words by pairs with one word on each side."""
    translations: dict[str, set[str]] = {}
    for first, second in pairs:
        if WORD.fullmatch(first) and WORD.fullmatch(second):
            translations.setdefault(first, set()).add(second)
    return {word: frozenset(words) for word, words in translations.items()}


def _is_short(pair: TextPair) -> bool:
    return max(len(side.split()) for side in pair) <= MAX_WORDS


def _ends_alike(pair: TextPair) -> bool:
    """Check whether both sides end with the same punctuation mark."""
    return bool(END_MARK.search(pair[0])) and pair[0][-1:] == pair[1][-1:]


def _with_end(pair: TextPair, mark: str) -> TextPair | None:
    """Replace the final punctuation of both sides with `mark`; return None unless it is the same on both."""
    if not _ends_alike(pair):
        return None
    return pair[0][:-1].rstrip() + mark, pair[1][:-1].rstrip() + mark


def _unique_words(text: str) -> dict[str, Span]:
    """Return the spans of the words that occur once in a text."""
    words = [(match[0], match.span()) for match in TOKEN.finditer(text)]
    counts = Counter(word for word, _ in words)
    return {word: span for word, span in words if counts[word] == 1}


def _around(spans: Spans) -> list[Place]:
    """Return the places directly before and after a word."""
    (start, end), (target_start, target_end) = spans
    return [
        (((start, start), (target_start, target_start)), "{}"),
        (((end, end), (target_end, target_end)), "{}"),
    ]


def _replace(text: str, spans: list[Span], replacements: list[str]) -> str:
    """Replace each span of the text; replacements that start at the same position keep their order."""
    parts, position = [], 0
    for (start, end), replacement in sorted(
        zip(spans, replacements, strict=True), key=lambda place: place[0][0]
    ):
        parts += [text[position:start], replacement]
        position = end
    return "".join((*parts, text[position:]))


def main(arguments: list[str] | None = None) -> int:
    """Write the new corpora and return the exit status."""
    parser = derived.parser("model.augment.forms", __doc__)
    parser.add_argument("--languages", nargs=2, required=True, metavar="CODE")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    options = parser.parse_args(arguments)
    languages = options.languages[0], options.languages[1]
    try:
        corpora = find_pairs(options.data, languages)
        words = single_words(chain.from_iterable(map(iterate_pairs, corpora.values())))
        changes: dict[str, Change] = {"forms": Forms(languages, words, options.seed)}
        for side, code in enumerate(languages):
            digraphs = writings()[code].digraphs if code in writings() else {}
            changes[f"rough-{code}"] = Rough(side, digraphs, options.seed)
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
