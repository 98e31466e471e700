"""Prepares a request for the engine: checks its options, splits its texts into sentences, tokenizes them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

from service.engine.types import DecodingOptions, Work, tokens_of
from service.errors import InvalidRequestError, LimitExceededError, TextTooLongError, quoted
from service.models.bundle import Direction, Manifest
from service.text.document import Document, parts_of
from service.text.memory import EMPTY, Memory
from service.text.pipeline import Pipeline
from service.text.sentence import Sentence
from service.text.tokenizer import Tokenizers
from service.translation.offload import Check
from service.translation.options import TranslationOptions


@dataclass(frozen=True, slots=True)
class Task:
    """A sentence, and the searches for its translation."""

    sentence: Sentence
    clauses: list[str]
    """The sentence's text, or its clauses if it is long."""
    work: list[Work]
    """The search for each clause; none if the sentence is remembered and no alternatives are wanted."""
    remembered: str | None = None
    """Its translation in the memory."""

    @property
    def tokens(self) -> int:
        """Tokens of its searches, see `tokens_of`."""
        return sum(tokens_of(*work) for work in self.work)


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """The maximum size of a request."""

    sentences: float = inf
    """Number of sentences; each clause of a long sentence counts as one."""
    tokens: float = inf
    """Number of tokens of all searches, see `tokens_of`."""

    def check(self, sentences: int, tokens: int) -> None:
        """Check the size of a request so far.

        Raises:
            LimitExceededError: it is larger.
        """
        if sentences > self.sentences:
            raise LimitExceededError(
                f"Invalid request: it has more than {self.sentences} sentences, which is the limit"
            )
        if tokens > self.tokens:
            raise LimitExceededError(
                f"Invalid request: its sentences and their translations have {tokens} tokens or more, "
                f"and the limit is {self.tokens}"
            )


MAX_LENGTHS = 1024
"""Number of cached `DecodingOptions`, which depend on the length of the translation."""


class Preparation:
    """Prepares all requests with the same model, direction and options."""

    def __init__(
        self,
        manifest: Manifest,
        tokenizers: Tokenizers,
        direction: Direction,
        options: TranslationOptions,
        decoding: DecodingOptions,
        pipeline: Pipeline,
        size_limit: SizeLimit = SizeLimit(),
        memory: Memory = EMPTY,
    ) -> None:
        """Check the prefix; `decoding` are the options of the longest possible sentence.

        Raises:
            LimitExceededError: the prefix leaves no room for a translation.
            InvalidRequestError: the prefix has characters that the model cannot write.
        """
        self.manifest, self.tokenizers = manifest, tokenizers
        self.direction, self.options, self.decoding = direction, options, decoding
        self.pipeline, self.size_limit = pipeline, size_limit
        # both ask for a translation that only a search finds
        has_limits = bool(options.target_prefix) or options.max_decoding_length is not None
        self._memory = EMPTY if has_limits else memory
        self._decoding_for = lru_cache(MAX_LENGTHS)(self._make_decoding)
        self._prefix: tuple[int, ...] = ()
        self._begins_with = ""
        if options.target_prefix:
            self._prefix = self._ids(options.target_prefix)
            self._check_prefix(options.target_prefix)
            [self._begins_with] = tokenizers.target.decode([self._prefix])
        longest = decoding.max_decoding_length
        if len(self._prefix) >= longest:
            raise LimitExceededError(
                f"Invalid request: target_prefix parameter has {len(self._prefix)} tokens and must have "
                f"fewer than max_decoding_length, which is {longest}"
            )

    def _check_prefix(self, text: str) -> None:
        """Check that a prefix has no unknown token, which vocabularies without byte tokens may produce.

        Raises:
            InvalidRequestError: it has one.
        """
        unknown = self.tokenizers.target.special_ids.get("unk")
        if unknown in self._prefix:
            unwritable = (
                character
                for character in text
                if unknown in self.tokenizers.target.encode([character.strip()])[0]
            )
            raise InvalidRequestError(
                f"Invalid request: target_prefix parameter has characters that the model cannot write: "
                f"{quoted(''.join(dict.fromkeys(unwritable)) or text)}"
            )

    def take_apart(
        self, texts: Sequence[str], check: Check = lambda: None
    ) -> tuple[list[Document], list[Task]]:
        """Split the texts, and prepare their sentences.

        A text that cannot be translated is one part, which is preserved, with the error.

        Args:
            texts: any texts.
            check: called at least once per sentence; an error that it raises ends the work.

        Raises:
            LimitExceededError: there are more sentences or tokens than the limit, as soon as this is known.
        """
        documents: list[Document] = []
        tasks: list[Task] = []
        sentences = tokens = 0
        for text in texts:
            try:
                document, text_tasks = self._take_apart(text, sentences, tokens, check)
            except TextTooLongError as error:
                document, text_tasks = Document((text,), error.with_traceback(None)), []
            documents.append(document)
            tasks += text_tasks
            sentences += sum(len(task.work) for task in text_tasks)
            tokens += sum(task.tokens for task in text_tasks)
        return documents, tasks

    def _take_apart(
        self, text: str, sentences: int, tokens: int, check: Check
    ) -> tuple[Document, list[Task]]:
        """Do the same for one text; `sentences` and `tokens` are the size of the texts before it."""
        options = self.options
        form, ignored = options.format, options.ignored_tags
        splitting = options.splitting or ("sentences" if form == "html" else "all")

        parts: list[str | Sentence] = []
        num_sentences = sentences
        for part in parts_of(text, form, splitting, ignored, self.pipeline):
            check()
            parts.append(part)
            if isinstance(part, Sentence):
                num_sentences += 1
                self.size_limit.check(num_sentences, tokens)
        document, tasks = Document.of(parts, text, form), []
        for index, sentence in enumerate(document.sentences):
            if index == 0 and self._begins_with:
                sentence = sentence.beginning(self._begins_with)
            task = self.task(sentence)
            tasks.append(task)
            sentences, tokens = sentences + len(task.work), tokens + task.tokens
            check()
            self.size_limit.check(sentences, tokens)
        return document, tasks

    def forced(self, sentence: Sentence) -> tuple[Sentence, tuple[int, ...]]:
        """Return a sentence, and the ids with which its translation must begin.

        If the stand-ins in its prefix make it too long, or the model cannot write them, the prefix is used
        without stand-ins.
        """
        if sentence.prefix in ("", self._begins_with):
            return sentence, self._prefix if sentence.prefix else ()
        ids = self._ids(sentence.prefix)
        is_short = len(ids) < self.decoding.max_decoding_length
        if is_short and self.tokenizers.target.decode([ids]) == [sentence.prefix]:
            return sentence, ids
        return replace(sentence, prefix=self._begins_with), self._prefix

    def _ids(self, target: str) -> tuple[int, ...]:
        """Return the ids of a text in the target language."""
        return tuple(self.tokenizers.target.encode([target])[0])

    def work(
        self,
        text: str,
        max_tokens: int,
        prefix: tuple[int, ...] = (),
        num_hypotheses: int | None = None,
        written: str | None = None,
    ) -> Work:
        """Return the search for a sentence or a part of one.

        Args:
            text: the text as the model reads it.
            max_tokens: limit for the translation.
            prefix: ids with which the translation must begin.
            num_hypotheses: the request's by default.
            written: the text as the client wrote it, for error messages.

        Raises:
            TextTooLongError: the text exceeds the model's limit.
        """
        [ids] = self.tokenizers.source.encode([text])
        self._check_length(written or text, len(ids))
        length = max(len(ids), len(prefix)) + self.manifest.decoding.extra_length
        num_wanted = num_hypotheses or self.decoding.num_hypotheses
        options = self._decoding_for(min(length, max_tokens), prefix, num_wanted)
        end = self.manifest.special_tokens.source_end
        return (*self.direction.prefix, *ids, *end), options

    def _make_decoding(
        self, length: int, prefix: tuple[int, ...], num_hypotheses: int
    ) -> DecodingOptions:
        """Return the options for a translation of at most `length` tokens."""
        length += len(self.direction.start_tokens)
        # reranking encodes a translation with tag and EOS; encoder and decoder have the same limit
        can_be_read_back = length + 2 <= self.manifest.limits.max_target_length
        return replace(
            self.decoding,
            max_decoding_length=length,
            target_prefix=prefix,
            start_tokens=self.direction.start_tokens,
            channel_tag=self.decoding.channel_tag if can_be_read_back else None,
            num_hypotheses=num_hypotheses,
        )

    def task(self, sentence: Sentence) -> Task:
        """Prepare a sentence, which is cut into clauses if it is long, or remembered."""
        remembered = None
        if not (sentence.tags or sentence.stand_ins):
            remembered = self._memory.find(sentence.text)
        if remembered is not None and self.decoding.num_hypotheses == 1:
            return Task(sentence, [], [], remembered)
        sentence, prefix = self.forced(sentence)
        longest, clauses = self.decoding.max_decoding_length, [sentence.text]
        if self.options.splitting != "none":
            clauses = self.pipeline.clauses.cut(sentence.text)
        max_tokens = [longest] * len(clauses)
        if len(clauses) > 1 and (self.options.align or sentence.tags):
            max_tokens = self._shares(sentence, clauses)
        if len(prefix) >= max_tokens[0]:
            clauses, max_tokens = [sentence.text], [longest]
        work = [
            self.work(clause, tokens, prefix * (index == 0), written=sentence.as_written)
            for index, (clause, tokens) in enumerate(zip(clauses, max_tokens, strict=True))
        ]
        return Task(sentence, clauses, work, remembered)

    def _shares(self, sentence: Sentence, clauses: list[str]) -> list[int]:
        """Limit the tokens of each clause's translation, so that the aligner can read them all at once.

        Raises:
            TextTooLongError: the aligner cannot read the sentence.
        """
        lengths = [len(ids) for ids in self.tokenizers.source.encode(clauses)]
        total = sum(lengths)
        self._check_length(sentence.as_written, total)
        marks = 2 * len(clauses)  # punctuation between the clauses
        room = self.manifest.limits.max_target_length - marks
        longest = self.decoding.max_decoding_length
        return [max(1, min(longest, room * length // max(1, total))) for length in lengths]

    def _check_length(self, text: str, tokens: int) -> None:
        """Check that the model can read so many tokens; `text` is for the error message."""
        num_added = len(self.direction.prefix) + len(self.manifest.special_tokens.source_end)
        limit = self.manifest.limits.max_source_length - num_added
        if tokens > limit:
            raise TextTooLongError(
                f"Invalid request: a sentence of {tokens} tokens exceeds the model's limit of {limit}: "
                f"{quoted(text)}"
            )
