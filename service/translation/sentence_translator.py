"""Translates sentences: searches, decodes, and translates again those in which something was lost."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from service.engine.types import FinishReason, Work
from service.errors import TextTooLongError
from service.text.sentence import Sentence
from service.text.tokenizer import Tokenizers
from service.translation.offload import Check
from service.translation.pieces import PiecewiseSentence
from service.translation.preparation import Preparation, Task
from service.translation.searcher import Found, Searcher
from service.translation.types import TOO_LONG, Recovery, TranslatedSentence
from service.translation.unknown_words import UnknownWords

Kind = TypeVar("Kind")
Result = TypeVar("Result")
Attempt = TypeVar("Attempt", Task, PiecewiseSentence)
MAX_PIECES = 2_000
"""Limit per request for sentences that are translated in pieces; each piece costs a search."""
RETRY_EFFORT = 20
"""CPU time of preparing another attempt and reading its result, in that of preparing the first one."""
Translated = dict[int, TranslatedSentence]
"""Sentences by their index among those of a request."""


class OffLoop(Protocol):
    """Runs CPU work without blocking the event loop."""

    def __call__(self, work: Callable[[Check], Result], share: float, /) -> Awaitable[Result]:
        """Run the work for a share of the text, and return its result; retries may take more than 1."""


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
        """Prepare one request.

        Args:
            searcher: finds hypotheses.
            tokenizers: decode them.
            unknown_words: finds the source tokens of their unknown tokens.
            request: prepares sentences again in which something was lost.
            deadline: by the engine's clock, in seconds.
            off_loop: runs CPU work.
        """
        self._searcher, self._tokenizers = searcher, tokenizers
        self._unknown_words, self._request = unknown_words, request
        self._deadline, self._off_loop = deadline, off_loop
        self._length = 1

    async def translate(
        self,
        tasks: Sequence[Task],
        seconds_after: float = 0.0,
        on_translated: Callable[[Translated], None] = lambda _: None,
        is_further: bool = False,
    ) -> Translated:
        """Translate all sentences.

        Those in which something was lost are translated again, with everything protected that can be. If
        something is lost again, they are translated in pieces around the protected parts.

        Args:
            tasks: the sentences.
            seconds_after: estimated duration of work after the search that must also meet the deadline.
            on_translated: called with the sentences translated since the last call; each occurs once.
            is_further: see `Engine.submit`.

        Returns:
            All sentences, by index in `tasks`.

        Raises:
            RefusedError, AbandonedError, EngineError: see `service.errors`.
        """
        self._length = _length(task.sentence for task in tasks)
        translated: Translated = {}
        lost: Translated = {}
        async with aclosing(self._search(tasks, seconds_after, is_further)) as search:
            async for found in search:
                decode = partial(self._all_decoded, tasks, found)
                share = _length(tasks[index].sentence for index in found) / self._length
                decoded = await self._off_loop(decode, share)
                lost |= _copied(decoded)
                done = {index: sentence for index, sentence in decoded.items() if index not in lost}
                translated |= done
                on_translated(done)
        if lost:
            recovered = await self._with_protection(lost)
            recovered |= await self._in_pieces(_copied(recovered))
            translated |= recovered
            on_translated(recovered)
        return translated

    async def _search(
        self, attempts: Sequence[Attempt], seconds_after: float = 0.0, is_further: bool = False
    ) -> AsyncGenerator[dict[int, list[Found]], None]:
        """Yield the results of attempts by index, each as soon as all its parts are found."""
        work = [search for attempt in attempts for search in attempt.work]
        owners = [index for index, attempt in enumerate(attempts) for _ in attempt.work]
        so_far: list[dict[int, Found]] = [{} for _ in attempts]
        async with aclosing(self._search_parts(work, seconds_after, is_further)) as results:
            async for found in results:
                for position, result in found.items():
                    so_far[owners[position]][position] = result
                complete = {
                    owner: [so_far[owner][position] for position in sorted(so_far[owner])]
                    for owner in sorted({owners[position] for position in found})
                    if len(so_far[owner]) == len(attempts[owner].work)
                }
                if complete:
                    yield complete

    async def _search_parts(
        self, work: Sequence[Work], seconds_after: float, is_further: bool
    ) -> AsyncGenerator[Mapping[int, Found], None]:
        """Yield the results of searches by index, with the sources of unknown tokens."""
        search = self._searcher.search(work, self._deadline, seconds_after, is_further)
        async with aclosing(search):
            async for found in search:
                yield await self._unknown_words.looked_up(work, found, self._deadline)

    def _all_decoded(
        self, tasks: Sequence[Task], found: Mapping[int, list[Found]], check: Check
    ) -> Translated:
        """Return the translations of the tasks in `found`, by index."""
        translated = {}
        for index, clauses in found.items():
            check()
            translated[index] = self._decoded(tasks[index], clauses)
        return translated

    def _decoded(self, task: Task, found: list[Found]) -> TranslatedSentence:
        """Return a sentence with its translations, except those that are empty or lost something.

        Its n-th best translation consists of the n-th best ones of its clauses. If all are excluded, the
        source is copied.
        """
        sentence, accepted, rejected = task.sentence, [], ""
        texts = self._texts(task.clauses, found)
        for rank in range(max(map(len, texts))):
            translated_clauses = [ranked(clause, rank) for clause in texts]
            text = ""
            if all(translated_clauses):
                text = sentence.pipeline.clauses.join(task.clauses, translated_clauses)
            if text and sentence.came_through(text):
                score = sum(ranked(result.hypotheses, rank).score for result in found)
                accepted.append((text, score))
            rejected = rejected or text
        if not accepted:
            score = sum(clause.hypotheses[0].score for clause in found)
            return TranslatedSentence(
                sentence, (sentence.text,), (score,), recovery="copied", rejected=rejected
            )
        targets, scores = zip(*accepted, strict=True)
        is_cut = any(result.hypotheses[0].finish_reason is FinishReason.LENGTH for result in found)
        finish_reason = FinishReason.LENGTH if is_cut else FinishReason.END
        is_repeated = any(result.is_repeated for result in found)
        recovery: Recovery | None = "repetition" if is_repeated else None
        return TranslatedSentence(sentence, targets, scores, finish_reason, recovery)

    def _texts(self, sources: Sequence[str], found: Sequence[Found]) -> list[list[str]]:
        """Return the texts of each source's hypotheses."""
        return [
            self._tokenizers.translations(
                source, [hypothesis.ids for hypothesis in result.hypotheses], result.attended
            )
            for source, result in zip(sources, found, strict=True)
        ]

    async def _with_protection(self, lost: Translated) -> Translated:
        """Translate sentences again, with more protected parts; see `_again`."""
        request = self._request

        def prepare(sentence: TranslatedSentence) -> Task | None:
            protected = sentence.sentence.with_more_protected(sentence.rejected)
            return request.task(protected) if protected else None

        def read(
            _: TranslatedSentence, task: Task, found: list[Found]
        ) -> TranslatedSentence | None:
            translated = self._decoded(task, found)
            if translated.recovery == "copied":
                return None
            return replace(translated, recovery="protected")

        return await self._again(lost, prepare, read)

    async def _in_pieces(self, lost: Translated) -> Translated:
        """Translate sentences in pieces around their protected parts, up to MAX_PIECES; see `_again`."""
        remaining = MAX_PIECES

        def prepare(sentence: TranslatedSentence) -> PiecewiseSentence | None:
            nonlocal remaining
            split_sentence = sentence.sentence.in_pieces(sentence.rejected)
            if split_sentence is None or len(split_sentence.stand_ins) >= remaining:
                return None
            pieces = PiecewiseSentence.of(split_sentence, self._request)
            remaining -= len(pieces.work)
            return pieces

        def read(
            sentence: TranslatedSentence, pieces: PiecewiseSentence, found: list[Found]
        ) -> TranslatedSentence:
            target, left = pieces.joined([texts[0] for texts in self._texts(pieces.cores, found)])
            whole = replace(pieces.sentence, problem=pieces.sentence.problem or left)
            return replace(sentence, sentence=whole, targets=(target,), recovery="pieces")

        return await self._again(lost, prepare, read)

    async def _again(
        self,
        lost: Translated,
        prepare: Callable[[TranslatedSentence], Attempt | None],
        read: Callable[[TranslatedSentence, Attempt, list[Found]], TranslatedSentence | None],
    ) -> Translated:
        """Translate sentences again, and return all: those for which this fails remain copied, and say why.

        `prepare` returns the searches for a sentence, or None to skip it. `read` returns a sentence with its
        translation, or None if the attempt failed.
        """
        again = dict(lost)

        def prepare_all(check: Check) -> dict[int, Attempt]:
            attempts = {}
            for index, sentence in lost.items():
                check()
                try:
                    attempt = prepare(sentence)
                except TextTooLongError:  # a part between stand-ins is not cut into clauses
                    again[index] = replace(sentence, cause=TOO_LONG)
                    continue
                if attempt is not None:
                    attempts[index] = attempt
            return attempts

        share = RETRY_EFFORT * _length(one.sentence for one in lost.values()) / self._length
        attempts = await self._off_loop(prepare_all, share) if lost else {}
        if not attempts:
            return again
        found: dict[int, list[Found]] = {}
        async with aclosing(self._search(list(attempts.values()), is_further=True)) as search:
            async for results in search:
                found |= results

        def read_all(check: Check) -> Translated:
            translated = {}
            for position, (index, attempt) in enumerate(attempts.items()):
                check()
                # an attempt without searches has found nothing
                sentence = read(lost[index], attempt, found.get(position, []))
                if sentence is not None:
                    translated[index] = sentence
            return translated

        return again | await self._off_loop(read_all, share)


def _copied(sentences: Translated) -> Translated:
    """Return those sentences of which no translation was found."""
    return {
        index: sentence for index, sentence in sentences.items() if sentence.recovery == "copied"
    }


def ranked(found: Sequence[Kind], rank: int) -> Kind:
    """Return the item of that rank, or the last one."""
    return found[min(rank, len(found) - 1)]


def _length(sentences: Iterable[Sentence]) -> int:
    """Return the number of characters of sentences, at least 1."""
    return sum(len(sentence.text) for sentence in sentences) or 1
