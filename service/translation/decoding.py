"""Decides how a request is searched, from its options, the bundle's defaults and the operator's policy."""

from dataclasses import dataclass

from service.engine.types import DecodingOptions, StopRule
from service.errors import LimitExceededError, quoted
from service.models.bundle import Direction, Manifest
from service.translation.options import TranslationOptions


@dataclass(frozen=True, slots=True)
class SearchPolicy:
    """The operator's limits and defaults for a model."""

    max_beam_size: int
    """The largest beam size that requests may use."""
    rerank: bool = False
    """The default for requests."""


def decoding_options(
    manifest: Manifest,
    direction: Direction,
    options: TranslationOptions,
    policy: SearchPolicy,
) -> DecodingOptions:
    """Return a request's options, with the bundle's defaults and the length limit of the longest sentence.

    Raises:
        LimitExceededError: an option exceeds the model's or the operator's limit.
    """
    defaults, num_hypotheses = manifest.decoding, options.alternatives + 1
    max_beam_size = policy.max_beam_size
    beam_size = options.beam_size or min(max(defaults.beam_size, num_hypotheses), max_beam_size)
    if beam_size > max_beam_size:
        raise LimitExceededError(
            f"Invalid request: beam_size parameter must be <= {max_beam_size}, but is "
            f"{quoted(beam_size)}"
        )
    if num_hypotheses > beam_size:
        raise LimitExceededError(
            f"Invalid request: alternatives parameter must be <= {beam_size - 1} (one less than the "
            f"beams), but is {quoted(options.alternatives)}"
        )
    longest, rule = manifest.limits.max_target_length, defaults.stop_rule
    if (options.max_decoding_length or 0) > longest:
        raise LimitExceededError(
            f"Invalid request: max_decoding_length parameter must be <= {longest}, but is "
            f"{quoted(options.max_decoding_length)}"
        )
    reranks = policy.rerank if options.rerank is None else options.rerank
    channel = None
    if reranks and defaults.channel_weight:
        channel = manifest.channel_direction(direction)
    penalty = options.length_penalty
    if penalty is None and channel:
        penalty = defaults.channel_length_penalty
    if penalty is None:
        penalty = defaults.length_penalty
    return DecodingOptions(
        max_decoding_length=options.max_decoding_length or longest,
        beam_size=beam_size,
        num_hypotheses=num_hypotheses,
        length_penalty=penalty,
        length_norm=defaults.length_norm,
        no_repeat_ngram_size=options.no_repeat_ngram_size,
        stop_rule=StopRule.FIRST if penalty < 0 and rule is StopRule.BOUND else rule,
        channel_tag=channel.tag if channel else None,
        channel_weight=defaults.channel_weight,
    )
