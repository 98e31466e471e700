"""One request's way from text to text: sentences, ids, engine, ids, layout. Knows nothing of HTTP."""

import asyncio
from collections.abc import Callable
from collections.abc import Sequence as Items
from dataclasses import dataclass, replace
from typing import Literal

from service.bundle import Bundle, Direction
from service.engine.engine import Engine
from service.engine.types import DecodingOptions, Hypothesis, StopRule
from service.errors import (
    AbandonedError,
    DeadlineExceededError,
    LimitExceededError,
    MissingParameterError,
    RefusedError,
    TextTooLongError,
    UnsupportedLanguageError,
)
from service.sentence_cache import SentenceCache
from service.text.segmenter import Segment, split
from service.text.tokenizer import Tokenizer

Outcome = Literal["ok", "rejected", "cancelled", "expired", "error"]

CHARACTERS_ON_LOOP = 5_000
"""Longer requests are cut and tokenized on another thread, so that the event loop stays free."""


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """What a request may say about its search; None is the bundle's default."""

    beam_size: int | None = None
    length_penalty: float | None = None
    alternatives: int = 0
    """How many translations beside the best."""


@dataclass(frozen=True, slots=True)
class TranslatedSentence:
    """One sentence and its translations, best first."""

    source: str
    targets: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Translation:
    """One text's translation."""

    text: str
    alternatives: tuple[str, ...]
    sentences: tuple[TranslatedSentence, ...]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request's texts, cut up."""

    layouts: list[list[Segment]]
    source_ids: list[list[int]]
    """Of every sentence of every text, in order."""


class Translator:
    """Translates with one bundle."""

    def __init__(
        self,
        bundle: Bundle,
        tokenizer: Tokenizer,
        engine: Engine,
        max_beam_size: int,
        max_characters: int,
        cache: SentenceCache,
        on_outcome: Callable[[str, Outcome, int], None] = lambda *_: None,
    ) -> None:
        """Put the parts together; the two limits hold for each request.

        `on_outcome` is told the direction, the outcome and the number of sentences of every request.
        """
        self.manifest = bundle.manifest
        self.tokenizer, self.engine, self.cache = tokenizer, engine, cache
        self.max_beam_size, self.max_characters = max_beam_size, max_characters
        self.on_outcome = on_outcome

    async def translate(
        self,
        texts: Items[str],
        source: str | None,
        target: str | None,
        options: TranslationOptions,
        timeout: float,
    ) -> list[Translation]:
        """Translate every text, all sentences of all of them in flight together.

        Args:
            texts: any texts; their layout comes back as it was.
            source: language code; None where the bundle leaves no choice.
            target: likewise.
            options: of the search.
            timeout: seconds until it is given up.

        Raises:
            InvalidRequestError: something in the request is over a limit or unknown.
            RefusedError, AbandonedError, EngineError: it was not done; see `service.errors`.
        """
        direction = self.choose_direction(source, target)
        decoding = self._decoding(options)
        characters = sum(map(len, texts))
        if characters > self.max_characters:
            raise TextTooLongError(
                f"Invalid request: request ({characters}) exceeds text limit ({self.max_characters})"
            )
        if characters > CHARACTERS_ON_LOOP:
            prepared = await asyncio.to_thread(self._prepare, texts, direction)
        else:
            prepared = self._prepare(texts, direction)
        outcome: Outcome = "error"
        try:
            found = await self._search(prepared.source_ids, decoding, timeout)
            outcome = "ok"
        except RefusedError:
            outcome = "rejected"
            raise
        except DeadlineExceededError:
            outcome = "expired"
            raise
        except (AbandonedError, asyncio.CancelledError):
            outcome = "cancelled"
            raise
        finally:
            self.on_outcome(
                f"{direction.source}-{direction.target}", outcome, len(prepared.source_ids)
            )
        return self._assemble(prepared, found, options)

    def choose_direction(self, source: str | None, target: str | None) -> Direction:
        """The direction for these codes; either may be None where the bundle leaves no choice.

        Raises:
            UnsupportedLanguageError, MissingParameterError: there is none, or more than one.
        """
        directions = self.manifest.directions
        for code, known in (
            (source, {d.source for d in directions}),
            (target, {d.target for d in directions}),
        ):
            if code is not None and code not in known:
                raise UnsupportedLanguageError(f"{code} is not supported")
        fitting = [
            d for d in directions if source in (None, d.source) and target in (None, d.target)
        ]
        if len(fitting) == 1:
            return fitting[0]
        if not fitting:
            raise UnsupportedLanguageError(f"{source} to {target} is not supported")
        name = "target" if target is None and len({d.target for d in fitting}) > 1 else "source"
        raise MissingParameterError(f"Invalid request: missing {name} parameter")

    def _decoding(self, options: TranslationOptions) -> DecodingOptions:
        """Checked options with the bundle's defaults filled in; the length limit is each sentence's own."""
        defaults, wanted = self.manifest.decoding, options.alternatives + 1
        beam_size = options.beam_size or min(max(defaults.beam_size, wanted), self.max_beam_size)
        if beam_size > self.max_beam_size:
            raise LimitExceededError(
                f"Invalid request: beam_size parameter must be <= {self.max_beam_size}, and is {beam_size}"
            )
        if wanted > beam_size:
            raise LimitExceededError(
                f"Invalid request: alternatives parameter must be <= {beam_size - 1} (one less than the "
                f"beams), and is {options.alternatives}"
            )
        penalty = (
            defaults.length_penalty if options.length_penalty is None else options.length_penalty
        )
        return DecodingOptions(
            max_decoding_length=self.manifest.limits.max_target_length,
            beam_size=beam_size,
            num_hypotheses=wanted,
            length_penalty=penalty,
            stop_rule=defaults.stop_rule if penalty >= 0 else StopRule.FIRST,
        )

    def _prepare(self, texts: Items[str], direction: Direction) -> _Prepared:
        layouts = [split(text) for text in texts]
        sentences = [
            segment.text for layout in layouts for segment in layout if segment.is_sentence
        ]
        limit, eos = self.manifest.limits.max_source_length, self.manifest.special_tokens.eos
        source_ids = []
        for sentence, ids in zip(sentences, self.tokenizer.encode(sentences), strict=True):
            if len(ids) + 2 > limit:
                raise TextTooLongError(
                    f"Invalid request: a sentence of {len(ids)} tokens exceeds the model's limit of "
                    f"{limit - 2}: {sentence[:40]!r}..."
                )
            source_ids.append([direction.tag, *ids, eos])
        return _Prepared(layouts, source_ids)

    async def _search(
        self, source_ids: list[list[int]], decoding: DecodingOptions, timeout: float
    ) -> list[list[Hypothesis]]:
        """Every sentence's hypotheses; if this is cancelled, the engine gives them up."""
        extra = self.manifest.decoding.extra_length
        longest = decoding.max_decoding_length
        items = [
            (tuple(ids), replace(decoding, max_decoding_length=min(len(ids) - 2 + extra, longest)))
            for ids in source_ids
        ]
        known = [self.cache.get(item) for item in items]
        asked = [item for item, found in zip(items, known, strict=True) if found is None]
        sequences = self.engine.submit(asked, deadline=self.engine.clock() + timeout)
        try:
            new = await asyncio.gather(*(asyncio.wrap_future(s.future) for s in sequences))
        except BaseException:
            self.engine.abort(sequences)
            raise
        for item, found in zip(asked, new, strict=True):
            self.cache.put(item, found)
        fresh = iter(new)
        return [next(fresh) if found is None else found for found in known]

    def _assemble(
        self, prepared: _Prepared, found: list[list[Hypothesis]], options: TranslationOptions
    ) -> list[Translation]:
        """Hypotheses back to texts: the n-th alternative of a text is made of its sentences' n-th best."""
        decoded = iter(
            self.tokenizer.decode(
                [hypothesis.ids for hypotheses in found for hypothesis in hypotheses]
            )
        )
        targets = iter([[next(decoded) for _ in hypotheses] for hypotheses in found])
        scores = iter([[hypothesis.score for hypothesis in hypotheses] for hypotheses in found])
        translations = []
        for layout in prepared.layouts:
            sentences = [
                TranslatedSentence(segment.text, tuple(next(targets)), tuple(next(scores)))
                for segment in layout
                if segment.is_sentence
            ]
            ranks = [_join(layout, sentences, rank) for rank in range(options.alternatives + 1)]
            others = tuple(dict.fromkeys(text for text in ranks[1:] if text != ranks[0]))
            translations.append(Translation(ranks[0], others, tuple(sentences)))
        return translations


def _join(layout: Items[Segment], sentences: Items[TranslatedSentence], rank: int) -> str:
    """The text with every sentence's translation of that rank, or its last one."""
    translated = iter(sentences)
    parts = []
    for segment in layout:
        if segment.is_sentence:
            targets = next(translated).targets
            parts.append(targets[min(rank, len(targets) - 1)])
        else:
            parts.append(segment.text)
    return "".join(parts)
