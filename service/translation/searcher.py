"""Finds hypotheses for sentences, in the cache or with the engine; runaway searches are repeated."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial

from service.engine.engine import Engine
from service.engine.types import DecodingSequence, Hypothesis, Work
from service.errors import DeadlineExceededError
from service.translation import guards
from service.translation.cache import SentenceCache
from service.translation.mailbox import Mailbox

GRACE_SECONDS = 1.0
"""Time that the engine has after a deadline to report that it has passed."""
FURTHER_AT_ONCE = 128
"""Further searches of an admitted request in the engine's queue, whose limits do not count them: at most, or
as many as the engine runs at once."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search."""

    hypotheses: list[Hypothesis]
    """Best first; at least one."""
    is_repeated: bool = False
    """Whether it is from a second search, with n-gram blocking."""
    attended: tuple[tuple[int, ...], ...] = ()
    """For each hypothesis, the index of the source token that each unknown token attended to, if known."""


class Searcher:
    """An engine with a cache and guards against runaway translations."""

    def __init__(self, engine: Engine, cache: SentenceCache) -> None:
        """Combine the two."""
        self.engine, self.cache = engine, cache
        self._mailbox: Mailbox | None = None

    @property
    def max_sentences(self) -> int:
        """Maximum number of sentences in the first search of a request."""
        return self.engine.config.max_waiting

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens in the first search of a request."""
        return self.engine.config.max_waiting_tokens

    def check_deadline(self, deadline: float) -> None:
        """Check whether a new request could meet a deadline, unless its sentences may be in the cache.

        Raises:
            QueueFullError: it could not; `retry_after` is the expected wait.
        """
        if not self.cache.capacity:
            self.engine.check_deadline(deadline)

    async def search(
        self,
        work: Sequence[Work],
        deadline: float,
        seconds_after: float = 0.0,
        is_further: bool = False,
    ) -> AsyncGenerator[dict[int, Found], None]:
        """Search for all sentences, once for equal ones; runaway searches are repeated with n-gram blocking.

        All sentences of a first search enter the engine's queue at once, those of a further search in turns.

        Args:
            work: the sentences.
            deadline: by the engine's clock, in seconds.
            seconds_after: see `Engine.submit`.
            is_further: see `Engine.submit`.

        Yields:
            The results since the last time, by index in `work`; each sentence once. Closing the generator
            cancels the other sentences.

        Raises:
            RefusedError, AbandonedError, EngineError: see `service.errors`.
        """
        places: dict[Work, list[int]] = {}
        for index, item in enumerate(work):
            places.setdefault(item, []).append(index)
        distinct = list(places)
        search = self._search(distinct, deadline, seconds_after, is_further)
        async with aclosing(search):
            async for found in search:
                yield {
                    index: result
                    for number, result in found.items()
                    for index in places[distinct[number]]
                }

    async def _search(
        self, work: Sequence[Work], deadline: float, seconds_after: float, is_further: bool
    ) -> AsyncGenerator[dict[int, Found], None]:
        """Do the same for sentences that differ from one another."""
        suspect: dict[int, list[Hypothesis]] = {}
        arriving = (
            self._in_turns(work, deadline)
            if is_further
            else self._at_once(work, deadline, seconds_after)
        )
        async with aclosing(arriving) as arrivals:
            async for arrived in arrivals:
                found = {}
                for index, hypotheses in arrived.items():
                    ids, options = work[index]
                    if options.no_repeat_ngram_size or not guards.is_suspect(ids, hypotheses[0]):
                        found[index] = Found(hypotheses)
                    else:
                        suspect[index] = hypotheses
                if found:
                    yield found
        if suspect:
            yield await self._repeated(work, suspect, deadline)

    def _mailbox_of(self, loop: asyncio.AbstractEventLoop) -> Mailbox:
        """Return the event loop's mailbox: unlike the service, programs may use several loops in turn."""
        if self._mailbox is None or self._mailbox.loop is not loop:
            self._mailbox = Mailbox(loop)
        return self._mailbox

    async def _repeated(
        self, work: Sequence[Work], suspect: Mapping[int, list[Hypothesis]], deadline: float
    ) -> dict[int, Found]:
        """Repeat searches with n-gram blocking, and return the better result of each, by index in `work`."""
        searches = [
            (ids, replace(options, no_repeat_ngram_size=guards.NO_REPEAT_NGRAM_SIZE))
            for ids, options in (work[index] for index in suspect)
        ]
        indices, found = list(suspect), {index: Found(first) for index, first in suspect.items()}
        async with aclosing(self._in_turns(searches, deadline)) as arrivals:
            async for arrived in arrivals:
                for position, second in arrived.items():
                    index = indices[position]
                    if guards.better(work[index][0], suspect[index], second):
                        found[index] = Found(second, is_repeated=True)
        return found

    async def _in_turns(
        self, work: Sequence[Work], deadline: float
    ) -> AsyncGenerator[dict[int, list[Hypothesis]], None]:
        """Yield the hypotheses of further searches, some of which are in the queue at once."""
        config = self.engine.config
        at_once = max(FURTHER_AT_ONCE, config.num_workers * config.max_num_seqs)
        for start in range(0, len(work), at_once):
            turn = work[start : start + at_once]
            async with aclosing(self._at_once(turn, deadline, is_further=True)) as arrivals:
                async for arrived in arrivals:
                    yield {start + index: hypotheses for index, hypotheses in arrived.items()}

    async def _at_once(
        self,
        work: Sequence[Work],
        deadline: float,
        seconds_after: float = 0.0,
        is_further: bool = False,
    ) -> AsyncGenerator[dict[int, list[Hypothesis]], None]:
        """Yield the hypotheses of every sentence; if the generator ends early, the others are aborted."""
        cached = ((index, self.cache.get(item)) for index, item in enumerate(work))
        known = {index: hypotheses for index, hypotheses in cached if hypotheses is not None}
        missing = [index for index in range(len(work)) if index not in known]
        sequences = self.engine.submit(
            [work[index] for index in missing], deadline, seconds_after, is_further
        )
        seconds_left = max(0.0, deadline - self.engine.clock())
        loop = asyncio.get_running_loop()
        arrivals = _Arrivals(sequences, self._mailbox_of(loop))
        # in case a step hangs
        timer = loop.call_later(seconds_left + GRACE_SECONDS, arrivals.expire)
        try:
            if known:
                yield known
            while arrivals.num_missing:
                arrived = await arrivals.next()
                done = {missing[position]: hypotheses for position, hypotheses in arrived.items()}
                for index, hypotheses in done.items():
                    self.cache.put(work[index], hypotheses)
                yield done
        except TimeoutError:
            self.engine.abort(sequences)
            raise DeadlineExceededError(
                f"not finished {GRACE_SECONDS:g} s after the deadline of {seconds_left:.3f} s"
            ) from None
        except BaseException:
            self.engine.abort(sequences)
            raise
        finally:
            timer.cancel()


class _Arrivals:
    """Collects the results of the engine's threads on the event loop."""

    def __init__(self, sequences: Sequence[DecodingSequence], mailbox: Mailbox) -> None:
        """Collect the results of these sequences on the mailbox's event loop."""
        self.num_missing = len(sequences)
        self._loop = mailbox.loop
        self._arrived: dict[int, Future[list[Hypothesis]]] = {}
        self._waiting: asyncio.Future[None] | None = None
        self._is_expired = False
        for index, sequence in enumerate(sequences):
            receive = partial(self._take, index)
            sequence.future.add_done_callback(partial(mailbox.post, receive))

    async def next(self) -> dict[int, list[Hypothesis]]:
        """Wait for at least one result; return those since the last call, by index.

        Raises:
            AttendantError: a sentence failed.
            TimeoutError: `expire` was called.
        """
        if not self._arrived:
            if self._is_expired:
                raise TimeoutError
            self._waiting = self._loop.create_future()
            await self._waiting
        arrived, self._arrived = self._arrived, {}
        self.num_missing -= len(arrived)
        return {number: future.result() for number, future in arrived.items()}

    def expire(self) -> None:
        """End waiting with a TimeoutError."""
        self._is_expired = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(TimeoutError())

    def _take(self, number: int, future: "Future[list[Hypothesis]]") -> None:
        self._arrived[number] = future
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
