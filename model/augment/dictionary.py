"""`python -m model.augment.dictionary DATA --dictionary FILE --languages de en --out OUT`: words to learn.

Small text lacks most words of a language; a dictionary has them. FILE is one in the format of the program
Ding (TU Chemnitz has it for German and English, Debian as the package trans-de-en). Three corpora come of it:

- `examples`: its whole sentences;
- `from-<first>`: each word or phrase of the first language with its most usual translation, to be learnt in
  that direction only, so that a rare translation is understood, but not written;
- `from-<second>`: the same from the second language.

A single word or a pair of them, if it is no abbreviation, is left out of the last two where the text of DATA
has all of it already: its meaning there is learnt better from sentences.

In FILE, a line is an entry, and `::` stands between its languages; `|` divides an entry into forms and
examples, the nth of one side that of the other; `;` divides what means the same, the most usual first.
Brackets hold remarks, and slashes abbreviations or alternatives:

    Flugzeug {n} /Fz./; Flieger {m} [ugs.] | er/sie fliegt :: aeroplane; plane [coll.] | he/she flies
"""

import logging
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from model.augment import derived
from model.data.pairs import Pair, find_pairs, iterate_pairs, write_pairs
from model.data.text import DataError, iterate_lines

logger = logging.getLogger(__name__)

WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
SYNONYM = re.compile(r";(?![^(\[{]*[)\]}])")
"""A semicolon that is not inside of brackets."""
ABBREVIATION = re.compile(r"(?<![^\s;])/([^/;]+)(?:;[^/]*)?/(?![^\s;])")
REMARK = re.compile(r"\{[^}]*\}|\[[^]]*\]|<[^>]*>|\([^()]*\)|" + ABBREVIATION.pattern)
LABEL = re.compile(r"\[([^]]*)\]")
NOT_TEXT = re.compile(r"[][{}<>|~()=/+]|\.\.\.|…")
"""What is left of remarks that were not understood."""
NOT_ALTERNATIVES = re.compile(r" / |\d/|/\d")
"""Longer than a word, or figures."""
SENTENCE = re.compile(r"""[^\W\d_a-zß-ÿ].*\s.*[.!?]["“”']?""")
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
"""Labels of words that are left out where others of the same meaning stand beside them."""
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
"""What dictionaries shorten."""
MOST_SYNONYMS = 4
KNOWN = 15
"""Occurrences in the text from which on a word is known."""
PHRASE = 3
"""Words from which on a phrase is kept, though each of them is known."""
Known = tuple[frozenset[str], frozenset[str]]
"""For each language, the words that are frequent in the text, in lower case."""


class Entry(NamedTuple):
    """What means the same in both languages: the most usual first, an abbreviation, in slashes, last."""

    first: list[str]
    second: list[str]


def main(arguments: list[str] | None = None) -> int:
    """Write the corpora; returns the exit status."""
    parser = derived.parser("model.augment.dictionary", __doc__)
    parser.add_argument("--dictionary", type=Path, required=True, metavar="FILE", help="UTF-8")
    parser.add_argument("--languages", nargs=2, required=True, metavar="CODE")
    parser.add_argument(
        "--without",
        nargs="+",
        default=[],
        metavar="LABEL",
        help="leave out entries with one of these labels, such as bot. chem.",
    )
    options = parser.parse_args(arguments)
    languages = options.languages[0], options.languages[1]
    try:
        known = _known_words(options.data, languages)
        entries = read_entries(options.dictionary, frozenset(options.without))
        corpora = divide(entries, languages, known)
        options.out.mkdir(parents=True, exist_ok=True)
        for name, pairs in corpora.items():
            write_pairs(pairs, [options.out / f"train.{name}.{code}" for code in languages])
            print(f"{name}: {len(pairs):,} pairs")
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def read_entries(path: Path, without: frozenset[str] = frozenset()) -> Iterator[Entry]:
    """All forms and examples of a dictionary, but those of entries with one of these labels.

    Lines whose sides have not the same number of them are left out, and how many these are is logged.

    Raises:
        DataError: the file is not usable, or a line is no entry.
    """
    lines = tqdm(iterate_lines(path), desc=path.name, unit="line", unit_scale=True)
    uneven = 0
    for number, (line, _) in enumerate(lines, start=1):
        if line.startswith("#"):
            continue
        sides = [side.split(" | ") for side in line.replace("’", "'").split(" :: ")]
        if len(sides) != 2:
            raise DataError(
                f"{path}:{number}: has {len(sides) - 1} times ' :: ', not once: {line[:60]!r}"
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


def divide(entries: Iterable[Entry], languages: Pair, known: Known) -> dict[str, list[Pair]]:
    """The pairs of the three corpora, by name, none twice in one."""
    corpora: dict[str, dict[Pair, None]] = {"examples": {}}
    corpora |= {f"from-{code}": {} for code in languages}
    for entry in entries:
        for source, code in enumerate(languages):
            for first, second in _candidates(entry, source):
                plain = write_out(first, languages[0]), write_out(second, languages[1])
                for pair in unfold(plain):
                    if all(SENTENCE.fullmatch(side) for side in pair):
                        corpora["examples"][pair] = None
                    elif _teaches(pair[source], known[source]):
                        corpora[f"from-{code}"][pair] = None
    return {name: list(pairs) for name, pairs in corpora.items()}


def write_out(text: str, code: str) -> str:
    """Words without the remarks on them, and with what dictionaries shorten written out."""
    text = REMARK.sub(" ", text)
    for short, long in WRITTEN_OUT.get(code, {}).items():
        text = re.sub(rf"(?<!\w){re.escape(short)}", long, text)
    return " ".join(text.split())


def unfold(pair: Pair) -> Iterator[Pair]:
    """A pair for each of the alternatives that both sides have (`er/sie`, `he/she`), else the first ones.

    None where a side is empty, or not text alone.
    """
    if not all(pair) or any(NOT_ALTERNATIVES.search(side) for side in pair):
        return
    words = [[word.split("/") for word in side.split()] for side in pair]
    for place in range(min(max(map(len, side)) for side in words)):
        first, second = (
            " ".join(word[min(place, len(word) - 1)] for word in side) for side in words
        )
        if not NOT_TEXT.search(f"{first} {second}"):
            yield first, second


def _usual(form: str) -> list[str]:
    """One side of an entry: a few synonyms, none that is little used, then the first abbreviation."""
    synonyms = [" ".join(one.split()) for one in SYNONYM.split(ABBREVIATION.sub("", form))]
    usual = [one for one in synonyms if UNUSUAL.isdisjoint(LABEL.findall(one))] or synonyms[:1]
    short = ABBREVIATION.search(form)
    return usual[:MOST_SYNONYMS] + ([short[0]] if short else [])


def _candidates(entry: Entry, source: int) -> Iterator[Pair]:
    """Everything of one side with the most usual of the other, and abbreviations with each other."""
    others = entry[1 - source]
    for words in entry[source]:
        other = others[0]
        if short := ABBREVIATION.fullmatch(words):
            other_short = ABBREVIATION.fullmatch(others[-1])
            words, other = short[1], other_short[1] if other_short else other
        yield (words, other) if source == 0 else (other, words)


def _teaches(text: str, known: frozenset[str]) -> bool:
    """Whether the source is a phrase, an abbreviation, or has a word that the text hardly has."""
    words = WORD.findall(text)
    return len(words) >= PHRASE or text.endswith(".") or not known.issuperset(map(str.lower, words))


def _known_words(data: Path, languages: Pair) -> Known:
    """The words that the text has often enough.

    Raises:
        DataError: the text is not usable.
    """
    counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    corpora = find_pairs(data, languages)
    pairs = chain.from_iterable(map(iterate_pairs, corpora.values()))
    for pair in tqdm(pairs, desc="words", unit="pair", unit_scale=True):
        for count, side in zip(counts, pair, strict=True):
            count.update(WORD.findall(side.lower()))
    first, second = (frozenset(word for word, n in count.items() if n >= KNOWN) for count in counts)
    return first, second


if __name__ == "__main__":
    sys.exit(main())
