"""One request's way from text to text with one model: sentences, ids, search, text. Knows nothing of HTTP."""

import asyncio
import time
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Items
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal, TypeVar

from service.aligner import Aligner
from service.bundle import Bundle, Direction
from service.engine.types import DecodingOptions, StopRule
from service.errors import (
    AbandonedError,
    DeadlineExceededError,
    LimitExceededError,
    RefusedError,
    TextTooLongError,
)
from service.searcher import Found, Searcher, Work
from service.text.document import Document, Sentence, take_apart
from service.text.segmenter import has_letter
from service.text.tokenizer import Tokenizers
from service.text.words import words_of
from service.translation import OnSentence, TranslatedSentence, Translation, TranslationOptions

Outcome = Literal["ok", "rejected", "cancelled", "expired", "error"]
Kind = TypeVar("Kind")

CHARACTERS_ON_LOOP, CHARACTERS_A_TEXT = 5_000, 50
"""Longer requests are cut and tokenized on another thread, so that the event loop stays free.

A text takes as long as so many characters, even an empty one.
"""


class Translator:
    """Translates with one bundle."""

    def __init__(
        self,
        bundle: Bundle,
        tokenizers: Tokenizers,
        searcher: Searcher,
        aligner: Aligner,
        max_beam_size: int,
        rerank: bool = True,
        on_outcome: Callable[[str, Outcome, int], None] = lambda *_: None,
        on_prepared: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Put the parts together; `max_beam_size` and whether to `rerank` is up to the operator.

        `on_outcome` is told the direction, the outcome and the number of sentences of every request;
        `on_prepared` how many seconds it took to make these sentences of its texts.
        """
        self.manifest = bundle.manifest
        self.tokenizers, self.searcher, self.aligner = tokenizers, searcher, aligner
        self.max_beam_size, self.rerank = max_beam_size, rerank
        self.on_outcome, self.on_prepared = on_outcome, on_prepared

    async def translate(
        self,
        texts: Items[str],
        direction: Direction,
        options: TranslationOptions,
        deadline: float,
        on_sentence: OnSentence | None = None,
    ) -> list[Translation]:
        """Translate every text, all sentences of all of them in flight together.

        Args:
            texts: any texts; their layout comes back as it was.
            direction: one of this bundle's.
            options: of the texts and of the search.
            deadline: by the engine's clock, in seconds, when it is given up.
            on_sentence: told each sentence once, as soon as it is done.

        Raises:
            InvalidRequestError: something in the request is over a limit or unknown.
            RefusedError, AbandonedError, EngineError: it was not done; see `service.errors`.
        """
        decoding = self._decoding(direction, options)
        asked = (texts, direction, decoding, options)
        if sum(map(len, texts)) + CHARACTERS_A_TEXT * len(texts) > CHARACTERS_ON_LOOP:
            documents, work = await asyncio.to_thread(self._prepare, *asked)
        else:
            documents, work = self._prepare(*asked)
        sentences = [sentence for document in documents for sentence in document.sentences]
        teller = _Teller(documents, on_sentence)

        def on_found(at: int, result: Found) -> None:
            decoded = self._decoded(sentences[at], result)
            if decoded.finish != "copied":  # else it may yet be mended
                teller.tell(at, decoded)

        with self._counted(direction, len(sentences)):
            found = await self.searcher.search(work, deadline, on_found if on_sentence else None)
            translated = [
                self._decoded(one, result) for one, result in zip(sentences, found, strict=True)
            ]
            await self._mend_lost(translated, direction, decoding, deadline)
            teller.tell_the_rest(translated)
            if options.align or any(one.tags for one in sentences):
                translated = await self.aligner.align(
                    translated, direction.tag, options.align, deadline
                )
        return _assemble(documents, translated, options.alternatives + 1)

    @contextmanager
    def _counted(self, direction: Direction, sentences: int) -> Iterator[None]:
        """Tell `on_outcome` how what is inside ends."""
        outcome: Outcome = "error"
        try:
            yield
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
            self.on_outcome(f"{direction.source}-{direction.target}", outcome, sentences)

    def _decoding(self, direction: Direction, options: TranslationOptions) -> DecodingOptions:
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
        reverse = None
        if self.rerank and options.rerank and self.manifest.target_vocabulary is None:
            reverse = self.manifest.direction(direction.target, direction.source)
        return DecodingOptions(
            max_decoding_length=options.max_decoding_length or longest,
            beam_size=beam_size,
            num_hypotheses=wanted,
            length_penalty=penalty,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            stop_rule=defaults.stop_rule if penalty >= 0 else StopRule.FIRST,
            reverse_tag=reverse.tag if reverse and defaults.reverse_weight else None,
            reverse_weight=defaults.reverse_weight,
        )

    def _prepare(
        self,
        texts: Items[str],
        direction: Direction,
        decoding: DecodingOptions,
        options: TranslationOptions,
    ) -> tuple[list[Document], list[Work]]:
        """The texts taken apart, and what is asked for each of their sentences."""
        started = time.perf_counter()
        prefix: tuple[int, ...] = ()
        if options.target_prefix:
            prefix = tuple(self.tokenizers.target.encode([options.target_prefix])[0])
        longest = decoding.max_decoding_length
        if prefix and len(prefix) >= longest:
            raise LimitExceededError(
                f"Invalid request: target_prefix parameter has {len(prefix)} tokens and must have fewer than "
                f"max_decoding_length, which is {longest}"
            )
        documents, work = [], []
        for text in texts:
            document = take_apart(text, options.format, options.splitting, options.ignored_tags)
            documents.append(document)
            for index, sentence in enumerate(document.sentences):
                forced = prefix if index == 0 else ()
                work.append(self._work(sentence.text, direction, decoding, forced))
        self.on_prepared(time.perf_counter() - started)
        if len(work) > self.searcher.most_sentences:
            raise LimitExceededError(
                f"Invalid request: it has {len(work)} sentences, the limit is {self.searcher.most_sentences}"
            )
        return documents, work

    def _work(
        self,
        sentence: str,
        direction: Direction,
        decoding: DecodingOptions,
        prefix: tuple[int, ...] = (),
    ) -> Work:
        [ids] = self.tokenizers.source.encode([sentence])
        limit = self.manifest.limits.max_source_length
        if len(ids) + 2 > limit:
            raise TextTooLongError(
                f"Invalid request: a sentence of {len(ids)} tokens exceeds the model's limit of "
                f"{limit - 2}: {sentence[:40]!r}..."
            )
        length = max(len(ids), len(prefix)) + self.manifest.decoding.extra_length
        length = min(length, decoding.max_decoding_length)
        # read back, a translation has a tag and EOS, and encoder and decoder have as many positions
        longest = self.manifest.limits.max_target_length
        reverse_tag = decoding.reverse_tag if length + 2 <= longest else None
        options = replace(
            decoding, max_decoding_length=length, target_prefix=prefix, reverse_tag=reverse_tag
        )
        return (direction.tag, *ids, self.manifest.special_tokens.eos), options

    def _decoded(self, sentence: Sentence, found: Found) -> TranslatedSentence:
        """The texts of a sentence's hypotheses, those that are empty or lost a placeholder left out."""
        texts = self.tokenizers.target.decode([hypothesis.ids for hypothesis in found.hypotheses])
        kept = [
            (text, hypothesis.score)
            for text, hypothesis in zip(texts, found.hypotheses, strict=True)
            if text and sentence.came_through(text)
        ]
        if not kept:
            score = found.hypotheses[0].score
            return TranslatedSentence(sentence, (sentence.text,), (score,), "copied")
        targets, scores = zip(*kept, strict=True)
        return TranslatedSentence(sentence, targets, scores, found.finish)

    async def _mend_lost(
        self,
        translated: list[TranslatedSentence],
        direction: Direction,
        decoding: DecodingOptions,
        deadline: float,
    ) -> None:
        """Translate in pieces the sentences whose placeholders were lost; changes `translated`."""
        lost = [
            at
            for at, one in enumerate(translated)
            if one.finish == "copied" and one.sentence.stand_ins
        ]
        pieces = [
            (at, piece)
            for at in lost
            for piece in translated[at].sentence.pieces
            if has_letter(piece)
            and piece not in (one.name for one in translated[at].sentence.stand_ins)
        ]
        single = replace(decoding, num_hypotheses=1)
        work = [self._work(words_of(piece)[1], direction, single) for _, piece in pieces]
        found, at_once = [], self.searcher.most_sentences
        for start in range(0, len(work), at_once):
            found += await self.searcher.search(work[start : start + at_once], deadline)
        rest = iter(found)
        wanted = {(at, piece) for at, piece in pieces}
        for at in lost:
            before = translated[at]
            parts = []
            for piece in before.sentence.pieces:
                if (at, piece) in wanted:
                    [text] = self.tokenizers.target.decode([next(rest).hypotheses[0].ids])
                    before_words, core, behind_words = words_of(piece)
                    parts += [before_words, text.rstrip(".") or core, behind_words]
                else:
                    parts.append(piece)
            translated[at] = replace(before, targets=("".join(parts),), finish="pieces")


class _Teller:
    """Tells the sentences of some documents, each once, as they are done."""

    def __init__(self, documents: Items[Document], on_sentence: OnSentence | None) -> None:
        self.on_sentence = on_sentence
        self.places = [
            (text, segment)
            for text, document in enumerate(documents)
            for segment in range(len(document.sentences))
        ]
        self.told: set[int] = set()

    def tell(self, at: int, one: TranslatedSentence) -> None:
        """Tell a sentence, unless it has been told."""
        if self.on_sentence is None or at in self.told:
            return
        self.told.add(at)
        restored = one.sentence.restored
        self.on_sentence(*self.places[at], restored(one.sentence.text), restored(one.targets[0]))

    def tell_the_rest(self, translated: Items[TranslatedSentence]) -> None:
        """Tell those that have not been told."""
        for at, one in enumerate(translated):
            self.tell(at, one)


def _assemble(
    documents: Items[Document], translated: Items[TranslatedSentence], count: int
) -> list[Translation]:
    """Sentences back to texts: the n-th alternative of a text is made of its sentences' n-th best."""
    rest = iter(translated)
    translations = []
    for document in documents:
        sentences = tuple(next(rest) for _ in document.sentences)
        ranks = [
            document.assemble(
                [_ranked(one.targets, rank) for one in sentences],
                [_ranked(one.alignments, rank) if one.alignments else None for one in sentences],
            )
            for rank in range(count)
        ]
        others = tuple(dict.fromkeys(text for text in ranks[1:] if text != ranks[0]))
        translations.append(Translation(ranks[0], others, sentences))
    return translations


def _ranked(found: tuple[Kind, ...], rank: int) -> Kind:
    """The one of that rank, or the last."""
    return found[min(rank, len(found) - 1)]
