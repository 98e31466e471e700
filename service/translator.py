"""One request's way from text to text: sentences, ids, engine, ids, layout. Knows nothing of HTTP."""

import asyncio
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Items
from dataclasses import dataclass, replace
from typing import Literal

from service import guards
from service.bundle import Bundle, Direction
from service.engine.engine import Engine
from service.engine.types import DecodingOptions, FinishReason, Hypothesis, StopRule
from service.errors import (
    AbandonedError,
    DeadlineExceededError,
    LimitExceededError,
    RefusedError,
    TextTooLongError,
)
from service.sentence_cache import SentenceCache
from service.text.detector import Detection
from service.text.segmenter import Segment, Splitting, split
from service.text.tokenizer import Tokenizer

Outcome = Literal["ok", "rejected", "cancelled", "expired", "error"]

Finish = Literal["end", "length", "repetition", "copied"]
"""How a sentence's search ended: by itself, at its limit, done again without a loop, or with nothing at all,
so that the source stands in for it."""

CHARACTERS_ON_LOOP = 5_000
"""Longer requests are cut and tokenized on another thread, so that the event loop stays free."""


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """What a request may say about its search; None is the bundle's default."""

    beam_size: int | None = None
    length_penalty: float | None = None
    alternatives: int = 0
    """How many translations beside the best."""
    max_decoding_length: int | None = None
    """Tokens of a sentence's translation; None: the source's and 50 more."""
    no_repeat_ngram_size: int = 0
    target_prefix: str = ""
    """How the translation of a text's first sentence begins."""
    splitting: Splitting = "all"


@dataclass(frozen=True, slots=True)
class TranslatedSentence:
    """One sentence and its translations, best first."""

    source: str
    targets: tuple[str, ...]
    scores: tuple[float, ...]
    finish: Finish


@dataclass(frozen=True, slots=True)
class Translation:
    """One text's translation."""

    text: str
    alternatives: tuple[str, ...]
    sentences: tuple[TranslatedSentence, ...]
    detected: Detection | None = None
    """Where the source's language was not given."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request's texts, cut up."""

    layouts: list[list[Segment]]
    source_ids: list[list[int]]
    """Of every sentence of every text, in order."""
    is_first: list[bool]
    """Whether it is the first of its text."""


_Work = tuple[tuple[int, ...], DecodingOptions]


class Translator:
    """Translates with one bundle."""

    def __init__(
        self,
        bundle: Bundle,
        tokenizer: Tokenizer,
        engine: Engine,
        max_beam_size: int,
        cache: SentenceCache,
        on_outcome: Callable[[str, Outcome, int], None] = lambda *_: None,
    ) -> None:
        """Put the parts together; `max_beam_size` is the operator's limit.

        `on_outcome` is told the direction, the outcome and the number of sentences of every request.
        """
        self.manifest = bundle.manifest
        self.tokenizer, self.engine, self.cache = tokenizer, engine, cache
        self.max_beam_size = max_beam_size
        self.on_outcome = on_outcome

    async def translate(
        self,
        texts: Items[str],
        direction: Direction,
        options: TranslationOptions,
        deadline: float,
    ) -> list[Translation]:
        """Translate every text, all sentences of all of them in flight together.

        Args:
            texts: any texts; their layout comes back as it was.
            direction: one of this bundle's.
            options: of the search.
            deadline: by the engine's clock, in seconds, when it is given up.

        Raises:
            InvalidRequestError: something in the request is over a limit or unknown.
            RefusedError, AbandonedError, EngineError: it was not done; see `service.errors`.
        """
        decoding = self._decoding(options)
        if sum(map(len, texts)) > CHARACTERS_ON_LOOP:
            prepared = await asyncio.to_thread(self._prepare, texts, direction, options.splitting)
        else:
            prepared = self._prepare(texts, direction, options.splitting)
        prefix = tuple(self.tokenizer.encode([options.target_prefix])[0])
        work = self._work(prepared, decoding, prefix)
        outcome: Outcome = "error"
        try:
            found = await self._search(work, deadline)
            finishes = await self._mend(work, found, deadline)
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
        return self._assemble(prepared, found, finishes, options)

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
        longest = self.manifest.limits.max_target_length
        if (options.max_decoding_length or 0) > longest:
            raise LimitExceededError(
                f"Invalid request: max_decoding_length parameter must be <= {longest}, and is "
                f"{options.max_decoding_length}"
            )
        return DecodingOptions(
            max_decoding_length=options.max_decoding_length or longest,
            beam_size=beam_size,
            num_hypotheses=wanted,
            length_penalty=penalty,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            stop_rule=defaults.stop_rule if penalty >= 0 else StopRule.FIRST,
        )

    def _prepare(self, texts: Items[str], direction: Direction, splitting: Splitting) -> _Prepared:
        layouts = [split(text, splitting) for text in texts]
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
        is_first = [
            at == 0
            for layout in layouts
            for at in range(sum(segment.is_sentence for segment in layout))
        ]
        return _Prepared(layouts, source_ids, is_first)

    def _work(
        self, prepared: _Prepared, decoding: DecodingOptions, prefix: tuple[int, ...]
    ) -> list[_Work]:
        """What is asked of the engine, a sentence each; only a text's first sentence has the prefix."""
        extra, longest = self.manifest.decoding.extra_length, decoding.max_decoding_length
        if prefix and len(prefix) >= longest:
            raise LimitExceededError(
                f"Invalid request: target_prefix parameter has {len(prefix)} tokens and must have fewer than "
                f"max_decoding_length, which is {longest}"
            )
        work = []
        for ids, is_first in zip(prepared.source_ids, prepared.is_first, strict=True):
            forced = prefix if is_first else ()
            length = min(max(len(ids) - 2, len(forced)) + extra, longest)
            work.append(
                (tuple(ids), replace(decoding, max_decoding_length=length, target_prefix=forced))
            )
        return work

    async def _search(self, work: Items[_Work], deadline: float) -> list[list[Hypothesis]]:
        """Every sentence's hypotheses; if this is cancelled, the engine gives them up."""
        known = [self.cache.get(item) for item in work]
        asked = [item for item, found in zip(work, known, strict=True) if found is None]
        sequences = self.engine.submit(asked, deadline)
        try:
            new = await asyncio.gather(*(asyncio.wrap_future(s.future) for s in sequences))
        except BaseException:
            self.engine.abort(sequences)
            raise
        for item, found in zip(asked, new, strict=True):
            self.cache.put(item, found)
        fresh = iter(new)
        return [next(fresh) if found is None else found for found in known]

    async def _mend(
        self, work: Items[_Work], found: list[list[Hypothesis]], deadline: float
    ) -> list[Finish]:
        """Search once more, without repetitions, where a search ran away; better ones go into `found`."""
        finishes: list[Finish] = [
            "end" if best.finish_reason is FinishReason.END else "length" for best, *_ in found
        ]
        suspect = [
            at
            for at, (ids, options) in enumerate(work)
            if guards.is_suspect(ids, found[at][0]) and not options.no_repeat_ngram_size
        ]
        again = [
            (ids, replace(options, no_repeat_ngram_size=guards.NO_REPEAT_NGRAM_SIZE))
            for ids, options in (work[at] for at in suspect)
        ]
        second = await self._search(again, deadline) if again else []
        for at, hypotheses in zip(suspect, second, strict=True):
            if guards.better(work[at][0], found[at], hypotheses):
                found[at], finishes[at] = hypotheses, "repetition"
        return finishes

    def _assemble(
        self,
        prepared: _Prepared,
        found: list[list[Hypothesis]],
        finishes: Items[Finish],
        options: TranslationOptions,
    ) -> list[Translation]:
        """Hypotheses back to texts: the n-th alternative of a text is made of its sentences' n-th best."""
        decoded = iter(
            self.tokenizer.decode(
                [hypothesis.ids for hypotheses in found for hypothesis in hypotheses]
            )
        )
        searched = zip(found, finishes, strict=True)
        translations = []
        for layout in prepared.layouts:
            sentences = [
                _translated(segment.text, *next(searched), decoded)
                for segment in layout
                if segment.is_sentence
            ]
            ranks = [_join(layout, sentences, rank) for rank in range(options.alternatives + 1)]
            others = tuple(dict.fromkeys(text for text in ranks[1:] if text != ranks[0]))
            translations.append(Translation(ranks[0], others, tuple(sentences)))
        return translations


def _translated(
    source: str, hypotheses: Items[Hypothesis], finish: Finish, decoded: Iterator[str]
) -> TranslatedSentence:
    """A sentence with its hypotheses' texts, those without any left out; the source where none is left."""
    pairs = [(next(decoded), hypothesis.score) for hypothesis in hypotheses]
    pairs = [(text, score) for text, score in pairs if text]
    if not pairs:
        pairs, finish = [(source, hypotheses[0].score)], "copied"
    targets, scores = zip(*pairs, strict=True)
    return TranslatedSentence(source, targets, scores, finish)


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
