"""In which turns of the event loop requests begin."""

import asyncio
from collections.abc import Callable
from statistics import mean

import pytest

from service.api.connections import Connections
from service.api.line import (
    ACCEPTING_TURNS,
    BEGUN_PER_TURN,
    LEAST_PER_TURN,
    TURN_SECONDS,
    InLine,
    Line,
)
from tests.service.api.conversation import HEAD, POST, Connect, talk
from tests.waiting import until


class Client:
    """Has pipelined requests, and notes in which turn of the loop each begins."""

    def __init__(self, line: Line, requests: int, turns: list[int]) -> None:
        self.line, self.requests, self.turns = line, requests, turns
        self.loop = asyncio.get_running_loop()
        if line.may_begin(self.loop):
            self.go_on(0.0)
        else:
            line.wait(self)

    def go_on(self, seconds: float) -> None:
        self.turns[-1] += 1
        self.requests -= 1
        if self.requests:
            self.line.wait(self)


@pytest.mark.parametrize(
    ("accepts", "most", "turns_a_request"),
    [(False, BEGUN_PER_TURN, 1 / BEGUN_PER_TURN), (True, 1, ACCEPTING_TURNS)],
)
def test_few_requests_begin_per_turn(accepts: bool, most: int, turns_a_request: float) -> None:
    async def run() -> tuple[list[int], list[int]]:
        line, turns = Line(lambda: 0.0), [0]
        clients: list[Client] = []
        while not clients or any(client.requests for client in clients):
            if accepts:
                line.accepted()
            clients = clients or [Client(line, 3, turns) for _ in range(100)]
            turns.append(0)
            await asyncio.sleep(0)
        return turns, [client.requests for client in clients]

    turns, left = asyncio.run(run())
    assert max(turns) == most
    assert sum(turns) == 300
    assert set(left) == {0}
    assert len(turns) == pytest.approx(300 * turns_a_request, abs=2 * ACCEPTING_TURNS)


def test_fewer_requests_begin_while_turns_take_long() -> None:
    now = 0.0

    async def begun_per_turn(seconds: float, line: Line) -> list[int]:
        """Return how many requests begin in each of 60 turns that take so many seconds each."""
        nonlocal now
        loop, begun = asyncio.get_running_loop(), []
        for _ in range(60):
            begun.append(sum(line.may_begin(loop) for _ in range(100)))
            now += seconds
            await asyncio.sleep(0)
        return begun

    async def run() -> None:
        line = Line(lambda: now)
        slow, fast = await begun_per_turn(0.1, line), await begun_per_turn(0.001, line)
        assert slow[0] == fast[-1] == BEGUN_PER_TURN
        assert slow[10:] == [LEAST_PER_TURN] * 50
        for seconds in (0.0005, 0.002):  # for each request that begins
            line, begun = Line(lambda: now), []
            for _ in range(200):
                begun += await begun_per_turn_of(line, seconds)
            assert mean(begun[100:]) * seconds <= TURN_SECONDS

    async def begun_per_turn_of(line: Line, seconds: float) -> list[int]:
        """Return how many requests begin in a turn that takes so many seconds for each."""
        nonlocal now
        begun = sum(line.may_begin(asyncio.get_running_loop()) for _ in range(100))
        now += seconds * begun
        await asyncio.sleep(0)
        return [begun]

    asyncio.run(run())


def test_cheap_requests_keep_beginning_while_turns_take_long_or_accept() -> None:
    now = 0.0

    async def begun_per_turn(line: Line, accepts: bool) -> list[int]:
        nonlocal now
        loop, begun = asyncio.get_running_loop(), []
        for _ in range(20):
            if accepts:
                line.accepted()
            begun.append(sum(line.may_begin(loop) for _ in range(100)))
            now += 10 * TURN_SECONDS
            await asyncio.sleep(0)
        return begun

    async def run() -> None:
        line = Line(lambda: now, are_cheap=True)
        assert await begun_per_turn(line, accepts=False) == [BEGUN_PER_TURN] * 20
        assert await begun_per_turn(line, accepts=True) == [LEAST_PER_TURN] * 20

    asyncio.run(run())


@pytest.mark.parametrize("body", [b"", b"ab"])
def test_probes_have_a_line_of_their_own(body: bytes) -> None:
    probe = HEAD.replace(b" / ", b" /health/live ") + b"content-length: %d\r\n\r\n" % len(body)

    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        for _ in range(2):
            writer.write(probe + body)
            await reader.readuntil(body + b"ok")

    connections = Connections()
    connections.others = Closed()
    talk(conversation, connections)


class Closed(Line):
    """A line in which no request begins."""

    def may_begin(self, loop: asyncio.AbstractEventLoop) -> bool:
        return False

    def wait(self, connection: InLine) -> None:
        pass


@pytest.mark.parametrize("body", [b"", b"content-length: 2\r\n", b"transfer-encoding: chunked\r\n"])
def test_the_last_bytes_of_many_requests_do_not_begin_them_in_one_turn(body: bytes) -> None:
    """Each begins when it is complete, at most `BEGUN_PER_TURN` in a turn."""
    begun = [0]

    class Counting(Line):
        def may_begin(self, loop: asyncio.AbstractEventLoop) -> bool:
            is_first = super().may_begin(loop)
            begun[0] += is_first
            return is_first

    last = {b"": b"\n", b"content-length: 2\r\n": b"b"}.get(body, b"1\r\nb\r\n0\r\n\r\n")

    async def conversation(connect: Connect) -> None:
        streams = [await connect() for _ in range(60)]
        head = POST if body else HEAD
        first = head + body + (b"\r\n" if body else b"\r")
        first += b"a" * body.startswith(b"content") + b"1\r\na\r\n" * body.startswith(b"transfer")
        for _, writer in streams:
            writer.write(first)
        await until(lambda: len(connections) == 60)
        await asyncio.sleep(0.05)
        assert begun == [0]
        for _, writer in streams:
            writer.write(last)
        for reader, _ in streams:
            await reader.readuntil(b"ok")

    connections = Connections()
    connections.others = Counting()
    talk(conversation, connections, keep_alive_seconds=60)
    assert begun[0] < 60  # the others have waited in line


def test_a_request_that_waits_in_line_is_busy_and_its_deadline_passes() -> None:
    async def conversation(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(HEAD + b"\r\n")
        await until(lambda: bool(waiting))
        newcomers = [await connect() for _ in range(3)]
        assert (
            await newcomers[0][0].read() == b""
        )  # the connection that has been silent for longest
        waiting[0].go_on(0.0)
        await reader.readuntil(b"ok")

    waiting: list[InLine] = []

    class Held(Line):
        def may_begin(self, loop: asyncio.AbstractEventLoop) -> bool:
            return False

        def wait(self, connection: InLine) -> None:
            waiting.append(connection)

    connections = Connections(3)
    connections.others = Held()
    talk(conversation, connections)


def test_probes_do_not_wait_in_the_line_of_other_requests() -> None:
    async def conversation(connect: Connect) -> None:
        (probing, probe), (asking, request) = await connect(), await connect()
        request.write(HEAD + b"\r\n")
        for _ in range(2):
            probe.write(HEAD.replace(b" / ", b" /health/live ") + b"\r\n")
            await probing.readuntil(b"ok")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asking.read(1), 0.1)

    connections = Connections()
    connections.others = Closed()
    talk(conversation, connections)


class Full(Line):
    """A line in a turn that lasts until the test ends it."""

    def may_begin(self, loop: asyncio.AbstractEventLoop) -> bool:
        self._num_begun = BEGUN_PER_TURN
        return super().may_begin(loop)

    def _watch_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        pass


def test_the_time_in_line_is_told() -> None:
    now = 0.0

    async def run() -> None:
        nonlocal now
        assert await Line().turn(lambda _: None) == 0
        line, loop = Full(lambda: now), asyncio.get_running_loop()
        turn = asyncio.ensure_future(line.turn(lambda _: None))
        await asyncio.sleep(0)
        now = 1.5
        line._next_turn(loop, 0.0)
        assert await turn == 1.5
        assert len(line) == 0

    asyncio.run(run())


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_request_whose_client_leaves_waits_in_no_line(is_cancelled: bool) -> None:
    leave: list[Callable[[], None]] = []

    async def run() -> None:
        line = Full()
        turn = asyncio.ensure_future(line.turn(leave.append))
        await asyncio.sleep(0)
        assert len(line) == 1
        if is_cancelled:
            turn.cancel()
        else:
            leave[0]()
        await asyncio.wait([turn])
        assert len(line) == 0

    asyncio.run(run())


def test_a_connection_that_is_lost_leaves_the_line() -> None:
    connections = Connections()
    connections.others = Full()

    async def conversation(connect: Connect) -> None:
        _, writer = await connect()
        writer.write(HEAD + b"\r\n")
        await until(lambda: connections.num_in_line == 1)
        writer.transport.abort()
        await until(lambda: len(connections) == 0)
        assert connections.num_in_line == 0

    talk(conversation, connections)
