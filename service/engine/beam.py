"""The host's half of beam search: what the candidates of each step mean. Pure Python; no I/O, no clock.

The graph sends, for every step, the 2K best continuations of a sentence's beams, best first. The rules:

- a candidate that ends (EOS) among the first `beam_size` is a finished hypothesis;
- the best `beam_size` that do not end are the beams of the next step (the graph goes on with the same);
- the search is done when `beam_size` hypotheses have finished, as in fairseq and CTranslate2, or at
  `max_decoding_length`; if none has finished by then, the live beams stand as they are;
- hypotheses are ranked by log-probability / ((5 + length) / 6)^alpha, EOS counted
  (Wu et al., 2016, equation 14).
"""

from collections.abc import Sequence as Items

from service.engine.types import DecodingOptions, FinishReason, Hypothesis


class BeamSearch:
    """One sentence's search: the path of every beam so far, and what has finished."""

    def __init__(self, options: DecodingOptions, eos_id: int) -> None:
        """Begin with one empty beam."""
        self.options = options
        self.eos_id = eos_id
        self.length = 0
        self._finished: list[Hypothesis] = []
        self._totals: list[float] = [0.0]
        self._tokens: list[list[int]] = []  # per step, the last token of each live beam
        self._parents: list[
            list[int]
        ] = []  # per step, the beam of the step before that it continues

    @property
    def is_done(self) -> bool:
        """Whether no further step can change the result."""
        return (
            len(self._finished) >= self.options.beam_size
            or self.length >= self.options.max_decoding_length
        )

    @property
    def remaining(self) -> int:
        """Steps that it may still grow by."""
        return self.options.max_decoding_length - self.length

    def advance(self, scores: Items[float], tokens: Items[int], parents: Items[int]) -> None:
        """Take in one step's candidates, best first; nothing happens once the search is done."""
        if self.is_done:
            return
        width = self.options.beam_size
        totals: list[float] = []
        kept_tokens: list[int] = []
        kept_parents: list[int] = []
        for rank, (score, token, parent) in enumerate(zip(scores, tokens, parents, strict=True)):
            if token == self.eos_id:
                if rank < width:
                    ids = self._path(parent)
                    normalized = score / self._penalty(len(ids) + 1)
                    self._finished.append(Hypothesis(ids, normalized, FinishReason.END))
            elif len(totals) < width:
                totals.append(score)
                kept_tokens.append(token)
                kept_parents.append(parent)
        self.length += 1
        self._totals = totals
        self._tokens.append(kept_tokens)
        self._parents.append(kept_parents)

    def hypotheses(self) -> list[Hypothesis]:
        """The best `num_hypotheses`, best first."""
        found = self._finished or [
            Hypothesis(self._path(beam), total / self._penalty(self.length), FinishReason.LENGTH)
            for beam, total in enumerate(self._totals)
        ]
        ranked = sorted(found, key=lambda hypothesis: -hypothesis.score)
        return ranked[: self.options.num_hypotheses]

    def _penalty(self, length: int) -> float:
        return float(((5 + length) / 6) ** self.options.length_penalty)

    def _path(self, beam: int) -> tuple[int, ...]:
        """The tokens of a live beam, by walking back over its parents."""
        path: list[int] = []
        for tokens, parents in zip(reversed(self._tokens), reversed(self._parents), strict=True):
            path.append(tokens[beam])
            beam = parents[beam]
        return tuple(reversed(path))
