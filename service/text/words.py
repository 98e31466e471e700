"""Words, and the alignment of a sentence's words with those of its translation."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

BLANKS = " \u00a0\u202f"
"""Spaces within a line."""
LINE_BREAKS = "\n\r\v\f\x85\u2028\u2029"
Span = tuple[int, int]
"""Begin and end, in characters."""

_UNREAD = "\x00-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u2581\ufeff\ufffd"
"""Characters that vocabularies ignore or read as spaces, so that no limit of tokens bounds their number."""
UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Letters of scripts that put no spaces between words, for a set of `re` or `regex`."""
# `regex`, because to `re` many combining vowels and accents are not letters
_LETTERS = rf"[^\W\u200c\u200d{UNSPACED}]+"
_KATAKANA = "[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f]+"
_JOINT = r"(?:['’\u200c\u200d-]|(?<=\p{Nd})[.,:](?=\p{Nd}))"
"""A mark within a word or number: 12.50."""
_WORD = regex.compile(
    rf"\p{{Sc}}?{_LETTERS}(?:{_JOINT}{_LETTERS})*(?:\p{{Sc}}(?!\w))?"  # also $5, 5€
    rf"|{_KATAKANA}"
    rf"|[{UNSPACED}]\p{{M}}*+"
    rf"|[^\w\s{_UNREAD}]"  # a mark or symbol
)
TOUCHING = f"{UNSPACED}\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
"""The same with Korean, whose particles directly follow words in other scripts."""
MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
"""Combining marks such as accents, for a set."""
_PLAIN_WORD = re.compile(r"\w+")
_WORDS = regex.compile(r"\w.*\w|\w", regex.DOTALL)
_NUMERALS = r"(?:x{0,3}(?:i[vx]|vi{0,3}|i{1,3})|x{1,3})"
ROMAN = f"(?:{_NUMERALS}|{_NUMERALS.upper()})"
"""A Roman numeral up to 39, in small letters or capitals, as in lists; a pattern."""
MAX_SEARCHED = 1_000
"""Limit for words that are searched in a text of any length."""
SAME_WORD = 0.5
"""Added to the attention between equal words, such as names, numbers and punctuation."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The alignment of a sentence's S words with the T words of its translation."""

    source: str
    target: str
    source_spans: list[Span]
    target_spans: list[Span]
    weights: NDArray[np.float32]
    """[T, S]: the attention of each target word to each source word; rows sum to 1."""
    is_guess: bool = False
    """Whether it is only based on the order of words, because there is no valid attention."""

    @property
    def source_words(self) -> list[str]:
        """The words of the sentence."""
        return [self.source[start:end] for start, end in self.source_spans]

    @property
    def target_words(self) -> list[str]:
        """The words of the translation."""
        return [self.target[start:end] for start, end in self.target_spans]

    def links(self) -> list[int]:
        """Return, for each target word, the index of the source word that it most likely translates."""
        if not self.source_spans:
            return [0] * len(self.target_spans)
        numbers: dict[str, int] = {}
        sources, targets = (
            np.array([numbers.setdefault(word.casefold(), len(numbers)) for word in words], int)
            for words in (self.source_words, self.target_words)
        )
        is_same = (targets[:, None] == sources).astype(np.float32)
        return [int(row.argmax()) for row in self.weights + SAME_WORD * is_same]

    def closest(
        self, sources: range, first: int, last: int, is_preferred: NDArray[np.bool_]
    ) -> int | None:
        """Return the target word, from `first` to before `last`, with the most attention to source words.

        A preferred word comes first, unless it has less than half of an even share of attention to them;
        `is_preferred` is [T]. None if no word attends to them.
        """
        attention = self.weights[first:last, sources.start : sources.stop].sum(axis=1)
        preferred = attention * is_preferred[first:last]
        even_share = len(sources) / len(self.source_spans)
        if preferred.size and preferred.max() >= even_share / 2:
            attention = preferred
        return first + int(attention.argmax()) if attention.any() else None


def word_spans(text: str, wholes: Iterable[Span] = ()) -> list[Span]:
    """Return the spans of words and punctuation; in scripts without spaces, of letters.

    Each of the `wholes`, which are in order, is one word, whatever it consists of.

    >>> word_spans("Wie geht's?"), word_spans("हिन्दी"), word_spans("你好")
    ([(0, 3), (4, 10), (10, 11)], [(0, 6)], [(0, 1), (1, 2)])
    >>> word_spans("in {a}.", [(3, 6)])
    [(0, 2), (3, 6), (6, 7)]
    """
    spans: list[Span] = []
    position = 0
    for whole in wholes:
        spans += [match.span() for match in _WORD.finditer(text, position, whole[0])]
        spans.append(whole)
        position = whole[1]
    return spans + [match.span() for match in _WORD.finditer(text, position)]


def words_of(text: str) -> tuple[str, str, str]:
    """Return what precedes the first word, the text from the first to the last word, and the rest.

    >>> words_of(", du hast ")
    (', ', 'du hast', ' ')
    """
    match = _WORDS.search(text)
    if match is None:
        return text, "", ""
    return text[: match.start()], match[0], text[match.end() :]


def align_words(
    source: str,
    target: str,
    source_pieces: Sequence[Span],
    target_pieces: Sequence[Span],
    weights: NDArray[np.float32],
    max_words: int | None = None,
    wholes: Sequence[Span] = (),
) -> Alignment:
    """Convert attention between pieces, [target pieces, source pieces], to attention between words.

    If a text has more than `max_words` words, groups of adjacent words are treated as one. So are the words
    in each of the target's `wholes`.
    """
    source_spans = _at_most(max_words, word_spans(source))
    target_spans = _at_most(max_words, word_spans(target, wholes))
    from_pieces = _membership(source_spans, source_pieces)  # [S, pieces]
    to_pieces = _membership(target_spans, target_pieces)
    words = to_pieces @ weights @ from_pieces.T
    sums = words.sum(axis=1, keepdims=True)
    uniform = np.full_like(words, 1 / max(1, len(source_spans)))
    words = np.divide(words, sums, out=uniform, where=sums > 0)
    return Alignment(source, target, source_spans, target_spans, words.astype(np.float32))


def without_empty_words(
    sources: Sequence[str], targets: Sequence[str], weights: NDArray[np.float32]
) -> tuple[list[str], list[str], NDArray[np.float32]]:
    """Return the words that are not blank, and the attention [T, S] between them.

    A blank word is part of the one before it, or of the first one: a source word is attended to as much as
    its parts together, a target word attends as its parts do on average.

    >>> without_empty_words(["a", "", "b"], ["", "c"], np.array([[1, 0, 0], [0, 0.5, 0.5]]))
    (['a', 'b'], ['c'], array([[0.75, 0.25]], dtype=float32))
    """
    source_starts, target_starts = _starts_of_groups(sources), _starts_of_groups(targets)
    sums = np.add.reduceat(np.add.reduceat(weights, source_starts, 1), target_starts, 0)
    sizes = np.diff(target_starts, append=len(targets))
    return (
        [word for word in sources if word.strip()],
        [word for word in targets if word.strip()],
        (sums / sizes[:, None]).astype(np.float32),
    )


def _starts_of_groups(words: Sequence[str]) -> NDArray[np.int64]:
    """Return the indices at which groups of one word and the blank ones beside it begin."""
    starts = np.array([index for index, word in enumerate(words) if word.strip()], np.int64)
    starts[:1] = 0
    return starts


def _at_most(max_words: int | None, spans: list[Span]) -> list[Span]:
    """Merge adjacent spans, so that at most `max_words` are left."""
    size = math.ceil(len(spans) / max_words) if max_words else 1
    groups = (spans[start : start + size] for start in range(0, len(spans), max(1, size)))
    return [(group[0][0], group[-1][1]) for group in groups]


def _membership(words: Sequence[Span], pieces: Sequence[Span]) -> NDArray[np.float32]:
    """Return [words, pieces]: 1 if they share a character, or if an empty piece (a byte) is in the word."""
    starts, ends = np.array(words, int).reshape(-1, 2).T[:, :, None]
    piece_starts, piece_ends = np.array(pieces, int).reshape(-1, 2).T
    shares: NDArray[np.bool_] = (piece_starts < ends) & (
        starts < np.maximum(piece_ends, piece_starts + 1)
    )
    return shares.astype(np.float32)


def absent(words: Iterable[str], text: str) -> set[str]:
    """Return the words that a text lacks, also within its words.

    Of those that are no words of it, only the first `MAX_SEARCHED` are searched within others.

    >>> sorted(absent(["Anna", "Bob", "Bonn"], "Annas Bonn"))
    ['Bob']
    """
    own = set(_PLAIN_WORD.findall(text))
    others = [word for word in dict.fromkeys(words) if word not in own]
    return {word for word in others[:MAX_SEARCHED] if word not in text} | {*others[MAX_SEARCHED:]}


def any_of(words: Iterable[str]) -> str:
    """Return a pattern for any of these words, which matches nothing if there are none."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"


def code_between(opening: str, closing: str) -> str:
    """Return a pattern of code between two patterns, without a `<` that may begin a tag."""
    return rf"{opening}(?:(?!{opening}|{closing}|<[a-zA-Z/!?])[\s\S])*+{closing}"
