r"""What BLEU does not show about a running service: `attendant evaluate URL --data DIR --report`.

For each direction, over the lines of a test set:

- numbers: the share of the lines with digits whose translation has the digits of the line or of the
  reference, ignoring separators;
- placeholders: a placeholder is inserted between two words of every line; the share of the translations
  that contain it exactly once;
- length: the ratio of the translations' tokens to the references', as sacreBLEU counts them;
- unknown words: the share of the translations' words that occur neither in the source line nor in the given
  texts of the target language, such as the training text. The model has probably invented these words;
- chrF of the lines unchanged, in capitals, in lower case and in quotes.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import sacrebleu

from model.data.text import iterate_lines

Change = Callable[[str], str]
_WORD = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_SEPARATOR = re.compile(r"(?<=\d)[.,'’ \u00a0\u202f](?=\d)")
_PLACEHOLDERS = (
    *("%s", "%d", "%1$s", "%({})s", "{{{}}}", "{{0}}", "${{{}}}", "{{{{ {} }}}}", ":{}", "%{{{}}}"),
    *("__{}__", "https://{}.example/a", "{}@{}.example", "<%= {} %>", "`{}`"),
)


def _unquoted(line: str) -> str:
    return line.strip('"„“”«»')


CHANGES: dict[str, tuple[Change, Change]] = {
    "in capitals": (str.upper, str.upper),
    "in lower case": (str.lower, str.lower),
    "in quotes": ('"{}"'.format, _unquoted),
}
"""By name: how the source lines are changed, and how translations and references are made comparable."""


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one direction; shares are between 0 and 1."""

    numbers: float
    numbered_lines: int
    placeholders: float
    lines: int
    length: float
    unknown: float
    words: int
    """Number of words in the translations; 0 if no known words were given."""
    chrf: dict[str, float]
    """chrF by kind of input: `unchanged`, and the names in `CHANGES`."""

    def __str__(self) -> str:
        """Format the report, one line per figure."""
        unknown = f"{self.unknown:.2%} of {self.words} words" if self.words else "no word list"
        rows = {
            "numbers right": f"{self.numbers:.1%} of {self.numbered_lines} lines",
            "placeholders right": f"{self.placeholders:.1%} of {self.lines} lines",
            "length": f"{self.length:.3f} of the references'",
            "unknown words": unknown,
        } | {f"chrF2 {name}": f"{score:.1f}" for name, score in self.chrf.items()}
        return "\n".join(f"  {name:22} {figure}" for name, figure in rows.items())


def report(
    translate: Callable[[Sequence[str]], list[str]],
    source: Sequence[str],
    translated: Sequence[str],
    references: Sequence[str],
    known: frozenset[str],
) -> Report:
    """Measure one direction.

    Args:
        translate: returns the translations of lines, in the same order.
        source: the lines of a test set.
        translated: the service's translations of these lines.
        references: the test set's translations.
        known: the target language's words, as `words_of` returns them; if empty, no word counts as unknown.
    """
    rows = zip(source, translated, references, strict=True)
    numbered = [has_same_numbers(*row) for row in rows if _DIGITS.search(row[0])]
    rng = random.Random(1)  # for the placeholders and their positions
    lines_and_placeholders = [with_placeholder(line, rng) for line in source]
    answers = translate([line for line, _ in lines_and_placeholders])
    preserved = [
        text.count(inserted) == line.count(inserted)
        for (line, inserted), text in zip(lines_and_placeholders, answers, strict=True)
    ]
    output = [_words(line) for line in translated] if known else []
    unknown = sum(
        word not in known and word not in words
        for words, line in zip(map(_words, source), output, strict=bool(known))
        for word in line
    )
    chrf = {"unchanged": _chrf(translated, references)}
    for name, (change, comparable) in CHANGES.items():
        changed = translate([change(line) for line in source])
        chrf[name] = _chrf([*map(comparable, changed)], [*map(comparable, references)])
    words = sum(map(len, output))
    return Report(
        numbers=_share(numbered),
        numbered_lines=len(numbered),
        placeholders=_share(preserved),
        lines=len(source),
        length=sacrebleu.corpus_bleu(translated, [references]).ratio,
        unknown=unknown / max(1, words),
        words=words,
        chrf=chrf,
    )


def placeholder(rng: random.Random) -> str:
    """Return a random placeholder such as those in programs, templates and web pages."""
    word = "".join(rng.choices("abcdefghiklmnoprstuw", k=rng.randint(3, 8)))
    return rng.choice(_PLACEHOLDERS).format(word, word)


def with_placeholder(line: str, rng: random.Random) -> tuple[str, str]:
    """Insert a random placeholder between two words of a line, or after its only word.

    Returns:
        The changed line and the placeholder.
    """
    words, inserted = line.split(" "), placeholder(rng)
    words.insert(rng.randint(1, max(1, len(words) - 1)), inserted)
    return " ".join(words), inserted


def has_same_numbers(source: str, translation: str, reference: str) -> bool:
    """Check whether a translation has the digits of its source or its reference, ignoring separators.

    >>> has_same_numbers("1.250,5 kg", "1,250.5 kg", ""), has_same_numbers("3 Eier", "4 eggs", "3 eggs")
    (True, False)
    """
    return _numbers(translation) in (_numbers(source), _numbers(reference))


def words_of(paths: Iterable[Path]) -> frozenset[str]:
    """Return the case-folded words of texts.

    Raises:
        DataError: a text cannot be read, is empty or has an empty line.
    """
    return frozenset(
        word for path in paths for line, _ in iterate_lines(path) for word in _words(line)
    )


def _numbers(text: str) -> Counter[str]:
    return Counter(_DIGITS.findall(_SEPARATOR.sub("", text)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _share(values: Sequence[bool]) -> float:
    """Return the share of true values; 1.0 for an empty sequence."""
    return sum(values) / len(values) if values else 1.0


def _chrf(translated: Sequence[str], references: Sequence[str]) -> float:
    return float(sacrebleu.corpus_chrf(translated, [references]).score)
