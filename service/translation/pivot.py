"""Translation through a third language, in two halves that overlap.

The second half translates sentences that the first half has finished while this one finishes others. At the
end, it translates the whole text, with a cache of those sentences, so the result is that of two translations
in succession.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from service.engine.types import FinishReason
from service.errors import AttendantError
from service.models.bundle import Direction
from service.translation.cache import SentenceCache
from service.translation.effort import effort_of
from service.translation.options import TranslationOptions
from service.translation.preparation import Preparation
from service.translation.searcher import Searcher
from service.translation.sentence_translator import Translated
from service.translation.streaming import together
from service.translation.translator import ModelTranslator
from service.translation.types import (
    PivotedSentence,
    SentenceResult,
    TranslatedSentence,
    Translation,
)

MAX_AHEAD = 10_000
"""Maximum sentences of a request that are translated early and kept."""
WINDOW = 8
"""Number of sentences that are searched for the next one that is the same in both halves."""


@dataclass(frozen=True, slots=True)
class MatchedSentences:
    """Sentences of the first half and the corresponding ones of the second half: usually one each."""

    first: Sequence[TranslatedSentence]
    second: Sequence[TranslatedSentence]

    def sentence(self, language: str) -> PivotedSentence:
        """Return both halves as one sentence; `language` is the pivot."""
        sentences = [*self.first, *self.second]
        is_cut = any(sentence.finish_reason is FinishReason.LENGTH for sentence in sentences)
        # text that a half leaves unchanged is not a sentence there
        pivot_texts = [sentence.target for sentence in self.first]
        if not pivot_texts:
            pivot_texts = [sentence.source for sentence in self.second]
        source = " ".join([sentence.source for sentence in self.first] or pivot_texts)
        target = " ".join([sentence.target for sentence in self.second] or pivot_texts)
        problem = next((sentence.problem for sentence in sentences if sentence.problem), "")
        recoveries = {sentence.recovery: None for sentence in sentences}
        if len(recoveries) > 1:  # one half was searched
            recoveries.pop("memory", None)
        return PivotedSentence(
            source,
            targets=(target,),
            scores=(sum(sentence.score for sentence in sentences),),
            finish_reason=FinishReason.LENGTH if is_cut else FinishReason.END,
            recovery=next(filter(None, recoveries), None),
            problem=problem,
            pivot=language,
            pivot_text=" ".join(pivot_texts),
        )


class Lookahead:
    """Translates sentences of the second half while the first half finishes others."""

    def __init__(
        self,
        translator: ModelTranslator,
        direction: Direction,
        options: TranslationOptions,
        deadline: float,
    ) -> None:
        """Prepare one request; `deadline` is by the clock of the translator's engine.

        Raises:
            InvalidRequestError: an option is not possible with this model.
        """
        own = translator.searcher
        self.searcher = (
            own if own.cache.capacity else Searcher(own.engine, SentenceCache(MAX_AHEAD))
        )
        """Its cache has the sentences translated so far."""
        self._request = translator.preparation(direction, options)
        # only the first sentence of a text has a prefix
        self._further = translator.preparation(direction, replace(options, target_prefix=""))
        self._translator, self._deadline = translator, deadline
        self._ranks = options.alternatives + 1

    async def translate(
        self,
        results: Sequence[SentenceResult],
        report: Callable[[SentenceResult, MatchedSentences], None],
    ) -> None:
        """Translate sentences of the first half early, and report each as soon as that is done.

        If this fails, nothing is reported. The translation of the whole text decides: it may split sentences
        differently.
        """
        first = [result for result in results if not result.segment]
        further = [result for result in results if result.segment]
        await together(
            [
                self._translate(request, group, report)
                for request, group in ((self._request, first), (self._further, further))
                if group
            ]
        )

    async def _translate(
        self,
        request: Preparation,
        results: Sequence[SentenceResult],
        report: Callable[[SentenceResult, MatchedSentences], None],
    ) -> None:
        halves = [result.translated for result in results]
        texts = [half.written[0] for half in halves]
        effort = effort_of(texts)
        deadline, translator = self._deadline, self._translator
        with suppress(AttendantError):  # the translation of the whole text reports the error
            documents, tasks = await translator.prepared(
                request, texts, effort, deadline, is_further=True
            )
            run = partial(translator.run, self._ranks * effort, deadline)
            sentences = translator.sentence_translator(self.searcher, request, deadline, run)
            owners = [text for text, one in enumerate(documents) for _ in one.sentences]
            parts: list[dict[int, TranslatedSentence]] = [{} for _ in documents]

            def take(translated: Translated) -> None:
                for index, sentence in translated.items():
                    text = owners[index]
                    parts[text][index] = sentence
                    if len(parts[text]) == len(documents[text].sentences):
                        second = [part for _, part in sorted(parts[text].items())]
                        report(results[text], MatchedSentences([halves[text]], second))

            await sentences.translate(tasks, on_translated=take, is_further=True)


def pairs(
    first: Sequence[TranslatedSentence], second: Sequence[TranslatedSentence]
) -> list[MatchedSentences]:
    """Match the sentences of a text's first half with those of its second half."""
    targets = [sentence.target.split() for sentence in first]
    sources = [sentence.source.split() for sentence in second]
    i, j, matched = 0, 0, list[MatchedSentences]()
    while i < len(first) or j < len(second):
        equal = [
            (num_first, num_second)
            for num_first, target in enumerate(targets[i : i + WINDOW])
            for num_second, source in enumerate(sources[j : j + WINDOW])
            if target == source
        ]
        if not equal:
            return [*matched, MatchedSentences(first[i:], second[j:])]
        num_first, num_second = min(equal, key=sum)
        if num_first or num_second:
            matched.append(
                MatchedSentences(
                    first[i : i + num_first],
                    second[j : j + num_second],
                )
            )
        i, j = i + num_first + 1, j + num_second + 1
        matched.append(MatchedSentences(first[i - 1 : i], second[j - 1 : j]))
    return matched


def pivoted(text: str, first: Translation, second: Translation, language: str) -> Translation:
    """Return both halves of a text as one translation through `language`, or the text if one has failed."""
    if error := first.error or second.error:
        return Translation(text, (), (), error=error)
    sentences = [pair.sentence(language) for pair in pairs(first.sentences, second.sentences)]
    return Translation(second.text, second.alternatives, tuple(sentences))
