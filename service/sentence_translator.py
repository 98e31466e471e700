"""From sentences to their translations: searched, decoded, and done again where something was lost."""

from collections.abc import Awaitable, Callable
from collections.abc import Sequence as Items
from dataclasses import replace
from typing import Protocol, TypeVar

from service.beside import Check
from service.preparation import Preparation, Task
from service.searcher import Finish, Found, Searcher, Work
from service.text.segmenter import has_letter
from service.text.tokenizer import Tokenizer
from service.text.words import words_of
from service.translation import TranslatedSentence

Kind = TypeVar("Kind")
Result = TypeVar("Result")
OnDone = Callable[[int, TranslatedSentence], None]


class Run(Protocol):
    """Does work on the CPU where it is in nobody's way."""

    def __call__(self, work: Callable[[Check], Result]) -> Awaitable[Result]:
        """Its result."""


class SentenceTranslator:
    """Translates the sentences of requests with one model."""

    def __init__(self, searcher: Searcher, target: Tokenizer) -> None:
        """`target` makes texts of what the searcher finds."""
        self._searcher, self._target = searcher, target

    async def translate(
        self,
        request: Preparation,
        tasks: Items[Task],
        deadline: float,
        run: Run,
        on_done: OnDone | None = None,
        seconds_after: float = 0.0,
    ) -> list[TranslatedSentence]:
        """Translate all of them.

        What did not come through is done again: with all protected that can be, then in pieces around that.

        Args:
            request: what they are sentences of.
            tasks: the sentences.
            deadline: when it is given up.
            run: where texts are made of what is found.
            on_done: told the place of a sentence, and it, as soon as it is done at the first attempt.
            seconds_after: what other work behind the search should take; who has no time for that is refused.

        Raises:
            RefusedError, AbandonedError, EngineError: it was not done; see `service.errors`.
        """

        def on_found(at: int, found: list[Found]) -> None:
            assert on_done is not None
            decoded = self._decoded(tasks[at], found)
            if decoded.finish != "copied":  # else it is done again
                on_done(at, decoded)

        tell = on_found if on_done else None
        found = await self._search(tasks, deadline, seconds_after, tell)
        translated = await run(lambda check: self._all_decoded(tasks, found, check))
        await self._with_protection(translated, request, deadline)
        await self._in_pieces(translated, request, deadline)
        return translated

    async def _search(
        self,
        tasks: Items[Task],
        deadline: float,
        seconds_after: float,
        on_found: Callable[[int, list[Found]], None] | None,
    ) -> list[list[Found]]:
        """What is found for the clauses of each; `on_found` is told of a sentence once it has them all."""
        owners = [number for number, task in enumerate(tasks) for _ in task.work]
        so_far: list[dict[int, Found]] = [{} for _ in tasks]

        def on_clause(at: int, found: Found) -> None:
            assert on_found is not None
            mine = so_far[owners[at]]
            mine[at] = found
            if len(mine) == len(tasks[owners[at]].work):
                on_found(owners[at], [mine[place] for place in sorted(mine)])

        work = [one for task in tasks for one in task.work]
        tell = on_clause if on_found else None
        found = await self._searcher.search(work, deadline, tell, seconds_after)
        rest = iter(found)
        return [[next(rest) for _ in task.work] for task in tasks]

    def _all_decoded(
        self, tasks: Items[Task], found: Items[list[Found]], check: Check
    ) -> list[TranslatedSentence]:
        """Those of all sentences."""
        translated = []
        for task, clauses in zip(tasks, found, strict=True):
            check()
            translated.append(self._decoded(task, clauses))
        return translated

    def _decoded(self, task: Task, found: list[Found]) -> TranslatedSentence:
        """The texts of a sentence's hypotheses, those left out that are empty or in which something was lost.

        The n-th one of a sentence is made of the n-th best of its clauses.
        """
        sentence, kept = task.sentence, []
        texts = [self._target.decode([one.ids for one in clause.hypotheses]) for clause in found]
        for rank in range(max(map(len, texts))):
            parts = [ranked(clause, rank) for clause in texts]
            text = sentence.pipeline.clauses.join(task.clauses, parts) if all(parts) else ""
            if text and sentence.came_through(text):
                kept.append((text, sum(ranked(one.hypotheses, rank).score for one in found)))
        if not kept:
            score = sum(clause.hypotheses[0].score for clause in found)
            return TranslatedSentence(sentence, (sentence.text,), (score,), "copied")
        targets, scores = zip(*kept, strict=True)
        finish: Finish = next((clause.finish for clause in found if clause.finish != "end"), "end")
        return TranslatedSentence(sentence, targets, scores, finish)

    async def _with_protection(
        self, translated: list[TranslatedSentence], request: Preparation, deadline: float
    ) -> None:
        """Translate those that did not come through again, with more protected; changes `translated`."""
        tasks = {
            at: request.task(sentence)
            for at, one in enumerate(translated)
            if one.finish == "copied" and (sentence := one.sentence.protected()) is not None
        }
        work = [work for task in tasks.values() for work in task.work]
        found = iter(await self._search_all(work, deadline))
        for at, task in tasks.items():
            again = self._decoded(task, [next(found) for _ in task.work])
            if again.finish != "copied":
                translated[at] = replace(again, finish="protected")

    async def _in_pieces(
        self, translated: list[TranslatedSentence], request: Preparation, deadline: float
    ) -> None:
        """Translate the rest around what is protected; changes `translated`."""
        sentences = {
            at: sentence
            for at, one in enumerate(translated)
            if one.finish == "copied" and (sentence := one.sentence.in_pieces()).stand_ins
        }
        pieces = {at: sentence.pieces for at, sentence in sentences.items()}
        places = [
            (mine, at)
            for mine in pieces.values()
            for at in range(0, len(mine), 2)  # between are the stand-ins
            if has_letter(mine[at])
        ]
        longest = request.decoding.max_decoding_length
        work = [
            request.work(words_of(mine[at])[1], longest, num_hypotheses=1) for mine, at in places
        ]
        found = await self._search_all(work, deadline)
        for (mine, at), result in zip(places, found, strict=True):
            before, core, behind = words_of(mine[at])
            [text] = self._target.decode([result.hypotheses[0].ids])
            mine[at] = f"{before}{piece(core, text)}{behind}"
        for at, sentence in sentences.items():
            targets = ("".join(pieces[at]),)
            translated[at] = replace(
                translated[at], sentence=sentence, targets=targets, finish="pieces"
            )

    async def _search_all(self, work: Items[Work], deadline: float) -> list[Found]:
        """What is found, of however many."""
        found, at_once = [], self._searcher.most_sentences
        for start in range(0, len(work), at_once):
            found += await self._searcher.search(work[start : start + at_once], deadline)
        return found


def piece(source: str, translation: str) -> str:
    """The translation of a piece; the piece itself where that is empty or has a number of its own.

    >>> piece("meet at half", "um 10:30."), piece("we meet", "wir treffen uns.")
    ('meet at half', 'wir treffen uns')
    """
    invents = any(map(str.isdecimal, translation)) and not any(map(str.isdecimal, source))
    return source if invents else translation.rstrip(".") or source


def ranked(found: Items[Kind], rank: int) -> Kind:
    """The one of that rank, or the last."""
    return found[min(rank, len(found) - 1)]
