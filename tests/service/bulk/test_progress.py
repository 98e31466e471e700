"""The text of the progress line, with a fake clock, and when it is shown."""

import io
import sys

import pytest

from service.bulk.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_rate_and_time_left() -> None:
    now = 100.0
    progress = Progress(1_000_000, clock=lambda: now)
    now = 110.0
    progress.add(1_000, 1_200, 100_000)  # an earlier run may have done some of it
    assert progress.line() == "[##                  ]  10%  1,000 lines, 120.0 sentences/s"
    now = 120.0
    progress.add(1_000, 1_200, 200_000)
    # 800,000 bytes left at 100,000 in ten seconds
    assert progress.line() == (
        "[####                ]  20%  2,000 lines, 120.0 sentences/s, 0:01:20 left"
    )


def test_without_a_total_only_counts_and_rate_are_shown() -> None:
    now = 100.0
    progress = Progress(clock=lambda: now)
    now = 110.0
    progress.add(0, 20)
    assert progress.line() == "20 sentences, 2.0 sentences/s"
    progress.add(1_500, 1_580)
    assert progress.line() == "1,500 lines, 160.0 sentences/s"


@pytest.mark.parametrize("total", [0, 10])
def test_the_final_line_shows_the_total(total: int) -> None:
    progress = Progress(total, clock=lambda: 0.0)
    progress.add(1, 1, total)
    assert "] 100%  1 lines" in progress.line()


def test_the_line_is_updated_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, terminal = 0.0, Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = Progress(100, clock=lambda: now)
    start = "\r[                    ]   0%  0 sentences, 0.0 sentences/s\x1b[K"
    assert terminal.getvalue() == start, "before the model is loaded"
    now = 5.0
    progress.begin()
    now = 5.25
    progress.add(1, 1, 10)
    now = 6.0
    progress.add(1, 1, 50)
    first = f"{start}\r[##                  ]  10%  1 lines, 4.0 sentences/s\x1b[K"
    first += "\r[##########          ]  50%  2 lines, 2.0 sentences/s, 0:00:01 left\x1b[K"
    assert terminal.getvalue() == first
    now = 6.25
    progress.add(0, 0, 50)
    assert terminal.getvalue() == first, "not for every window"
    now = 7.0
    progress.add(2, 6, 100)
    progress.close()
    shown = "\r[####################] 100%  4 lines, 4.0 sentences/s, 0:00:00 left\x1b[K"
    assert terminal.getvalue() == f"{first}{shown}{shown}\n"


def test_without_a_terminal_there_is_a_plain_line_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    of_a_file, of_a_stream = Progress(100, clock=lambda: now), Progress(clock=lambda: now)
    for now in (9.0, 11.0, 20.0, 22.0):
        of_a_file.add(10, 11, 2 * int(now))
        of_a_stream.add(10, 11)
    of_a_file.close()
    assert capsys.readouterr() == (
        "",
        "[####                ]  22%  20 lines, 2.0 sentences/s, 0:00:39 left\n"
        "[########            ]  44%  40 lines, 2.0 sentences/s, 0:00:28 left\n",
    )


def test_a_short_run_writes_nothing_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(10)
    progress.add(1, 1, 10)
    progress.close()
    assert capsys.readouterr() == ("", "")
