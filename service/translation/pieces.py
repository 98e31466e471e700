"""Pieces of a sentence around what is protected, translated each by itself: the last resort."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from service.text.segmenter import has_letter
from service.text.sentence import Sentence
from service.text.words import TOUCHING, words_of
from service.translation.preparation import Preparation
from service.translation.searcher import Work

_STOPS = ".。।"
"""Which a model puts behind a piece, too."""
_TOUCHING = re.compile(f"[{TOUCHING}]")


@dataclass(frozen=True, slots=True)
class Pieces:
    """A sentence that is translated around what is protected."""

    sentence: Sentence
    pieces: list[str]
    """Every second one is a stand-in."""
    places: list[int]
    """Of the pieces that are translated."""
    cores: list[str]
    """What is translated of each."""
    work: list[Work]

    @classmethod
    def of(cls, sentence: Sentence, request: Preparation) -> Self:
        """What is asked of the engine for each piece with a letter."""
        pieces = sentence.pieces
        places = [place for place in range(0, len(pieces), 2) if has_letter(pieces[place])]
        sentence, prefix = request.forced(sentence)
        longest = request.decoding.max_decoding_length
        work = []
        cores = [words_of(pieces[place])[1] for place in places]
        for core in cores:
            work.append(request.work(core, longest, prefix, num_hypotheses=1))
            prefix = ()
        return cls(sentence, pieces, places, cores, work)

    def joined(self, translations: Sequence[str]) -> str:
        """The sentence's translation, out of those of its pieces."""
        pieces = self.pieces.copy()
        for place, translation in zip(self.places, translations, strict=True):
            before, core, behind = words_of(pieces[place])
            begins = self.sentence.prefix if place == self.places[0] else ""
            text = piece(core, translation, begins)
            if place and not before:
                before = _between(core[0], text[0])
            if place < len(pieces) - 1 and not behind:
                behind = _between(core[-1], text[-1])
            pieces[place] = f"{before}{text}{behind}"
        return "".join(pieces)


def _between(source: str, translation: str) -> str:
    """A space where a letter that stood beside something protected becomes one of a script with spaces."""
    becomes_spaced = _TOUCHING.match(source) and not _TOUCHING.match(translation)
    return " " if becomes_spaced and translation.isalnum() else ""


def piece(source: str, translation: str, prefix: str = "") -> str:
    """The translation of a piece; the piece itself where that is empty or has a number of its own.

    It may have those of the prefix that it begins with.

    >>> piece("meet at half", "um 10:30."), piece("we meet", "wir treffen uns."), piece("hi", "你好。")
    ('meet at half', 'wir treffen uns', '你好')
    """
    numbers = map(str.isdecimal, translation.removeprefix(prefix))
    invents = any(numbers) and not any(map(str.isdecimal, source))
    return source if invents else translation.rstrip(_STOPS) or source
