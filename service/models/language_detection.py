"""Detects the languages of texts for all requests, without blocking the event loop."""

import os
import time
from collections.abc import Iterable, Sequence

from service.fair_queue import FairQueue
from service.text.detector import Detection, Detector
from service.text.evidence import LOOKED_AT
from service.text.run import Format
from service.threads import Threads
from service.translation.effort import EFFORT_ON_LOOP, effort_of
from service.translation.offload import Check, run_in_thread
from service.watch import WATCH

THREAD = Threads(1, "detector")
"""Detects the languages of longer texts, one request at a time."""


def _start_anew() -> None:
    """Use another thread in a forked process, to which threads do not belong."""
    global THREAD
    THREAD = Threads(1, "detector")


os.register_at_fork(after_in_child=_start_anew)


class LanguageDetection:
    """A detector whose longer work takes turns on a thread."""

    def __init__(self, languages: Iterable[str]) -> None:
        """Choose among `languages`."""
        self._detector, self._queue = Detector(languages), FairQueue()

    async def detect(
        self,
        texts: Sequence[str],
        timeout: float,
        form: Format = "text",
        ignored: Iterable[str] = (),
    ) -> list[list[Detection]]:
        """Return the languages of each text as `Detector.detect` does.

        Raises:
            DeadlineExceededError: they were not detected within `timeout` seconds.
        """

        def detect_all(check: Check) -> list[list[Detection]]:
            found = []
            for text in texts:
                check()
                found.append(self._detector.detect(text, form, ignored))
            return found

        effort = effort_of([text[:LOOKED_AT] for text in texts])  # as a rule, no more is read
        if effort <= EFFORT_ON_LOOP:
            return detect_all(lambda: None)
        busy, turn = WATCH.busy("the detection of languages"), self._queue.turn(effort)
        deadline = time.monotonic() + timeout
        return await run_in_thread(detect_all, time.monotonic, deadline, THREAD, busy, turn)
