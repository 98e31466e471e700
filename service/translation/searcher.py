"""From sentences to hypotheses: what is known already, what the engine finds, what it has to do again."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from service.engine.engine import Engine
from service.engine.types import DecodingOptions, FinishReason, Hypothesis
from service.errors import DeadlineExceededError
from service.translation import guards
from service.translation.cache import SentenceCache
from service.translation.types import Finish

GRACE_SECONDS = 1.0
"""In which the engine itself says that a deadline has passed."""

Work = tuple[tuple[int, ...], DecodingOptions]
"""A sentence's ids, and how it is searched: all that its translation depends on."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found."""

    hypotheses: list[Hypothesis]
    """Best first; at least one."""
    finish: Finish


OnFound = Callable[[int, Found], None]


class Searcher:
    """An engine with a memory and an eye on what runs away."""

    def __init__(self, engine: Engine, cache: SentenceCache) -> None:
        """Put the two together."""
        self.engine, self.cache = engine, cache

    @property
    def max_sentences(self) -> int:
        """Sentences that a search may have at once, even while nothing else waits."""
        return self.engine.config.max_waiting

    @property
    def max_tokens(self) -> int:
        """Tokens that a search may have at once, even while nothing else waits."""
        return self.engine.config.max_waiting_tokens

    def check_deadline(self, deadline: float) -> None:
        """Refuse what cannot be done in time, unless it might be known already.

        Raises:
            QueueFullError: with the time in which what waits now should be done.
        """
        if not self.cache.capacity:
            self.engine.check_deadline(deadline)

    async def search(
        self,
        work: Sequence[Work],
        deadline: float,
        on_found: OnFound | None = None,
        seconds_after: float = 0.0,
    ) -> list[Found]:
        """Search for every sentence, all in flight together; again, without repetitions, what ran away.

        Args:
            work: the sentences.
            deadline: by the engine's clock, in seconds, when it is given up.
            on_found: told the place and the result of each sentence that need not be done again, at once.
            seconds_after: what other work behind the search should take; who has no time for that is refused.

        Raises:
            RefusedError, AbandonedError, EngineError: it was not done; see `service.errors`.
        """

        def on_first(at: int, hypotheses: list[Hypothesis]) -> None:
            if on_found and not guards.is_suspect(work[at][0], hypotheses[0]):
                on_found(at, _first(hypotheses))

        tell = on_first if on_found else None
        firsts = await self._search(work, deadline, tell, seconds_after)
        found = [_first(hypotheses) for hypotheses in firsts]
        suspect = [
            at
            for at, (ids, options) in enumerate(work)
            if guards.is_suspect(ids, found[at].hypotheses[0]) and not options.no_repeat_ngram_size
        ]
        if not suspect:
            return found
        again = [
            (ids, replace(options, no_repeat_ngram_size=guards.NO_REPEAT_NGRAM_SIZE))
            for ids, options in (work[at] for at in suspect)
        ]
        for at, hypotheses in zip(suspect, await self._search(again, deadline), strict=True):
            if guards.better(work[at][0], found[at].hypotheses, hypotheses):
                found[at] = Found(hypotheses, "repetition")
        return found

    async def _search(
        self,
        work: Sequence[Work],
        deadline: float,
        on_found: Callable[[int, list[Hypothesis]], None] | None = None,
        seconds_after: float = 0.0,
    ) -> list[list[Hypothesis]]:
        """Every sentence's hypotheses; if this is cancelled, the engine gives them up."""
        known = [self.cache.get(item) for item in work]
        asked = [item for item, found in zip(work, known, strict=True) if found is None]
        sequences = self.engine.submit(asked, deadline, seconds_after)
        futures = [asyncio.wrap_future(sequence.future) for sequence in sequences]
        if on_found is not None:
            places = [at for at, found in enumerate(known) if found is None]
            for at, future in zip(places, futures, strict=True):
                future.add_done_callback(partial(_tell, on_found, at))
        left = max(0.0, deadline - self.engine.clock())
        try:
            async with asyncio.timeout(left + GRACE_SECONDS):  # even if a step of the engine hangs
                # most requests are one sentence: gather would take another turn of the event loop
                new = [await futures[0]] if len(futures) == 1 else await asyncio.gather(*futures)
        except TimeoutError:
            self.engine.abort(sequences)
            raise DeadlineExceededError(
                f"not done {GRACE_SECONDS:g} s after the deadline, which was {left:.3f} s away"
            ) from None
        except BaseException:
            self.engine.abort(sequences)
            raise
        for item, found in zip(asked, new, strict=True):
            self.cache.put(item, found)
        fresh = iter(new)
        return [next(fresh) if found is None else found for found in known]


def _tell(
    on_found: Callable[[int, list[Hypothesis]], None],
    at: int,
    future: "asyncio.Future[list[Hypothesis]]",
) -> None:
    if not future.cancelled() and future.exception() is None:
        on_found(at, future.result())


def _first(hypotheses: list[Hypothesis]) -> Found:
    ended = hypotheses[0].finish_reason is FinishReason.END
    return Found(hypotheses, "end" if ended else "length")
