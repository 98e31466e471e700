r"""What BLEU does not tell of a running service: `python -m export.evaluate URL --data DIR --report`.

For each direction, over the lines of a test set:

- numbers: of the lines with a digit, those whose translation has the digits of the line or of the reference,
  separators apart;
- placeholders: of all lines with one put between two words, those whose translation has it exactly once;
- length: tokens of the translations to those of the references, as sacreBLEU counts them;
- unknown words: of the words of the translations, those that are neither in the line nor in any text of the
  target language that is given, such as the training text: words that a model has invented;
- chrF of the lines in capitals, in small letters and in quotes, beside that of the lines as they stand.
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
    "in small letters": (str.lower, str.lower),
    "in quotes": ('"{}"'.format, _unquoted),
}
"""What is done to the lines, and to translations and references so that they can be compared."""


@dataclass(frozen=True, slots=True)
class Report:
    """Of one direction; shares are between 0 and 1."""

    numbers: float
    numbered_lines: int
    placeholders: float
    lines: int
    length: float
    unknown: float
    words: int
    """Of the translations; 0 if there is no text to know words from."""
    chrf: dict[str, float]
    """Of the lines as they stand, and changed."""

    def __str__(self) -> str:
        """A line for each figure."""
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
    seed: int = 1,
) -> Report:
    """Measure one direction.

    Args:
        translate: gives translations of lines, in their order.
        source: the lines of a test set.
        translated: their translations.
        references: those of the test set.
        known: the target language's words, as `words_of` gives them; without any, none is unknown.
        seed: of the placeholders and their places.
    """
    rows = zip(source, translated, references, strict=True)
    numbered = [has_same_numbers(*row) for row in rows if _DIGITS.search(row[0])]
    rng = random.Random(seed)
    made = [with_placeholder(line, rng) for line in source]
    answers = translate([line for line, _ in made])
    kept = [
        text.count(one) == line.count(one) for (line, one), text in zip(made, answers, strict=True)
    ]
    output = [_words(line) for line in translated] if known else []
    unknown = sum(
        word not in known and word not in words
        for words, line in zip(map(_words, source), output, strict=bool(known))
        for word in line
    )
    chrf = {"as they stand": _chrf(translated, references)}
    for name, (change, comparable) in CHANGES.items():
        changed = translate([change(line) for line in source])
        chrf[name] = _chrf([*map(comparable, changed)], [*map(comparable, references)])
    words = sum(map(len, output))
    return Report(
        numbers=_share(numbered),
        numbered_lines=len(numbered),
        placeholders=_share(kept),
        lines=len(source),
        length=sacrebleu.corpus_bleu(translated, [references]).ratio,
        unknown=unknown / max(1, words),
        words=words,
        chrf=chrf,
    )


def placeholder(rng: random.Random) -> str:
    """One as programs, templates and pages have it, made by chance."""
    word = "".join(rng.choices("abcdefghiklmnoprstuw", k=rng.randint(3, 8)))
    return rng.choice(_PLACEHOLDERS).format(word, word)


def with_placeholder(line: str, rng: random.Random) -> tuple[str, str]:
    """A line with a placeholder between two of its words, or behind its only one; and the placeholder."""
    words, one = line.split(" "), placeholder(rng)
    words.insert(rng.randint(1, max(1, len(words) - 1)), one)
    return " ".join(words), one


def has_same_numbers(source: str, translation: str, reference: str) -> bool:
    """Whether a translation has the digits of its source or those of the reference, separators apart.

    >>> has_same_numbers("1.250,5 kg", "1,250.5 kg", ""), has_same_numbers("3 Eier", "4 eggs", "3 eggs")
    (True, False)
    """
    return _numbers(translation) in (_numbers(source), _numbers(reference))


def words_of(paths: Iterable[Path]) -> frozenset[str]:
    """The words of texts, in small letters.

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


def _share(held: Sequence[bool]) -> float:
    """Of those that hold; all, where there are none."""
    return sum(held) / len(held) if held else 1.0


def _chrf(translated: Sequence[str], references: Sequence[str]) -> float:
    return float(sacrebleu.corpus_chrf(translated, [references]).score)
