"""What the model wrote for the sentences of a request, and how it becomes their finished translations."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np

from service.engine.types import FinishReason
from service.errors import quoted
from service.text.sentence import Sentence
from service.translation.types import (
    NOT_KEPT,
    Recovery,
    TranslatedSentence,
    WordAlignment,
)

Kind = TypeVar("Kind")
MAX_WORD_PAIRS = 1_000_000
"""Limit for the words of a sentence times those of its translation, and for the sum of these in an answer.

512 x 1,024 tokens are half as many, but in scripts without spaces, a token may be several words.
"""
_WORST_LAST: tuple[Recovery | None, ...] = (
    "memory",
    None,
    "repetition",
    "protected",
    "pieces",
)


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence, or a clause of one, and its translations, best first."""

    sentence: Sentence
    texts: tuple[str, ...]
    """As the model wrote them: with stand-ins, and without tags."""
    scores: tuple[float, ...]
    ids: tuple[tuple[int, ...], ...] = ()
    """Those of each text, if it was not put together from several."""
    finish_reason: FinishReason = FinishReason.END
    recovery: Recovery | None = None
    rejected: str = ""
    """If the source was copied, the best translation, in which something was lost."""
    cause: str = NOT_KEPT
    """If the source was copied, why."""
    targets: tuple[str, ...] = ()
    """The texts as a reader sees them, without tags."""
    written: tuple[str, ...] = ()
    """The texts as they are written in the text's format, with their tags."""
    alignment: WordAlignment | None = None
    """That of the best translation, if it is wanted and known."""

    @classmethod
    def copied(cls, sentence: Sentence, score: float = 0.0, rejected: str = "") -> Self:
        """Return a part of which no translation was found."""
        return cls(sentence, (sentence.text,), (score,), recovery="copied", rejected=rejected)

    @property
    def is_copied(self) -> bool:
        """Whether no translation was found."""
        return self.recovery == "copied"

    def restored(self) -> Self:
        """Return the part with its translations for readers, whose tags still need an alignment."""
        runs = [self.sentence.translated(text, None) for text in self.texts]
        targets = tuple(run.with_markup().text for run in runs)
        return replace(self, targets=targets, written=tuple(run.written() for run in runs))


@dataclass(frozen=True, slots=True)
class Decoded:
    """A sentence of a request."""

    source: str
    """The sentence in the text, with its markup."""
    parts: tuple[Part, ...]
    """Its clauses, if they were recovered one by one; otherwise, itself."""
    joints: tuple[str, ...] = ("",)
    """What follows each part: a space or nothing."""

    @classmethod
    def of(cls, sentence: Sentence, parts: Sequence[Part]) -> Self:
        """Return a sentence, given its parts, whose translations are made those of clauses and restored."""
        joints: tuple[str, ...] = ("",)
        if len(parts) > 1:
            sources = [part.sentence.text for part in parts]
            ranks = [
                sentence.pipeline.clauses.fitted(
                    sources, [ranked(part.texts, rank) for part in parts]
                )
                for rank in range(max(len(part.texts) for part in parts))
            ]
            joints = tuple(blank for _, blank in ranks[0])
            texts = ([text for text, _ in of_part] for of_part in zip(*ranks, strict=True))
            parts = [
                part if part.is_copied else replace(part, texts=tuple(own[: len(part.texts)]))
                for part, own in zip(parts, texts, strict=True)
            ]
        return cls(sentence.as_written, tuple(part.restored() for part in parts), joints)

    def finished(self) -> TranslatedSentence:
        """Return the sentence's translation: the n-th best one consists of its parts' n-th best ones."""
        parts = self.parts
        ranks = range(max(len(part.texts) for part in parts))
        is_cut = any(part.finish_reason is FinishReason.LENGTH for part in parts)
        return TranslatedSentence(
            self.source,
            tuple(self._joined([ranked(part.targets, rank) for part in parts]) for rank in ranks),
            tuple(sum(ranked(part.scores, rank) for part in parts) for rank in ranks),
            FinishReason.LENGTH if is_cut else FinishReason.END,
            self._recovery,
            self._problem,
            tuple(self._joined(self._written(rank)) for rank in ranks),
            self._alignment,
        )

    def _joined(self, texts: Iterable[str]) -> str:
        pairs = zip(texts, self.joints, strict=True)
        return "".join([piece for pair in pairs for piece in pair if piece])

    def _written(self, rank: int) -> list[str]:
        """Return each part as it is written, with the tags that enclose all of it if it is a clause."""
        texts = [ranked(part.written, rank) for part in self.parts]
        if len(texts) == 1:
            return texts
        around = (part.sentence.around for part in self.parts)
        return [
            "".join((*before, text, *behind))
            for text, (before, behind) in zip(texts, around, strict=True)
        ]

    @property
    def _recovery(self) -> Recovery | None:
        if all(part.is_copied for part in self.parts):
            return "copied"
        found = ("pieces" if part.is_copied else part.recovery for part in self.parts)
        return max(found, key=_WORST_LAST.index)

    @property
    def _problem(self) -> str:
        if problem := next(
            (part.sentence.problem for part in self.parts if part.sentence.problem), ""
        ):
            return problem
        copied = [part for part in self.parts if part.is_copied]
        if not copied:
            return ""
        if len(copied) == len(self.parts):
            return copied[0].cause
        count = len(copied) - 1
        others = f" and {count} other part{'s' * (count > 1)}" if count else ""
        return f"{copied[0].cause}: {quoted(copied[0].sentence.as_written)}{others}"

    @property
    def _alignment(self) -> WordAlignment | None:
        """The alignments of all parts side by side; None if one is not known, or if it would be too large."""
        alignments = [part.alignment for part in self.parts if part.alignment is not None]
        if len(alignments) < len(self.parts):
            return None
        if len(alignments) == 1:
            return alignments[0]
        sources = [word for one in alignments for word in one.sources]
        targets = [word for one in alignments for word in one.targets]
        if len(sources) * len(targets) > MAX_WORD_PAIRS:
            return None
        weights = np.zeros((len(targets), len(sources)), np.float32)
        row = column = 0
        for one in alignments:
            num_rows, num_columns = one.weights.shape
            weights[row : row + num_rows, column : column + num_columns] = one.weights
            row, column = row + num_rows, column + num_columns
        return WordAlignment(sources, targets, weights)


def finished(sentences: Iterable[Decoded], check: Callable[[], None]) -> list[TranslatedSentence]:
    """Return the translations of all sentences; only the first `MAX_WORD_PAIRS` of alignments are kept."""
    translated, room = [], MAX_WORD_PAIRS
    for sentence in sentences:
        check()
        one = sentence.finished()
        size = one.alignment.weights.size if one.alignment else 0
        if size > room:
            one = replace(one, alignment=None)
        else:
            room -= size
        translated.append(one)
    return translated


def ranked(found: Sequence[Kind], rank: int) -> Kind:
    """Return the item of that rank, or the last one."""
    return found[min(rank, len(found) - 1)]
