"""`python -m model.words DATA --languages de en --out OUT`: more pairs to learn from, with other words.

Of small text, a model learns rare words with the sentence that they stand in, and from it. Every corpus of
DATA (`train.<code>` or `train.<name>.<code>`) gets another, `train.words.<code>`
(`train.<name>-words.<code>`): its pairs with one or two words exchanged for others on both sides, rare ones
as likely as frequent ones (Fadaee et al., 2017). Sense is lost, grammar mostly is not: a word goes where the
text has it, somewhere, beside the same neighbours, in both languages.

Which word is whose translation is counted (`model.data.word_alignment`). A language that writes its nouns
with capitals, as German does, is to be named first. All text is kept in memory.
"""

import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from tqdm import tqdm

from model.data import derived
from model.data.derived import Pair, put
from model.data.text import DataError
from model.data.word_alignment import Link, align

TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
MOST_TOKENS = 40
"""Of a sentence; in longer ones, too many words may be each other's translation."""
LEAST_SEEN = 2
"""How often two words have to be each other's translation."""
LEAST_CHOICE = 2
"""Words that fit, besides the one that stands there."""
MOST_OF_A_PAIR = (1, 1, 2)
"""Drawn from: how many words of a pair are exchanged."""


class Limits(NamedTuple):
    """What a pair of words must keep to be exchanged."""

    most_first: int
    """Occurrences in the text: words more frequent than that have a grammar of their own."""
    most_second: int
    least_share: float
    """Of the occurrences of the first: how many have the second for a translation."""


NOUNS = Limits(2000, 2500, 0.4)
"""Written with a capital in the first language alone, as in German: what stands before them tells enough."""
OTHERS = Limits(800, 1200, 0.5)
"""What stands behind them counts, too."""
LEAST_SHARE_OF_SECOND = 0.05


class Sentence(NamedTuple):
    """One side of a pair, cut into words and marks."""

    tokens: list[str]
    spans: list[tuple[int, int]]

    def neighbours(self, place: int) -> tuple[str, str]:
        """What stands before a token, and behind it; nothing at the ends."""
        before = self.tokens[place - 1] if place else ""
        return before, self.tokens[place + 1] if place + 1 < len(self.tokens) else ""


def cut(text: str) -> Sentence:
    """Words, with what hyphens and apostrophes join, and every other mark alone."""
    found = list(TOKEN.finditer(text))
    return Sentence([one[0] for one in found], [one.span() for one in found])


class Aligned(NamedTuple):
    """A pair, cut and aligned."""

    first: Sentence
    second: Sentence
    links: list[Link]

    def linked(self) -> Iterator[tuple[Link, Pair, tuple[str, ...]]]:
        """Every link: its places, its words, and what stands before and behind the one and the other."""
        for link in self.links:
            one, other = self.first.tokens[link[0]], self.second.tokens[link[1]]
            around = self.first.neighbours(link[0]) + self.second.neighbours(link[1])
            yield link, (one, other), around


def align_text(pairs: Iterable[Pair]) -> dict[Pair, Aligned]:
    """Pairs that are short enough, each once, with what is whose translation."""
    cut_pairs = {}
    for pair in pairs:
        first, second = cut(pair[0]), cut(pair[1])
        if max(len(first.tokens), len(second.tokens)) <= MOST_TOKENS:
            cut_pairs[pair] = first, second
    links = align([(first.tokens, second.tokens) for first, second in cut_pairs.values()])
    return {
        pair: Aligned(first, second, found)
        for (pair, (first, second)), found in zip(cut_pairs.items(), links, strict=True)
    }


class Vocabulary:
    """Words that are each other's translation, and beside what they have been seen."""

    def __init__(self, text: Iterable[Aligned]) -> None:
        """Of an aligned text."""
        text = list(text)
        linked = Counter(words for one in text for _, words, _ in one.linked())
        firsts = Counter(chain.from_iterable(one.first.tokens for one in text))
        seconds = Counter(chain.from_iterable(one.second.tokens for one in text))
        self.words = {
            words
            for words, count in linked.items()
            if count >= LEAST_SEEN and _keeps(words, count, firsts[words[0]], seconds[words[1]])
        }
        self._seen: list[defaultdict[str, set[Pair]]] = [defaultdict(set) for _ in range(4)]
        """What has been seen behind, or before, a token: by place in `around`, and token."""
        for one in text:
            for _, words, around in one.linked():
                if words in self.words:
                    for seen, neighbour in zip(self._seen, around, strict=True):
                        seen[neighbour].add(words)
        self._fitting: dict[tuple[object, ...], list[Pair]] = {}

    def fitting(self, words: Pair, around: tuple[str, ...]) -> list[Pair]:
        """Others that have been seen beside the same neighbours and have the same form."""
        form = _form(words)
        places = (0, 2) if form[0] is NOUNS else (0, 1, 2, 3)
        key = form, *(around[place] for place in places)
        if key not in self._fitting:
            found = set.intersection(*(self._seen[place][around[place]] for place in places))
            self._fitting[key] = sorted(other for other in found if _form(other) == form)
        return [other for other in self._fitting[key] if other != words]


def _limits(words: Pair) -> Limits:
    return NOUNS if words[0][0].isupper() else OTHERS


def _form(words: Pair) -> tuple[Limits, str, bool]:
    """What words have in common whose grammar is the same: a guess, by how they begin and end."""
    limits = _limits(words)
    return limits, "" if limits is NOUNS else words[0][-2:], words[1].endswith("s")


def _keeps(words: Pair, count: int, of_first: int, of_second: int) -> bool:
    """Whether two words, so often each other's translation, may be exchanged; names and marks may not."""
    limits = _limits(words)
    return (
        all(WORD.fullmatch(word) for word in words)
        and len(words[0]) > 2
        and len(words[1]) > 1
        and not words[1][0].isupper()
        and of_first < limits.most_first
        and of_second < limits.most_second
        and count >= limits.least_share * of_first
        and count >= LEAST_SHARE_OF_SECOND * of_second
    )


class Exchange:
    """Exchanges words of the text for others of it; the same draws for the same seed."""

    def __init__(self, pairs: Iterable[Pair], seed: int) -> None:
        """Learn from all pairs which words are each other's translation, and where they stand."""
        self._text = align_text(pairs)
        self.vocabulary = Vocabulary(self._text.values())
        self._random = random.Random(seed)

    def __call__(self, pair: Pair) -> Pair | None:
        """The pair with a word or two exchanged; None if it has none for which there is a choice."""
        aligned = self._text.get(pair)
        spots = list(self._spots(aligned)) if aligned else []
        if not aligned or not spots:
            return None
        self._random.shuffle(spots)
        drawn = [
            (link, self._random.choice(choice))
            for link, choice in spots[: self._random.choice(MOST_OF_A_PAIR)]
        ]
        first = [(aligned.first.spans[link[0]], words[0]) for link, words in drawn]
        second = [(aligned.second.spans[link[1]], words[1]) for link, words in drawn]
        return put(pair[0], first), put(pair[1], second)

    def _spots(self, aligned: Aligned) -> Iterator[tuple[Link, list[Pair]]]:
        """Words that stand once in each side, not first, and what may take their places."""
        for link, words, around in aligned.linked():
            sides = zip((aligned.first, aligned.second), words, strict=True)
            if (
                all(link)
                and words in self.vocabulary.words
                and all(side.tokens.count(word) == 1 for side, word in sides)
            ):
                choice = self.vocabulary.fitting(words, around)
                if len(choice) >= LEAST_CHOICE:
                    yield link, choice


def main(arguments: list[str] | None = None) -> int:
    """Write the new corpora; returns the exit status."""
    parser = derived.parser("model.words", __doc__)
    parser.add_argument("--languages", nargs=2, required=True, metavar="CODE")
    options = parser.parse_args(arguments)
    languages = tuple(options.languages)
    try:
        corpora = derived.find_pairs(options.data, languages)
        text = chain.from_iterable(map(derived.iterate_pairs, corpora.values()))
        exchange = Exchange(tqdm(text, desc="align", unit="pair", unit_scale=True), options.seed)
        print(f"{len(exchange.vocabulary.words):,} words")
        for line in derived.derive(corpora, languages, options.out, "words", exchange):
            print(line)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
