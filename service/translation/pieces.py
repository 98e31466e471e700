"""The last resort: translates the text between the protected parts of a sentence piece by piece."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from service.engine.types import Work
from service.errors import quoted
from service.text.segmenter import has_letter
from service.text.sentence import Sentence
from service.text.words import TOUCHING, words_of
from service.translation.preparation import Preparation

_STOPS = ".。।"
"""Full stops, which models add even after a piece of a sentence."""
_TOUCHING = re.compile(f"[{TOUCHING}]")


@dataclass(frozen=True, slots=True)
class PiecewiseSentence:
    """A sentence that is translated in pieces."""

    sentence: Sentence
    pieces: list[str]
    """Every second one is a stand-in."""
    places: list[int]
    """Indices of the pieces that are translated: those with a letter."""
    cores: list[str]
    """Those pieces, without the punctuation and spaces at their ends."""
    work: list[Work]
    """The search for each core."""

    @classmethod
    def of(cls, sentence: Sentence, request: Preparation) -> Self:
        """Split a sentence and prepare the searches for its pieces."""
        pieces = sentence.pieces
        indices = [index for index in range(0, len(pieces), 2) if has_letter(pieces[index])]
        sentence, prefix = request.forced(sentence)
        longest = request.decoding.max_decoding_length
        work = []
        cores = [words_of(pieces[index])[1] for index in indices]
        if indices[:1] != [0] or not pieces[0].startswith(cores[0]):
            prefix = ()  # it precedes what the sentence begins with
        for core in cores:
            work.append(request.work(core, longest, prefix, num_hypotheses=1))
            prefix = ()
        return cls(sentence, pieces, indices, cores, work)

    def joined(self, translations: Sequence[str]) -> tuple[str, str]:
        """Return the sentence's translation, given those of the cores; it begins with the prefix.

        Also return which core is left as it is, and why; "" if none is.
        """
        pieces, prefix, problem = self.pieces.copy(), self.sentence.prefix, ""
        for index, translation in zip(self.places, translations, strict=True):
            leading, core, trailing = words_of(pieces[index])
            text = piece(core, translation, prefix if index == self.places[0] else "")
            if text is None:
                problem = problem or f"no translation was found for {quoted(core)}"
                text = core
            if index and not leading:
                leading = _between(core[0], text[0])
            if index < len(pieces) - 1 and not trailing:
                trailing = _between(core[-1], text[-1])
            pieces[index] = f"{leading}{text}{trailing}"
        text = "".join(pieces)
        if not text.startswith(prefix):
            text = f"{prefix}{'' if _TOUCHING.match(prefix[-1]) else ' '}{text}"
        return text, problem


def _between(source: str, translation: str) -> str:
    """Return a space if the letter beside a stand-in needs none, but its translation, a letter, does."""
    becomes_spaced = _TOUCHING.match(source) and not _TOUCHING.match(translation)
    return " " if becomes_spaced and translation.isalnum() else ""


def piece(source: str, translation: str, prefix: str = "") -> str | None:
    """Return a piece's translation without a full stop; None if it is empty or adds a number.

    Numbers in the prefix are allowed.

    >>> piece("we meet", "wir treffen uns."), piece("hi", "你好。"), piece("meet at half", "um 10:30.")
    ('wir treffen uns', '你好', None)
    """
    behind = translation.removeprefix(prefix)
    invents = any(map(str.isdecimal, behind)) and not any(map(str.isdecimal, source))
    beginning = translation[: len(translation) - len(behind)]
    return None if invents else beginning + behind.rstrip(_STOPS) or None
