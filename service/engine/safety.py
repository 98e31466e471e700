"""How far off estimates of a time are, and so how much to allow for. Imports nothing of the project."""

LEAST_MARGIN, MOST_MARGIN = 1.5, 2.0
"""Times an estimate that are allowed for. What takes even longer met a stall, and says nothing of others."""
KEPT = 1000
"""Outcomes of which the worst is allowed for: one in a thousand may be worse."""


class SafetyMargin:
    """By how much the latest estimates were exceeded at the worst; its caller holds a lock.

    Of errors that are alike, the next one is worse than the last N with probability 1 / (N + 1), whatever
    their distribution is (as in conformal prediction: Vovk, Gammerman and Shafer, 2005).
    """

    def __init__(self) -> None:
        """No error is known."""
        self._worst = self._worst_before = 0.0
        self._count = 0

    def add(self, estimated: float, seconds: float) -> None:
        """Take in how long something took; what has no end yet counts for what it has taken so far."""
        self._worst = max(self._worst, seconds - estimated)
        self._count += 1
        if self._count == KEPT:
            self._worst_before, self._worst, self._count = self._worst, 0.0, 0

    def added_to(self, estimated: float) -> float:
        """In how many seconds it should be done that was estimated so."""
        worst = max(self._worst, self._worst_before)
        return min(max(LEAST_MARGIN * estimated, estimated + worst), MOST_MARGIN * estimated)
