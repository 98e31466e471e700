"""From sentences to translations: searched, decoded, and done again if something was lost."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from service.engine.types import FinishReason
from service.text.tokenizer import Tokenizers
from service.translation.offload import Check
from service.translation.pieces import Pieces
from service.translation.preparation import Preparation, Task
from service.translation.searcher import Found, Searcher, Work
from service.translation.types import Recovery, TranslatedSentence
from service.translation.unknown_words import UnknownWords

Kind = TypeVar("Kind")
Result = TypeVar("Result")
Attempt = TypeVar("Attempt", Task, Pieces)
MAX_PIECES = 2_000
"""Of a request's sentences, around what is protected: each is searched as a sentence is."""
Translated = dict[int, TranslatedSentence]
"""By place among the sentences of a request."""


class OffLoop(Protocol):
    """Does work on the CPU where it is in nobody's way."""

    def __call__(self, work: Callable[[Check], Result]) -> Awaitable[Result]:
        """Its result."""


class SentenceTranslator:
    """Translates the sentences of one request."""

    def __init__(
        self,
        searcher: Searcher,
        tokenizers: Tokenizers,
        unknown_words: UnknownWords,
        request: Preparation,
        deadline: float,
        off_loop: OffLoop,
    ) -> None:
        """Make ready for a request.

        Args:
            searcher: finds hypotheses.
            tokenizers: make texts of them.
            unknown_words: finds what their unknown tokens stand for.
            request: what the sentences are of.
            deadline: by the engine's clock, in seconds, when they are given up.
            off_loop: does the work on the CPU.
        """
        self._searcher, self._tokenizers = searcher, tokenizers
        self._unknown_words, self._request = unknown_words, request
        self._deadline, self._off_loop = deadline, off_loop

    async def translate(
        self,
        tasks: Sequence[Task],
        seconds_after: float = 0.0,
        tell: Callable[[Translated], None] = lambda _: None,
    ) -> Translated:
        """Translate all of them.

        What did not come through is done again: with all protected that can be, then in pieces around that.

        Args:
            tasks: the sentences.
            seconds_after: what other work behind the search should take; who has no time for that is refused.
            tell: is given those that are done since the last time, each of them once.

        Returns:
            All, by place.

        Raises:
            RefusedError, AbandonedError, EngineError: it was not done; see `service.errors`.
        """
        translated: Translated = {}
        lost: Translated = {}
        async with aclosing(self._search(tasks, seconds_after)) as search:
            async for found in search:
                decoded = await self._off_loop(partial(self._all_decoded, tasks, found))
                lost |= {at: one for at, one in decoded.items() if one.recovery == "copied"}
                done = {at: one for at, one in decoded.items() if at not in lost}
                translated |= done
                tell(done)
        if lost:
            protected = await self._with_protection(lost)
            left = {at: one for at, one in lost.items() if at not in protected}
            again = lost | protected | await self._in_pieces(left)
            translated |= again
            tell(again)
        return translated

    async def _search(
        self, attempts: Sequence[Attempt], seconds_after: float = 0.0
    ) -> AsyncGenerator[dict[int, list[Found]], None]:
        """What is found for the parts of each attempt, by its place, as soon as it has them all."""
        work = [part for one in attempts for part in one.work]
        owners = [number for number, one in enumerate(attempts) for _ in one.work]
        so_far: list[dict[int, Found]] = [{} for _ in attempts]
        async with aclosing(self._search_parts(work, seconds_after)) as parts:
            async for found in parts:
                for at, part in found.items():
                    so_far[owners[at]][at] = part
                whole = {
                    owner: [so_far[owner][at] for at in sorted(so_far[owner])]
                    for owner in sorted({owners[at] for at in found})
                    if len(so_far[owner]) == len(attempts[owner].work)
                }
                if whole:
                    yield whole

    async def _search_parts(
        self, work: Sequence[Work], seconds_after: float
    ) -> AsyncGenerator[dict[int, Found], None]:
        """What is found, by place, with what its unknown tokens stand for; of however many."""
        at_once = self._searcher.max_sentences
        for start in range(0, len(work) or 1, at_once):  # an engine may refuse even to do nothing
            chunk = work[start : start + at_once]
            search = self._searcher.search(chunk, self._deadline, seconds_after)
            async with aclosing(search):
                async for found in search:
                    looked_up = await self._unknown_words.looked_up(chunk, found, self._deadline)
                    yield {start + at: one for at, one in looked_up.items()}

    def _all_decoded(
        self, tasks: Sequence[Task], found: Mapping[int, list[Found]], check: Check
    ) -> Translated:
        """Those of the tasks whose clauses were found."""
        translated = {}
        for at, clauses in found.items():
            check()
            translated[at] = self._decoded(tasks[at], clauses)
        return translated

    def _decoded(self, task: Task, found: list[Found]) -> TranslatedSentence:
        """The texts of a sentence's hypotheses, those left out that are empty or in which something was lost.

        The n-th one of a sentence is made of the n-th best of its clauses.
        """
        sentence, kept, rejected = task.sentence, [], ""
        texts = self._texts(task.clauses, found)
        for rank in range(max(map(len, texts))):
            parts = [ranked(clause, rank) for clause in texts]
            text = sentence.pipeline.clauses.join(task.clauses, parts) if all(parts) else ""
            if text and sentence.came_through(text):
                kept.append((text, sum(ranked(one.hypotheses, rank).score for one in found)))
            rejected = rejected or text
        if not kept:
            score = sum(clause.hypotheses[0].score for clause in found)
            return TranslatedSentence(
                sentence, (sentence.text,), (score,), recovery="copied", rejected=rejected
            )
        targets, scores = zip(*kept, strict=True)
        is_cut = any(one.hypotheses[0].finish_reason is FinishReason.LENGTH for one in found)
        finish_reason = FinishReason.LENGTH if is_cut else FinishReason.END
        recovery: Recovery | None = "repetition" if any(one.is_repeated for one in found) else None
        return TranslatedSentence(sentence, targets, scores, finish_reason, recovery)

    def _texts(self, sources: Sequence[str], found: Sequence[Found]) -> list[list[str]]:
        """Of each of the sources, its hypotheses."""
        return [
            self._tokenizers.translations(source, [one.ids for one in hit.hypotheses], hit.attended)
            for source, hit in zip(sources, found, strict=True)
        ]

    async def _with_protection(self, lost: Translated) -> Translated:
        """Translate these again, with more protected; those that come through so."""
        request = self._request

        def prepare(one: TranslatedSentence) -> Task | None:
            sentence = one.sentence.with_more_protected(one.rejected)
            return request.task(sentence) if sentence else None

        def read(
            _: TranslatedSentence, task: Task, found: list[Found]
        ) -> TranslatedSentence | None:
            again = self._decoded(task, found)
            return None if again.recovery == "copied" else replace(again, recovery="protected")

        return await self._again(lost, prepare, read)

    async def _in_pieces(self, lost: Translated) -> Translated:
        """Translate the rest around what is protected, unless there are too many."""
        left = MAX_PIECES

        def prepare(one: TranslatedSentence) -> Pieces | None:
            nonlocal left
            sentence = one.sentence.in_pieces(one.rejected)
            if sentence is None or len(sentence.stand_ins) >= left:
                return None
            pieces = Pieces.of(sentence, self._request)
            left -= len(pieces.work)
            return pieces

        def read(one: TranslatedSentence, pieces: Pieces, found: list[Found]) -> TranslatedSentence:
            target = pieces.joined([texts[0] for texts in self._texts(pieces.cores, found)])
            return replace(one, sentence=pieces.sentence, targets=(target,), recovery="pieces")

        return await self._again(lost, prepare, read)

    async def _again(
        self,
        lost: Translated,
        prepare: Callable[[TranslatedSentence], Attempt | None],
        read: Callable[[TranslatedSentence, Attempt, list[Found]], TranslatedSentence | None],
    ) -> Translated:
        """What another attempt makes of those that did not come through, where it succeeds.

        `prepare` says what to search for, None if that is nothing; `read` makes a sentence of what is found.
        """

        def prepare_all(check: Check) -> dict[int, Attempt]:
            attempts = {}
            for at, one in lost.items():
                check()
                if (attempt := prepare(one)) is not None:
                    attempts[at] = attempt
            return attempts

        attempts = await self._off_loop(prepare_all) if lost else {}
        if not attempts:
            return {}
        found: dict[int, list[Found]] = {}
        async with aclosing(self._search(list(attempts.values()))) as search:
            async for some in search:
                found |= some

        def read_all(check: Check) -> Translated:
            translated = {}
            for number, (at, attempt) in enumerate(attempts.items()):
                check()
                one = read(lost[at], attempt, found.get(number, []))  # of nothing, nothing
                if one is not None:
                    translated[at] = one
            return translated

        return await self._off_loop(read_all)


def ranked(found: Sequence[Kind], rank: int) -> Kind:
    """The one of that rank, or the last."""
    return found[min(rank, len(found) - 1)]
