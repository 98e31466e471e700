"""The host's half of beam search: what the candidates of each step mean. Pure Python; no I/O, no clock.

The graph sends, for every step, the 2K best continuations of a sentence's beams, best first. The rules:

- a candidate that ends (EOS) among the first `beam_size` is a finished hypothesis;
- the best `beam_size` that do not end are the beams of the next step (the graph goes on with the same);
  if the rule is to narrow, whatever has finished takes a place among the `beam_size` in this and the former;
- the search is done by its stop rule, or at `max_decoding_length`; if no hypothesis has finished by then,
  the live beams stand as they are;
- hypotheses are ranked by log-probability / ((5 + length) / 6)^alpha, EOS counted
  (Wu et al., 2016, equation 14).

What the graph must not decode next, or must, hangs on the beams' pasts; `bans`, `steps_allowed` and
`forced_token` say it between its runs.
"""

import math
from collections.abc import Iterator, Sequence

from service.engine.types import DecodingOptions, FinishReason, Hypothesis, StopRule


class BeamSearch:
    """One sentence's search: the path of every beam so far, and what has finished."""

    def __init__(self, options: DecodingOptions, eos_id: int) -> None:
        """Begin with one empty beam."""
        self.options = options
        self.eos_id = eos_id
        self.length = 0
        self._counts = options.stop_rule in (StopRule.FIRST, StopRule.NARROW)
        self._narrows = options.stop_rule is StopRule.NARROW
        self._forced = options.forced_tokens
        self._left_out = len(options.start_tokens)
        self._finished: list[Hypothesis] = []
        self._cum_log_probs: Sequence[float] = [0.0]
        self._tokens: list[Sequence[int]] = []
        """Per step, the last token of each live beam; what follows belongs to none."""
        self._parents: list[Sequence[int]] = []
        """Per step, the beam of the step before that each continues."""

    @property
    def is_done(self) -> bool:
        """Whether no further step can change the result."""
        if self.length >= self.options.max_decoding_length:
            return True
        if self._counts:
            return len(self._finished) >= self.options.beam_size
        if self.options.stop_rule is StopRule.BOUND:
            # were all further tokens certain, and as many as may be
            return self._is_behind(self.options.max_decoding_length)
        return self._is_behind(self.length)

    def _is_behind(self, length: int) -> bool:
        """Whether the best live beam, taken to be of this length, is no better than what has finished."""
        wanted = self.options.num_hypotheses
        if len(self._finished) < wanted:
            return False
        best = sorted((hypothesis.score for hypothesis in self._finished), reverse=True)
        return self._cum_log_probs[0] / self._penalty(length) <= best[wanted - 1]

    @property
    def steps_allowed(self) -> int:
        """Steps that may be taken before `bans` or `forced_token` have to be asked again."""
        options, length = self.options, self.length
        if length < len(self._forced) or options.no_repeat_ngram_size:
            return 1
        limit = options.max_decoding_length
        return (
            options.min_decoding_length if length < options.min_decoding_length else limit
        ) - length

    @property
    def forced_token(self) -> int | None:
        """What the only beam decoded last, whatever the graph took for it; None once it is free."""
        forced = self._forced
        return forced[self.length - 1] if 0 < self.length <= len(forced) else None

    def bans(self) -> Iterator[tuple[int, int]]:
        """(beam, token) pairs that the next `steps_allowed` steps must not decode."""
        options = self.options
        everywhere = list(options.suppressed_tokens)
        if self.length < options.min_decoding_length:
            everywhere.append(self.eos_id)
        for token in everywhere:
            for beam in range(options.beam_size):  # all that may come to live in these steps
                yield beam, token
        if options.no_repeat_ngram_size:
            for beam in range(len(self._cum_log_probs)):
                for token in _completions(self._path(beam), options.no_repeat_ngram_size):
                    yield beam, token

    def advance(
        self, scores: Sequence[float], tokens: Sequence[int], parents: Sequence[int]
    ) -> None:
        """Take in one step's candidates, best first; nothing happens once the search is done."""
        if self.is_done:
            return
        if self.length < len(self._forced):
            self._grow([0.0], [self._forced[self.length]], [0])
            return
        width = self._num_beams
        if self.eos_id not in tokens:
            self._grow(scores[:width], tokens, parents)  # the first of them are the live ones
            return
        live: list[tuple[float, int, int]] = []
        for rank, candidate in enumerate(zip(scores, tokens, parents, strict=True)):
            score, token, parent = candidate
            if token == self.eos_id:
                if rank < width and math.isfinite(score):
                    ids = self._path(parent)
                    normalized = score / self._penalty(len(ids) + 1)
                    ids = ids[self._left_out :]
                    self._finished.append(Hypothesis(ids, normalized, FinishReason.END))
            elif len(live) < width:
                live.append(candidate)
        if left := self._num_beams:
            self._grow(*map(list, zip(*live[:left], strict=True)))

    @property
    def _num_beams(self) -> int:
        """How many may live."""
        return self.options.beam_size - (len(self._finished) if self._narrows else 0)

    def hypotheses(self) -> list[Hypothesis]:
        """The best `num_hypotheses`, best first."""
        return self.candidates()[: self.options.num_hypotheses]

    def candidates(self) -> list[Hypothesis]:
        """What was found, best first, at most as many as there are beams; nothing if all was impossible."""
        found = self._finished or [
            Hypothesis(
                self._path(beam)[self._left_out :],
                total / self._penalty(self.length),
                FinishReason.LENGTH,
            )
            for beam, total in enumerate(self._cum_log_probs)
            if math.isfinite(total)
        ]
        ranked = sorted(found, key=lambda hypothesis: -hypothesis.score)
        return ranked[: self.options.beam_size]

    def _grow(
        self, cum_log_probs: Sequence[float], tokens: Sequence[int], parents: Sequence[int]
    ) -> None:
        self.length += 1
        self._cum_log_probs = cum_log_probs
        self._tokens.append(tokens)
        self._parents.append(parents)

    def _penalty(self, length: int) -> float:
        return length_penalty(length, self.options.length_penalty)

    def _path(self, beam: int) -> tuple[int, ...]:
        """The tokens of a live beam, by walking back over its parents."""
        path: list[int] = []
        for tokens, parents in zip(reversed(self._tokens), reversed(self._parents), strict=True):
            path.append(tokens[beam])
            beam = parents[beam]
        return tuple(reversed(path))


def length_penalty(length: int, alpha: float) -> float:
    """What a log-probability is divided by: Wu et al. (2016), equation 14; `length` counts EOS."""
    return float(((5 + length) / 6) ** alpha)


def _completions(path: tuple[int, ...], size: int) -> set[int]:
    """Tokens that, put behind `path`, would make its last `size` tokens a repetition.

    >>> _completions((7, 8, 9, 7, 8), 3)
    {9}
    """
    tail = path[len(path) - size + 1 :]
    if len(tail) < size - 1:
        return set()
    starts = range(len(path) - size + 1)
    return {path[at + size - 1] for at in starts if path[at : at + size - 1] == tail}
