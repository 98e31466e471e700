"""A safety margin for time estimates, from their past errors. Imports nothing from the project."""

LEAST_MARGIN, MOST_MARGIN = 1.5, 2.0
"""Bounds of the margin, as factors of an estimate. Larger errors come from stalls, and are no guidance."""
KEPT = 1000
"""Number of outcomes after which the worst error is forgotten; one in a thousand may be worse."""


class SafetyMargin:
    """Tracks the worst error of recent estimates. The caller holds a lock.

    If errors are exchangeable, the next one exceeds the last N with probability 1 / (N + 1), whatever their
    distribution (as in conformal prediction: Vovk, Gammerman and Shafer, 2005).
    """

    def __init__(self) -> None:
        """Start without errors."""
        self._worst = self._worst_before = 0.0
        self._count = 0

    def add(self, estimated: float, seconds: float) -> None:
        """Record an estimate and the actual duration, or the duration so far of abandoned work."""
        self._worst = max(self._worst, seconds - estimated)
        self._count += 1
        if self._count == KEPT:
            self._worst_before, self._worst, self._count = self._worst, 0.0, 0

    def added_to(self, estimated: float) -> float:
        """Return an estimate plus the margin, in seconds."""
        worst = max(self._worst, self._worst_before)
        return min(max(LEAST_MARGIN * estimated, estimated + worst), MOST_MARGIN * estimated)
