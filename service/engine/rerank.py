"""Ranks a sentence's hypotheses by both directions: how likely each is, and how likely the source from it.

A translation that leaves something out may be likely; that the source comes back from it is not. So is the
noisy channel of Yee, Dauphin and Auli (2019), "Simple and Effective Noisy Channel Modeling for Neural Machine
Translation", of a network that has both directions. Each sentence is scored by itself, so that what it
becomes depends on its own hypotheses alone.
"""

from collections.abc import Sequence as Items

from service.engine import cache
from service.engine.beam import length_penalty
from service.engine.runner import ModelRunner
from service.engine.types import Hypothesis, Sequence, SpecialIds

MARGIN = 1.0
"""A hypothesis whose score is so far below the best one's stays behind it, and costs nothing."""
MOST_TOKENS = 128
"""Of a source or hypothesis; sentences with longer ones stay as they are: models have seen few such."""
TOKENS_AT_ONCE = 256
"""Hypotheses that are scored together, times the longest; bounds memory: each has a row of the vocabulary."""


def rerank(
    found: list[Hypothesis], sequence: Sequence, runner: ModelRunner, special: SpecialIds
) -> list[Hypothesis]:
    """Hypotheses, best first, in their new order; all as they are for a sentence that does not ask for it."""
    options = sequence.options
    if options.reverse_tag is None:
        return found
    near = [one for one in found if one.score >= found[0].score - MARGIN]
    longest = max(len(sequence.source_ids), *(len(one.ids) for one in found))
    if len(near) == 1 or longest > MOST_TOKENS:
        return found
    reverse_sources = [(options.reverse_tag, *one.ids, special.eos) for one in near]
    target = (special.bos, *sequence.source_ids[1:])  # without its tag
    backward = _log_probs(reverse_sources, target, runner, special)

    def by_both(place: int) -> float:
        length = len(near[place].ids) + 1
        penalty = length_penalty(length, options.length_penalty)
        return near[place].score + options.reverse_weight * backward[place] / penalty

    order = sorted(range(len(near)), key=by_both, reverse=True)
    return [near[place] for place in order] + found[len(near) :]


def _log_probs(
    sources: Items[Items[int]], target: Items[int], runner: ModelRunner, special: SpecialIds
) -> list[float]:
    """Of one target, given each of the sources."""
    longest = max(len(target), *map(len, sources))
    at_once = max(1, TOKENS_AT_ONCE // longest)
    scores: list[float] = []
    for start in range(0, len(sources), at_once):
        some = sources[start : start + at_once]
        source_ids, bias = cache.pad(some, special.pad)
        target_ids, _ = cache.pad([target] * len(some), special.pad)
        scores += runner.score(source_ids, bias, target_ids).tolist()
    return scores
