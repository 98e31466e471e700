"""Instructions are counted for the stage in which they run."""

from types import SimpleNamespace

import pytest

from tests.bench import stages


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A counter whose `count` the test sets, instead of the processor's."""
    counter = SimpleNamespace(count=0)
    counter.read = lambda: counter.count
    monkeypatch.setattr(stages, "InstructionCounter", lambda _: counter)
    monkeypatch.setattr(stages, "STAGES", {})
    monkeypatch.setattr(stages, "_local", SimpleNamespace())
    return counter


def test_a_stage_does_not_count_the_stages_that_it_calls(counter: SimpleNamespace) -> None:
    def spend(instructions: int) -> None:
        counter.count += instructions

    inner = stages.counted("inner", spend)

    def call_inner() -> None:
        spend(5)
        inner(100)
        inner(30)
        spend(2)

    outer = stages.counted("outer", call_inner)
    outer()
    inner(1)
    [found] = stages.STAGES.values()
    assert found == {"outer": 7, "inner": 131}


def test_every_listed_function_exists() -> None:
    for functions in (stages.LOOP | stages.ENGINE).values():
        assert all(callable(getattr(owner, name)) for owner, name in functions)
