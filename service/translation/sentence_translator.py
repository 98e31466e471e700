"""From sentences to their translations: searched, decoded, and done again where something was lost."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar

from service.text.segmenter import has_letter
from service.text.sentence import Sentence
from service.text.tokenizer import Tokenizers
from service.text.words import words_of
from service.translation.beside import Check
from service.translation.preparation import Preparation, Task
from service.translation.searcher import Found, Searcher, Work
from service.translation.types import Finish, TranslatedSentence

Kind = TypeVar("Kind")
Result = TypeVar("Result")
Attempt = TypeVar("Attempt", "Task", "_Pieces")
MAX_PIECES = 2_000
"""Of a request's sentences, around what is protected: each is searched as a sentence is."""
OnDone = Callable[[int, TranslatedSentence], None]


class OffLoop(Protocol):
    """Does work on the CPU where it is in nobody's way."""

    def __call__(self, work: Callable[[Check], Result]) -> Awaitable[Result]:
        """Its result."""


class SentenceTranslator:
    """Translates the sentences of requests with one model."""

    def __init__(self, searcher: Searcher, tokenizers: Tokenizers) -> None:
        """`tokenizers` make texts of what the searcher finds."""
        self._searcher, self._tokenizers = searcher, tokenizers

    async def translate(
        self,
        request: Preparation,
        tasks: Sequence[Task],
        deadline: float,
        off_loop: OffLoop,
        on_done: OnDone | None = None,
        seconds_after: float = 0.0,
    ) -> list[TranslatedSentence]:
        """Translate all of them.

        What did not come through is done again: with all protected that can be, then in pieces around that.

        Args:
            request: what they are sentences of.
            tasks: the sentences.
            deadline: when it is given up.
            off_loop: does the work on the CPU.
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
        translated = await off_loop(lambda check: self._all_decoded(tasks, found, check))
        if any(one.finish == "copied" for one in translated):
            await self._with_protection(translated, request, deadline, off_loop)
            await self._in_pieces(translated, request, deadline, off_loop)
        return translated

    async def _search(
        self,
        tasks: Sequence[Task],
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
        self, tasks: Sequence[Task], found: Sequence[list[Found]], check: Check
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
        texts = [
            self._tokenizers.translations(source, [one.ids for one in clause.hypotheses])
            for source, clause in zip(task.clauses, found, strict=True)
        ]
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
        self,
        translated: list[TranslatedSentence],
        request: Preparation,
        deadline: float,
        off_loop: OffLoop,
    ) -> None:
        """Translate those that did not come through again, with more protected."""

        def prepare(lost: TranslatedSentence) -> Task | None:
            sentence = lost.sentence.with_more_protected()
            return request.task(sentence, request.prefix_of(sentence)) if sentence else None

        def read(lost: TranslatedSentence, task: Task, found: list[Found]) -> TranslatedSentence:
            again = self._decoded(task, found)
            if again.finish == "copied":
                return lost
            return again if again.finish == "length" else replace(again, finish="protected")

        await self._again(translated, prepare, read, deadline, off_loop)

    async def _in_pieces(
        self,
        translated: list[TranslatedSentence],
        request: Preparation,
        deadline: float,
        off_loop: OffLoop,
    ) -> None:
        """Translate the rest around what is protected, unless there are too many."""
        left = MAX_PIECES

        def prepare(lost: TranslatedSentence) -> _Pieces | None:
            nonlocal left
            sentence = lost.sentence.in_pieces()
            if sentence is None or len(sentence.stand_ins) >= left:
                return None
            pieces = _Pieces.of(sentence, request)
            left -= len(pieces.work)
            return pieces

        def read(
            lost: TranslatedSentence, pieces: _Pieces, found: list[Found]
        ) -> TranslatedSentence:
            best = [one.hypotheses[0].ids for one in found]
            target = pieces.joined(self._tokenizers.target.decode(best))
            return replace(lost, sentence=pieces.sentence, targets=(target,), finish="pieces")

        await self._again(translated, prepare, read, deadline, off_loop)

    async def _again(
        self,
        translated: list[TranslatedSentence],
        prepare: Callable[[TranslatedSentence], Attempt | None],
        read: Callable[[TranslatedSentence, Attempt, list[Found]], TranslatedSentence],
        deadline: float,
        off_loop: OffLoop,
    ) -> None:
        """Replace those that did not come through by what another attempt brings.

        `prepare` says what to search for, None if that is nothing; `read` makes a sentence of what is found.
        """

        def prepare_all(check: Check) -> dict[int, Attempt]:
            attempts = {}
            for at, one in enumerate(translated):
                if one.finish == "copied":
                    check()
                    if (attempt := prepare(one)) is not None:
                        attempts[at] = attempt
            return attempts

        attempts = await off_loop(prepare_all)
        if not attempts:
            return
        work = [work for attempt in attempts.values() for work in attempt.work]
        found = iter(await self._search_all(work, deadline))

        def read_all(check: Check) -> None:
            for at, attempt in attempts.items():
                check()
                mine = [next(found) for _ in attempt.work]
                translated[at] = read(translated[at], attempt, mine)

        await off_loop(read_all)

    async def _search_all(self, work: Sequence[Work], deadline: float) -> list[Found]:
        """What is found, of however many."""
        found, at_once = [], self._searcher.max_sentences
        for start in range(0, len(work), at_once):
            found += await self._searcher.search(work[start : start + at_once], deadline)
        return found


@dataclass(frozen=True, slots=True)
class _Pieces:
    """A sentence that is translated around what is protected."""

    sentence: Sentence
    pieces: list[str]
    """Every second one is a stand-in."""
    places: list[int]
    """Of the pieces that are translated."""
    work: list[Work]

    @classmethod
    def of(cls, sentence: Sentence, request: Preparation) -> Self:
        """What is asked of the engine for each piece with a letter."""
        pieces = sentence.pieces
        places = [place for place in range(0, len(pieces), 2) if has_letter(pieces[place])]
        prefix, longest = request.prefix_of(sentence), request.decoding.max_decoding_length
        work = []
        for place in places:
            text = words_of(pieces[place])[1]
            work.append(request.work(text, longest, prefix, num_hypotheses=1))
            prefix = ()
        return cls(sentence, pieces, places, work)

    def joined(self, translations: Sequence[str]) -> str:
        """The sentence's translation, out of those of its pieces."""
        pieces = self.pieces.copy()
        for place, translation in zip(self.places, translations, strict=True):
            before, core, behind = words_of(pieces[place])
            pieces[place] = f"{before}{piece(core, translation)}{behind}"
        return "".join(pieces)


def piece(source: str, translation: str) -> str:
    """The translation of a piece; the piece itself where that is empty or has a number of its own.

    >>> piece("meet at half", "um 10:30."), piece("we meet", "wir treffen uns.")
    ('meet at half', 'wir treffen uns')
    """
    invents = any(map(str.isdecimal, translation)) and not any(map(str.isdecimal, source))
    return source if invents else translation.rstrip(".") or source


def ranked(found: Sequence[Kind], rank: int) -> Kind:
    """The one of that rank, or the last."""
    return found[min(rank, len(found) - 1)]
