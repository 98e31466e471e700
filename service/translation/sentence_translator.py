"""Translates sentences: searches, decodes, and translates again those in which something was lost."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Protocol, TypeVar

from service.engine.types import FinishReason, Work
from service.errors import TextTooLongError
from service.text.sentence import Sentence
from service.text.tokenizer import Tokenizers
from service.translation.decoded import Decoded, Part, ranked
from service.translation.offload import Check
from service.translation.pieces import PiecewiseSentence
from service.translation.preparation import Preparation, Task
from service.translation.searcher import Found, Searcher
from service.translation.types import TOO_LONG, Recovery, TranslatedSentence
from service.translation.unknown_words import UnknownWords

Result = TypeVar("Result")
Attempt = TypeVar("Attempt", Task, PiecewiseSentence)
MAX_PIECES = 2_000
"""Limit per request for sentences that are translated in pieces; each piece costs a search."""
RETRY_EFFORT = 20
"""CPU time of preparing another attempt and reading its result, in that of preparing the first one."""
Translated = dict[int, TranslatedSentence]
"""Sentences by their index among those of a request."""
Parts = dict[tuple[int, int], Part]
"""The parts of sentences, by the index of the sentence and that of the part in it."""


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
        self._known: dict[Work, Found] = {}  # of sentences in which something was lost

    async def translate(
        self,
        tasks: Sequence[Task],
        seconds_after: float = 0.0,
        on_translated: Callable[[Translated], None] | None = None,
        is_further: bool = False,
    ) -> dict[int, Decoded]:
        """Translate all sentences.

        Where something was lost, the sentence is translated again, or only that clause of it, with everything
        protected that can be. If something is lost again, it is translated in pieces around the protected
        parts.

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
        decoded: dict[int, Decoded] = {}
        lost: dict[int, Part] = {}

        def decode(found: Mapping[int, list[Found]], check: Check) -> dict[int, Decoded]:
            done = {}
            for index, results in found.items():
                check()
                part = self._decoded(tasks[index], results)
                if part.is_copied:
                    lost[index] = part
                    self._known |= zip(tasks[index].work, results, strict=True)
                else:
                    done[index] = Decoded.of(tasks[index].sentence, [part])
            return done

        def report(done: dict[int, Decoded]) -> None:
            decoded.update(done)
            if on_translated is not None:
                on_translated({index: one.finished() for index, one in done.items()})

        async with aclosing(self._search(tasks, seconds_after, is_further)) as search:
            async for found in search:
                share = _length(tasks[index].sentence for index in found) / self._length
                report(await self._off_loop(partial(decode, found), share))
        if lost:
            report(await self._recovered(tasks, lost))
        return decoded

    async def _recovered(
        self, tasks: Sequence[Task], lost: Mapping[int, Part]
    ) -> dict[int, Decoded]:
        """Translate sentences again in which something was lost, clause by clause if they were cut.

        What cannot be translated remains copied.
        """
        share = RETRY_EFFORT * _length(part.sentence for part in lost.values()) / self._length

        def cut(check: Check) -> tuple[Parts, Parts]:
            """Return the sentences that are one part, and the clauses of the others."""
            wholes: Parts = {}
            clauses: Parts = {}
            for index, part in lost.items():
                check()
                found = part.sentence.in_clauses() if len(tasks[index].work) > 1 else []
                clauses |= {(index, at): Part.copied(clause) for at, clause in enumerate(found)}
                if not found:
                    wholes[index, 0] = part
            return wholes, clauses

        wholes, clauses = await self._off_loop(cut, share)
        parts = wholes | await self._one_by_one(clauses)
        parts |= await self._with_protection(_copied(parts))
        parts |= await self._in_pieces(_copied(parts))

        def restore(check: Check) -> dict[int, Decoded]:
            groups: dict[int, list[Part]] = {index: [] for index in lost}
            for (index, _), part in sorted(parts.items(), key=itemgetter(0)):
                groups[index].append(part)
            recovered = {}
            for index, group in groups.items():
                check()
                recovered[index] = Decoded.of(tasks[index].sentence, group)
            return recovered

        return await self._off_loop(restore, share)

    async def _search(
        self, attempts: Sequence[Attempt], seconds_after: float = 0.0, is_further: bool = False
    ) -> AsyncGenerator[dict[int, list[Found]], None]:
        """Yield the results of attempts by index, each as soon as all its parts are found."""
        work = [search for attempt in attempts for search in attempt.work]
        owners = [index for index, attempt in enumerate(attempts) for _ in attempt.work]
        so_far: list[dict[int, Found]] = [{} for _ in attempts]
        idle = [index for index, attempt in enumerate(attempts) if not attempt.work]
        if idle:
            yield {index: [] for index in idle}
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
        known = {index: self._known[one] for index, one in enumerate(work) if one in self._known}
        if known:
            yield known
        missing = [index for index in range(len(work)) if index not in known]
        new = [work[index] for index in missing]
        search = self._searcher.search(new, self._deadline, seconds_after, is_further)
        async with aclosing(search):
            async for found in search:
                looked_up = await self._unknown_words.looked_up(new, found, self._deadline)
                yield {missing[position]: result for position, result in looked_up.items()}

    def _decoded(self, task: Task, found: list[Found]) -> Part:
        """Return a sentence with its translations, except those that are empty or lost something.

        Its n-th best translation consists of the n-th best ones of its clauses. If all are excluded, the
        source is copied. What is remembered is better than all of them, and certain.
        """
        sentence, rejected = task.sentence, ""
        accepted: list[tuple[str, float, tuple[int, ...]]] = []
        if task.remembered is not None:
            accepted.append((task.remembered, 0.0, ()))
        of_clauses = self._texts(task.clauses, found)
        for rank in range(max(map(len, of_clauses), default=0)):
            translated_clauses = [ranked(texts, rank) for texts in of_clauses]
            text = ""
            if all(translated_clauses):
                text = sentence.pipeline.clauses.join(task.clauses, translated_clauses)
            if text and text != task.remembered and sentence.came_through(text):
                score = sum(ranked(result.hypotheses, rank).score for result in found)
                accepted.append((text, score, ranked(found[0].hypotheses, rank).ids))
            rejected = rejected or text
        if not accepted:
            score = sum(clause.hypotheses[0].score for clause in found)
            return Part.copied(sentence, score, rejected)
        texts, scores, ids = zip(*accepted, strict=True)
        if task.remembered is not None:
            return Part(sentence, texts, scores, recovery="memory")
        is_cut = any(result.hypotheses[0].finish_reason is FinishReason.LENGTH for result in found)
        finish_reason = FinishReason.LENGTH if is_cut else FinishReason.END
        is_repeated = any(result.is_repeated for result in found)
        recovery: Recovery | None = "repetition" if is_repeated else None
        return Part(
            sentence, texts, scores, ids if len(found) == 1 else (), finish_reason, recovery
        )

    def _texts(self, sources: Sequence[str], found: Sequence[Found]) -> list[list[str]]:
        """Return the texts of each source's hypotheses."""
        return [
            self._tokenizers.translations(
                source, [hypothesis.ids for hypothesis in result.hypotheses], result.attended
            )
            for source, result in zip(sources, found, strict=True)
        ]

    async def _one_by_one(self, clauses: Parts) -> Parts:
        """Translate clauses like sentences; see `_again`."""

        def prepare(part: Part) -> Task:
            return self._request.task(part.sentence)

        def read(_: Part, task: Task, found: list[Found]) -> Part:
            return self._decoded(task, found)

        return await self._again(clauses, prepare, read)

    async def _with_protection(self, lost: Parts) -> Parts:
        """Translate sentences again, with more protected parts; see `_again`."""
        request = self._request

        def prepare(part: Part) -> Task | None:
            protected = part.sentence.with_more_protected(part.rejected)
            return request.task(protected) if protected else None

        def read(part: Part, task: Task, found: list[Found]) -> Part:
            again = self._decoded(task, found)
            return part if again.is_copied else replace(again, recovery="protected")

        return await self._again(lost, prepare, read)

    async def _in_pieces(self, lost: Parts) -> Parts:
        """Translate sentences in pieces around their protected parts, up to MAX_PIECES; see `_again`."""
        remaining = MAX_PIECES

        def prepare(part: Part) -> PiecewiseSentence | None:
            nonlocal remaining
            split_sentence = part.sentence.in_pieces(part.rejected)
            if split_sentence is None or len(split_sentence.stand_ins) >= remaining:
                return None
            pieces = PiecewiseSentence.of(split_sentence, self._request)
            remaining -= len(pieces.work)
            return pieces

        def read(part: Part, pieces: PiecewiseSentence, found: list[Found]) -> Part:
            text, left = pieces.joined([texts[0] for texts in self._texts(pieces.cores, found)])
            whole = replace(pieces.sentence, problem=pieces.sentence.problem or left)
            return replace(part, sentence=whole, texts=(text,), recovery="pieces")

        return await self._again(lost, prepare, read)

    async def _again(
        self,
        lost: Parts,
        prepare: Callable[[Part], Attempt | None],
        read: Callable[[Part, Attempt, list[Found]], Part],
    ) -> Parts:
        """Translate parts again, and return all: those for which this fails remain copied, and say why.

        `prepare` returns the searches for a part, or None to skip it. `read` returns the part with its
        translation, or still copied.
        """
        again = dict(lost)

        def prepare_all(check: Check) -> dict[tuple[int, int], Attempt]:
            attempts = {}
            for key, part in lost.items():
                check()
                try:
                    attempt = prepare(part)
                except TextTooLongError:  # a part between stand-ins is not cut into clauses
                    again[key] = replace(part, cause=TOO_LONG)
                    continue
                if attempt is not None:
                    attempts[key] = attempt
            return attempts

        share = RETRY_EFFORT * _length(part.sentence for part in lost.values()) / self._length
        attempts = await self._off_loop(prepare_all, share) if lost else {}
        if not attempts:
            return again
        found: dict[int, list[Found]] = {}
        async with aclosing(self._search(list(attempts.values()), is_further=True)) as search:
            async for results in search:
                found |= results

        def read_all(check: Check) -> Parts:
            translated = {}
            for position, (key, attempt) in enumerate(attempts.items()):
                check()
                translated[key] = read(lost[key], attempt, found[position])
            return translated

        return again | await self._off_loop(read_all, share)


def _copied(parts: Parts) -> Parts:
    """Return those parts of which no translation was found."""
    return {key: part for key, part in parts.items() if part.is_copied}


def _length(sentences: Iterable[Sentence]) -> int:
    """Return the number of characters of sentences, at least 1."""
    return sum(len(sentence.text) for sentence in sentences) or 1
