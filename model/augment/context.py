"""`python -m model.augment.context DATA --dictionary FILE --usual DE EN --out OUT`: new words in sentences.

A model that has learnt a word by itself cannot yet use it in a sentence. If a German and an English sentence
contain a noun or an adjective of a dictionary and its translation, once each, both are replaced by words
that the text hardly has (after Fadaee et al., 2017). The new German word has the same gender and number, as
marked in the dictionary (`{m}`, `{f}`, `{n}`, `{pl}`), or the same ending. The results are grammatical, but
need not make sense: "Tom saß neben Maria auf der Terrasse" becomes "... auf der Lawine".

FILE is a dictionary as for `model.augment.dictionary`, with German first. DE and EN are lists of words, one
per line, most frequent first. Only these words are used; of several translations, the most frequent one is
chosen. Every corpus of DATA (`train.<code>` or `train.<name>.<code>`) gets two new ones, each for training
its own direction only: `train.context-de.<code>` (`train.<name>-context-de.<code>`) with new German words,
and `train.context-en.<code>` with new English ones.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from model.augment import derived, ding
from model.augment.derived import WORD, Known
from model.augment.ding import Entry, write_out
from model.data.pairs import TextPair, find_pairs
from model.data.text import DataError, iterate_lines

LANGUAGES = ("de", "en")
KIND = re.compile(r"\{(m|f|n|pl|adj)\}")
ENDINGS = ("", "e", "en", "er", "es", "em")
"""Inflectional endings of adjectives."""
WEAK = ("e", "ent", "ist", "and", "ant", "oge")
"""Endings of weak masculine nouns, whose form changes in all cases but the nominative."""
UNSTABLE = ("e", "el", "er")
"""Endings of adjectives that lose a letter when they are inflected."""
AS_A_VOWEL = re.compile(r"(?!uni|us[ei]|eu|one)[aeiou]|hono|hour|heir", re.IGNORECASE)
ARTICLE = re.compile(r"\b([Aa])n? $")
Ranks = tuple[Mapping[str, int], Mapping[str, int]]
"""For each language, words in lower case with their ranks in its list."""
Words = Mapping[str, Sequence[TextPair]]
"""German words with their translations, by kind."""


class Slot(NamedTuple):
    """A reading of a German word form, and the English words that confirm it."""

    kind: str
    ending: str
    english: frozenset[str]


def main(arguments: list[str] | None = None) -> int:
    """Write the new corpora and return the exit status."""
    parser = derived.parser("model.augment.context", __doc__)
    ding.add_arguments(parser)
    parser.add_argument(
        "--usual",
        type=Path,
        nargs=2,
        required=True,
        metavar=("DE", "EN"),
        help="lists of words, most frequent first",
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    options = parser.parse_args(arguments)
    try:
        ranks = _ranks(options.usual[0]), _ranks(options.usual[1])
        known = derived.known_words(options.data, LANGUAGES)
        entries = list(ding.read_entries(options.dictionary, frozenset(options.without)))
        corpora, slots = find_pairs(options.data, LANGUAGES), find_slots(entries)
        for source, code in enumerate(LANGUAGES):
            words = new_words(entries, source, known, ranks)
            exchange = Exchange(slots, words, options.seed)
            for line in derived.derive(
                corpora, LANGUAGES, options.out, f"context-{code}", exchange
            ):
                print(line)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def find_slots(entries: Iterable[Entry]) -> dict[str, list[Slot]]:
    """Return the readings of each German word form."""
    slots: dict[str, list[Slot]] = {}
    for entry in entries:
        english = frozenset(
            word for synonym in entry.second if WORD.fullmatch(word := write_out(synonym, "en"))
        )
        for synonym in entry.first if english else ():
            if kind := _kind(synonym):
                word = write_out(synonym, "de")
                for ending in ENDINGS if kind == "adj" else ("",):
                    slots.setdefault(word + ending, []).append(Slot(kind, ending, english))
    return slots


def new_words(entries: Iterable[Entry], source: int, known: Known, ranks: Ranks) -> Words:
    """Return common words of one language that are rare in the text, with their most common translations.

    `source` is the index of that language.
    """
    best: dict[tuple[str, str], tuple[int, TextPair]] = {}
    for entry in entries:
        for first, second in ding.candidates(entry, source):
            kind, pair = _kind(first), (write_out(first, "de"), write_out(second, "en"))
            if not kind or not WORD.fullmatch(pair[1]) or (kind != "adj" and pair[1][0].isupper()):
                continue
            lower = pair[0].lower(), pair[1].lower()
            if (
                lower[0] not in ranks[0]
                or lower[1] not in ranks[1]
                or lower[source] in known[source]
            ):
                continue
            ranked = (ranks[1 - source][lower[1 - source]], pair)
            best[kind, pair[source]] = min(ranked, best.get((kind, pair[source]), ranked))
    words: dict[str, list[TextPair]] = {}
    for (kind, _), (_, pair) in best.items():
        words.setdefault(kind, []).append(pair)
    return words


class Exchange:
    """Replaces a word and its translation in a pair; the draws are the same for the same seed."""

    def __init__(self, slots: Mapping[str, Sequence[Slot]], words: Words, seed: int) -> None:
        """`slots` determine which words can be replaced; their replacements are drawn from `words`."""
        self.slots, self.words = slots, words
        self._random = random.Random(seed)

    def __call__(self, pair: TextPair) -> TextPair | None:
        """Replace a word in a pair; return None if no word can be replaced or the one drawn does not fit."""
        replaceable = list(self._places(pair))
        if not replaceable:
            return None
        slot, german, english = self._random.choice(replaceable)
        word = self._random.choice(self.words[slot.kind])
        if not _agrees(slot, german[0], word[0]):
            return None
        text_before = ARTICLE.sub(
            r"\1n " if AS_A_VOWEL.match(word[1]) else r"\1 ", pair[1][: english.start()]
        )
        return (
            pair[0][: german.start()]
            + _cased(word[0] + slot.ending, german)
            + pair[0][german.end() :],
            text_before + _cased(word[1], english) + pair[1][english.end() :],
        )

    def _places(self, pair: TextPair) -> Iterator[tuple[Slot, re.Match[str], re.Match[str]]]:
        """Yield the German words that occur once and have exactly one translation in the pair."""
        german, english = (list(WORD.finditer(side)) for side in pair)
        counts = Counter(word[0] for word in german)
        for word in german:
            forms = _forms(word) if counts[word[0]] == 1 else ()
            for slot in (slot for form in forms for slot in self.slots.get(form, ())):
                translations = [
                    translation
                    for translation in english
                    if not slot.english.isdisjoint(_forms(translation))
                ]
                if slot.kind in self.words and len(translations) == 1:
                    yield slot, word, translations[0]
                    break


def _forms(word: re.Match[str]) -> tuple[str, ...]:
    """Return a word as written and, at the beginning of a sentence, also in lower case."""
    return (word[0],) if word.start() else (word[0], word[0][0].lower() + word[0][1:])


def _kind(word: str) -> str | None:
    """Return the kind of a German entry; None unless it is one word of one kind with predictable forms."""
    kinds, text = KIND.findall(word), write_out(word, "de")
    if len(kinds) != 1 or not WORD.fullmatch(text):
        return None
    [kind] = kinds
    if text[0].isupper() == (kind == "adj"):
        return None
    if (kind == "m" and text.endswith(WEAK)) or (kind == "adj" and text.endswith(UNSTABLE)):
        return None
    return str(kind)


def _agrees(slot: Slot, old_word: str, new_word: str) -> bool:
    """Check whether a German noun fits the case of the old one: dative plurals end in n (or s)."""
    return slot.kind != "pl" or old_word[-1] not in "ns" or new_word[-1] in "ns"


def _cased(word: str, match: re.Match[str]) -> str:
    return word[0].upper() + word[1:] if match.start() == 0 else word


def _ranks(path: Path) -> dict[str, int]:
    """Read the rank of each word from a list.

    Raises:
        DataError: the list is unusable.
    """
    return {line.strip().lower(): rank for rank, (line, _) in enumerate(iterate_lines(path))}


if __name__ == "__main__":
    sys.exit(main())
