"""A translation through a third language: two halves, of which the second begins while the first goes on.

The second half translates each sentence as soon as the first has it, and at last the whole text, read as it
would be by itself, from what was found: the result is that of two translations, one after the other.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from service.engine.types import FinishReason
from service.errors import AttendantError
from service.models.bundle import Direction
from service.text.run import Run
from service.text.sentence import Sentence
from service.translation.cache import SentenceCache
from service.translation.offload import Check
from service.translation.searcher import Searcher
from service.translation.translator import Translator
from service.translation.types import (
    PivotedSentence,
    SentenceResult,
    TranslatedSentence,
    Translation,
    TranslationOptions,
)

Result = TypeVar("Result")
MAX_AHEAD = 10_000
"""Sentences of a request that are searched for early and kept until they are asked for."""
WINDOW = 8
"""Sentences that are looked at for the next one that both halves have alike."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Sentences of the first half, and those of the second half that are made of them: mostly one each."""

    first: Sequence[TranslatedSentence]
    second: Sequence[TranslatedSentence]

    def sentence(self, language: str) -> PivotedSentence:
        """Both halves as one, through a language."""
        both = [*self.first, *self.second]
        is_cut = any(one.finish_reason is FinishReason.LENGTH for one in both)
        # what one half leaves as it is has no sentence there
        between = [one.target for one in self.first] or [one.source for one in self.second]
        source = " ".join([one.source for one in self.first] or between)
        target = " ".join([one.target for one in self.second] or between)
        return PivotedSentence(
            Sentence(source, stages=(Run(source),)),
            targets=(target,),
            scores=(sum(one.score for one in both),),
            finish_reason=FinishReason.LENGTH if is_cut else FinishReason.END,
            recovery=next((one.recovery for one in both if one.recovery), None),
            pivot=language,
            pivot_text=" ".join(between),
        )


class Lookahead:
    """Translates sentences of the second half by themselves, as the first half gives them out."""

    def __init__(
        self,
        translator: Translator,
        direction: Direction,
        options: TranslationOptions,
        deadline: float,
    ) -> None:
        """Of one request; `deadline` is by the clock of the translator's engine.

        Raises:
            InvalidRequestError: an option is not possible with this model.
        """
        own = translator.searcher
        self.searcher = (
            own if own.cache.capacity else Searcher(own.engine, SentenceCache(MAX_AHEAD))
        )
        """Knows what was found."""
        self._request = translator.preparation(direction, options)
        # only the first sentence of a text has a prefix
        self._further = translator.preparation(direction, replace(options, target_prefix=""))
        self._translator, self._deadline = translator, deadline

    async def translated(self, told: SentenceResult) -> Pair | None:
        """What is likely to become of a sentence of the first half; None where the whole text must tell."""
        first, request = told.translated, self._further if told.segment else self._request
        text = first.sentence.translated(first.targets[0], None).written()
        with suppress(AttendantError):  # told when the whole text has it
            _, tasks = request.take_apart([text])
            how = self.searcher, request, self._deadline, _at_once
            found = await self._translator.sentence_translator(*how).translate(tasks)
            return Pair([first], [found[at] for at in range(len(tasks))])
        return None


async def _at_once(work: Callable[[Check], Result]) -> Result:
    """The result of work on a single sentence."""
    return work(lambda: None)


def pairs(first: Sequence[TranslatedSentence], second: Sequence[TranslatedSentence]) -> list[Pair]:
    """Which sentences of a text's second half are made of which of the first."""
    targets = [one.target.split() for one in first]
    sources = [one.source.split() for one in second]
    at, to, found = 0, 0, list[Pair]()
    while at < len(first) or to < len(second):
        alike = [
            (more, others)
            for more, target in enumerate(targets[at : at + WINDOW])
            for others, source in enumerate(sources[to : to + WINDOW])
            if target == source
        ]
        if not alike:
            return [*found, Pair(first[at:], second[to:])]
        more, others = min(alike, key=sum)
        if more or others:
            found.append(Pair(first[at : at + more], second[to : to + others]))
        at, to = at + more + 1, to + others + 1
        found.append(Pair(first[at - 1 : at], second[to - 1 : to]))
    return found


def pivoted(text: str, first: Translation, second: Translation, language: str) -> Translation:
    """Both halves of a text as one translation through a language; the text itself where one has failed."""
    if problem := first.problem or second.problem:
        return Translation(text, (), (), problem=problem)
    sentences = [pair.sentence(language) for pair in pairs(first.sentences, second.sentences)]
    return Translation(second.text, second.alternatives, tuple(sentences))
