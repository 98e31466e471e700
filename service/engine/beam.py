"""The host's part of beam search, which interprets the candidates of each step. Pure Python.

For every step, the graph returns the 2K best continuations of a sentence's beams, best first. The rules:

- An EOS among the first `beam_size` candidates finishes a hypothesis.
- The best `beam_size` candidates other than EOS are the beams of the next step; the graph applies the same
  rule. With the stop rule `narrow`, each finished hypothesis reduces `beam_size` by one in both rules.
- The search ends by its stop rule, or at `max_decoding_length`. If no hypothesis has finished by then, the
  live beams are the hypotheses.
- Hypotheses are ranked by log-probability divided by the length penalty, where the length includes EOS.

Bans and forced tokens depend on the beams' history, which the graph does not know. So they are queried
before each run (`bans`, `steps_allowed`, `forced_token`).
"""

import math
from collections.abc import Iterator, Sequence

from service.engine.types import DecodingOptions, FinishReason, Hypothesis, LengthNorm, StopRule


class BeamSearch:
    """One sentence's search: the paths of its beams, and the finished hypotheses."""

    def __init__(self, options: DecodingOptions, eos_id: int) -> None:
        """Start with one empty beam."""
        self.options = options
        self.eos_id = eos_id
        self.length = 0
        self._counts = options.stop_rule.counts
        self._narrows = options.stop_rule is StopRule.NARROW
        self._forced = options.forced_tokens
        self._left_out = len(options.start_tokens)
        self._finished: list[Hypothesis] = []
        self._cum_log_probs: Sequence[float] = [0.0]
        self._tokens: list[Sequence[int]] = []
        """Per step, the last token of each live beam; further elements are unused."""
        self._parents: list[Sequence[int]] = []
        """Per step, the previous step's beam that each live beam continues."""

    @property
    def is_done(self) -> bool:
        """Whether the search has ended."""
        if self.length >= self.options.max_decoding_length:
            return True
        if self._counts:
            return len(self._finished) >= self.options.beam_size
        if self.options.stop_rule is StopRule.BOUND:
            # the best possible score: all further tokens have probability 1
            return self._is_behind(self.options.max_decoding_length)
        return self._is_behind(self.length)

    def _is_behind(self, length: int) -> bool:
        """Check whether the best live beam, scored at `length`, cannot join the best finished hypotheses."""
        options = self.options
        is_beaten = options.stop_rule is StopRule.BEATEN
        num_wanted = options.beam_size if is_beaten else options.num_hypotheses
        if len(self._finished) < num_wanted:
            return False
        scores = sorted((hypothesis.score for hypothesis in self._finished), reverse=True)
        return self._cum_log_probs[0] / self._penalty(length) <= scores[num_wanted - 1]

    @property
    def steps_allowed(self) -> int:
        """The number of steps for which `bans` and `forced_token` stay valid."""
        options, length = self.options, self.length
        if length < len(self._forced) or options.no_repeat_ngram_size:
            return 1
        if length < options.min_decoding_length:
            return options.min_decoding_length - length
        return options.max_decoding_length - length

    @property
    def forced_token(self) -> int | None:
        """The token that replaces the graph's choice for the last step, or None if none is forced."""
        forced = self._forced
        return forced[self.length - 1] if 0 < self.length <= len(forced) else None

    def bans(self) -> Iterator[tuple[int, int]]:
        """Yield the (beam, token) pairs that the next `steps_allowed` steps must not decode."""
        options = self.options
        if self.length < options.min_decoding_length:
            for beam in range(options.beam_size):  # including beams that appear during these steps
                yield beam, self.eos_id
        if options.no_repeat_ngram_size:
            for beam in range(len(self._cum_log_probs)):
                for token in _completions(self._path(beam), options.no_repeat_ngram_size):
                    yield beam, token

    def advance(
        self, scores: Sequence[float], tokens: Sequence[int], parents: Sequence[int]
    ) -> None:
        """Process one step's candidates, best first; has no effect once the search is done."""
        if self.is_done:
            return
        if self.length < len(self._forced):
            self._grow([0.0], [self._forced[self.length]], [0])
            return
        width = self._num_beams
        if self.eos_id not in tokens:
            self._grow(scores[:width], tokens, parents)  # only the first `width` are live
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
        if num_beams := self._num_beams:
            self._grow(*map(list, zip(*live[:num_beams], strict=True)))

    @property
    def _num_beams(self) -> int:
        """The number of beams that may be live."""
        return self.options.beam_size - (len(self._finished) if self._narrows else 0)

    def candidates(self) -> list[Hypothesis]:
        """Return the best `beam_size` hypotheses, best first; none if every beam has probability 0."""
        hypotheses = self._finished or [
            Hypothesis(
                self._path(beam)[self._left_out :],
                total / self._penalty(self.length),
                FinishReason.LENGTH,
            )
            for beam, total in enumerate(self._cum_log_probs)
            if math.isfinite(total)
        ]
        ranked = sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
        return ranked[: self.options.beam_size]

    def _grow(
        self, cum_log_probs: Sequence[float], tokens: Sequence[int], parents: Sequence[int]
    ) -> None:
        self.length += 1
        self._cum_log_probs = cum_log_probs
        self._tokens.append(tokens)
        self._parents.append(parents)

    def _penalty(self, length: int) -> float:
        return length_penalty(length, self.options)

    def _path(self, beam: int) -> tuple[int, ...]:
        """Return the tokens of a live beam, following its parents backwards."""
        path: list[int] = []
        for tokens, parents in zip(reversed(self._tokens), reversed(self._parents), strict=True):
            path.append(tokens[beam])
            beam = parents[beam]
        return tuple(reversed(path))


def length_penalty(length: int, options: DecodingOptions) -> float:
    """Return the divisor of a log-probability; `length` includes EOS."""
    base = length if options.length_norm is LengthNorm.POWER else (5 + length) / 6
    return float(base**options.length_penalty)


def _completions(path: tuple[int, ...], size: int) -> set[int]:
    """Return the tokens that, appended to `path`, would repeat an n-gram of `size` tokens.

    >>> _completions((7, 8, 9, 7, 8), 3)
    {9}
    """
    tail = path[len(path) - size + 1 :]
    if len(tail) < size - 1:
        return set()
    starts = range(len(path) - size + 1)
    return {path[start + size - 1] for start in starts if path[start : start + size - 1] == tail}
