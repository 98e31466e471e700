"""Finds out which stand-ins for placeholders a model copies, by translating sentences with some of each kind.

A model may write names in another script or with an ending, and digits as its language does; see
`service.text.stand_ins`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from export.verify import engine_translations
from service.engine.types import SpecialIds
from service.models.bundle import Bundle, Direction
from service.models.vocabularies import load_tokenizers
from service.text.languages import profile
from service.text.stand_ins import KINDS_BY_NAME, StandIn, came_through, names_of_kinds

logger = logging.getLogger(__name__)

SENTENCES = 12
"""Sentences for each kind and direction."""
MAX_DIRECTIONS = 8
"""Directions in which stand-ins are tried; the others have the default kinds."""
LEAST_SHARE = 0.5
"""Share of the stand-ins of a kind that must come through."""
DISTINCT = 0.25
"""Difference between two such shares that is no chance."""


@dataclass(frozen=True)
class Trial:
    """A sentence with a stand-in, to be translated in a direction."""

    direction: Direction
    kind: str
    name: str
    text: str


def copied_kinds(
    bundle: Bundle, sources: Sequence[Sequence[int]], special: SpecialIds
) -> dict[str, list[str]]:
    """Return the kinds that come through, best first, by direction, where they are not the default ones.

    Args:
        bundle: with graphs that have been verified.
        sources: ids of sentences, from tag to EOS.
        special: the ids of special tokens.

    Raises:
        VerificationError: the engine cannot run the graphs.
    """
    manifest, tokenizers = bundle.manifest, load_tokenizers(bundle)
    before, end = len(manifest.directions[0].prefix), manifest.special_tokens.source_end
    texts = tokenizers.source.decode([ids[before : len(ids) - len(end)] for ids in sources])
    tried = _trials(manifest.directions, texts)
    encoded = tokenizers.source.encode([trial.text for trial in tried])
    found = engine_translations(
        *bundle.graphs(next(iter(manifest.graphs))),
        special,
        [[*trial.direction.prefix, *ids, *end] for trial, ids in zip(tried, encoded, strict=True)],
        [trial.direction.start_tokens for trial in tried],
    )
    translations = [
        tokenizers.translations(trial.text, [best.ids])[0]
        for trial, [best, *_] in zip(tried, found, strict=True)
    ]
    return _best_kinds(tried, translations)


def _trials(directions: Sequence[Direction], texts: Sequence[str]) -> list[Trial]:
    """Put a stand-in of each kind between the words of the shortest of `texts`, for each direction."""
    carriers = sorted((text.split() for text in texts if " " in text.strip()), key=len)
    found = []
    for direction in directions[:MAX_DIRECTIONS]:
        for number, words in enumerate(carriers[:SENTENCES]):
            at = 1 + number % (len(words) - 1)
            for kind, stand_ins in KINDS_BY_NAME.items():
                name = stand_ins[number % len(stand_ins)]
                text = " ".join([*words[:at], name, *words[at:]])
                if text.count(name) == 1:
                    found.append(Trial(direction, kind, name, text))
    return found


def _best_kinds(tried: Sequence[Trial], translations: Sequence[str]) -> dict[str, list[str]]:
    """Return the kinds that came through, best first, by direction, where they are not the default ones."""
    outcomes: dict[Direction, dict[str, list[bool]]] = {}
    for trial, translation in zip(tried, translations, strict=True):
        copied = came_through(translation, [StandIn(trial.name, "", "")])
        outcomes.setdefault(trial.direction, {}).setdefault(trial.kind, []).append(copied)
    found = {}
    for direction, by_kind in outcomes.items():
        shares = {kind: sum(copied) / len(copied) for kind, copied in by_kind.items()}
        usable = [kind for kind in KINDS_BY_NAME if shares.get(kind, 0) >= LEAST_SHARE]
        best_first = sorted(usable, key=lambda kind: -round(shares[kind] / DISTINCT))
        pair = f"{direction.source}-{direction.target}"
        listed = ", ".join(f"{kind} {share:.0%}" for kind, share in shares.items())
        logger.info("%s: copied stand-ins: %s", pair, listed)
        if best_first and best_first != names_of_kinds(profile(direction.target)):
            found[pair] = best_first
    return found
