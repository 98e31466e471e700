"""Finds the source tokens that a translation's unknown tokens attended to, as OpenNMT and Argos do.

They replace the unknown tokens in the translation's text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from service.engine.types import Hypothesis, Work
from service.models.bundle import Direction
from service.translation.aligner import CHARACTERS_A_PAIR, Aligner
from service.translation.offload import Check
from service.translation.searcher import Found

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
        indices = [
            index
            for index, result in found.items()
            if any(map(self._has_unknown, result.hypotheses))
        ]
        if not indices:
            return found

        tokens = [
            len(work[index][0]) + len(hypothesis.ids)
            for index in indices
            for hypothesis in found[index].hypotheses
            if self._has_unknown(hypothesis)
        ]
        cost = CHARACTERS_A_PAIR * len(tokens) + CHARACTERS_A_TOKEN * sum(tokens)

        def look(check: Check) -> dict[int, Found]:
            completed = {}
            for index in indices:
                attended = []
                for hypothesis in found[index].hypotheses:
                    check()
                    attended.append(self._attended(work[index][0], hypothesis))
                completed[index] = replace(found[index], attended=tuple(attended))
            return completed

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
        unknown = [position for position, id in enumerate(hypothesis.ids) if id == self._unknown_id]
        return tuple(weights[unknown].argmax(axis=1).tolist())
