"""The text of the progress bar, with a fake clock, and when it is shown."""

import io
import sys

import pytest

from service.bulk.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_rate_and_time_left() -> None:
    now = 100.0
    bar = ProgressBar(1_000_000, clock=lambda: now)
    now = 110.0
    bar.add(100_000, 1_000, 1_200)  # an earlier run may have done some of it
    assert bar.line() == "[##                  ]  10%  1,000 lines, 120.0 sentences/s"
    now = 120.0
    bar.add(200_000, 1_000, 1_200)
    # 800,000 bytes left at 100,000 in ten seconds
    assert bar.line() == (
        "[####                ]  20%  2,000 lines, 120.0 sentences/s, 0:01:20 left"
    )


@pytest.mark.parametrize("total", [0, 10])
def test_the_final_line_shows_the_total(total: int) -> None:
    bar = ProgressBar(total, clock=lambda: 0.0)
    bar.add(total, 1, 1)
    assert "] 100%  1 lines" in bar.line()


def test_the_line_is_updated_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, terminal = 0.0, Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = ProgressBar(100, clock=lambda: now)
    now = 0.25
    bar.add(10, 1, 1)
    assert terminal.getvalue() == ""
    now = 1.0
    bar.add(50, 1, 1)
    first = "\r[##########          ]  50%  2 lines, 2.0 sentences/s, 0:00:01 left\x1b[K"
    assert terminal.getvalue() == first
    now = 2.0
    bar.add(100, 2, 6)
    bar.close()
    shown = "\r[####################] 100%  4 lines, 4.0 sentences/s, 0:00:00 left\x1b[K"
    assert terminal.getvalue() == f"{first}{shown}{shown}\n"


def test_nothing_is_written_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar(10)
    bar.add(10, 1, 1)
    bar.close()
    assert capsys.readouterr() == ("", "")
