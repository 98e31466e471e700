"""Finds the source tokens that a translation's unknown tokens attended to, as OpenNMT and Argos do.

They replace the unknown tokens in the translation's text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from service.engine.types import Hypothesis
from service.models.bundle import Direction
from service.translation.aligner import CHARACTERS_A_PAIR, Aligner
from service.translation.offload import Check
from service.translation.searcher import Found, Work

CHARACTERS_A_TOKEN = 4
"""Typical length of a token."""


class UnknownWords:
    """Finds the source tokens of unknown tokens, for one direction."""

    def __init__(self, aligner: Aligner, unknown_id: int | None, direction: Direction) -> None:
        """Use an aligner; `unknown_id` is None if the vocabulary spells unknown characters with bytes."""
        self._aligner, self._unknown_id, self._direction = aligner, unknown_id, direction

    async def looked_up(
        self, work: Sequence[Work], found: Mapping[int, Found], deadline: float
    ) -> Mapping[int, Found]:
        """Return `found`, which is by index in `work`, with `attended` filled in for unknown tokens.

        Raises:
            DeadlineExceededError: the deadline passed before the last one was found.
        """
        if self._unknown_id is None or self._aligner.attention is None:
            return found
        places = [at for at, one in found.items() if any(map(self._has_unknown, one.hypotheses))]
        if not places:
            return found

        tokens = [
            len(work[at][0]) + len(one.ids)
            for at in places
            for one in found[at].hypotheses
            if self._has_unknown(one)
        ]
        cost = CHARACTERS_A_PAIR * len(tokens) + CHARACTERS_A_TOKEN * sum(tokens)

        def look(check: Check) -> dict[int, Found]:
            seen = {}
            for at in places:
                attended = []
                for hypothesis in found[at].hypotheses:
                    check()
                    attended.append(self._attended(work[at][0], hypothesis))
                seen[at] = replace(found[at], attended=tuple(attended))
            return seen

        return {**found, **await self._aligner.run(look, cost, deadline)}

    def _has_unknown(self, hypothesis: Hypothesis) -> bool:
        return self._unknown_id in hypothesis.ids

    def _attended(self, source: Sequence[int], hypothesis: Hypothesis) -> tuple[int, ...]:
        """Return the index of the source token that each unknown token attended to most."""
        if not self._has_unknown(hypothesis):
            return ()
        weights = self._aligner.attended(source, hypothesis.ids, self._direction.around)
        if weights is None or not weights.size:
            return ()
        at = [place for place, id in enumerate(hypothesis.ids) if id == self._unknown_id]
        return tuple(weights[at].argmax(axis=1).tolist())
