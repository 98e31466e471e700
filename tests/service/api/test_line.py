"""In which turns of the event loop requests begin."""

import asyncio
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
from tests.service.api.conversation import HEAD, Connect, talk


class Client:
    """Has pipelined requests, and notes in which turn of the loop each begins."""

    def __init__(self, line: Line, requests: int, turns: list[int]) -> None:
        self.line, self.requests, self.turns = line, requests, turns
        self.loop = asyncio.get_running_loop()
        if line.may_begin(self.loop):
            self.go_on()
        else:
            line.wait(self)

    def go_on(self) -> None:
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


class Closed(Line):
    """A line in which no request begins."""

    def may_begin(self, loop: asyncio.AbstractEventLoop) -> bool:
        return False

    def wait(self, connection: InLine) -> None:
        pass


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
