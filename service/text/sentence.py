"""The unit that a model translates at once, and how its translation is made readable."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from service.text import stand_ins
from service.text.markup.nesting import outermost
from service.text.markup.projection import project, tree
from service.text.pipeline import Pipeline
from service.text.run import Protected, Run, Tag
from service.text.stand_ins import StandIn
from service.text.words import Alignment, Span


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as a model is to see it, and what it was."""

    text: str
    """Plain, with stand-ins for what is protected."""
    tags: tuple[Tag, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()
    stages: tuple[Run, ...] = (Run(),)
    """What was cut out of the text, and what each rule for sentences made of it."""
    pipeline: Pipeline = field(default=Pipeline())
    """The rules that its translation is restored by."""
    prefix: str = ""
    """With which its translation begins, exactly; with its stand-ins, where those stand for a part of it."""
    around: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Tags in front of and behind all of it, which are no part of it."""

    @property
    def source(self) -> Run:
        """What was cut out of the text."""
        return self.stages[0]

    @property
    def as_written(self) -> str:
        """As it stands in the text."""
        return self.source.with_markup().text

    @property
    def pieces(self) -> list[str]:
        """Its text cut at its stand-ins, which are every second piece: what to translate apart from them."""
        return stand_ins.pieces(self.text, self.stand_ins)

    def beginning(self, prefix: str) -> "Sentence":
        """The same for a translation that begins with a text; in it, stand-ins stand for what they do."""
        is_taken = any(one.name in prefix for one in self.stand_ins)
        found = prepared(self.source, self.pipeline, avoid=prefix) if is_taken else None
        sentence = found or self
        return replace(sentence, prefix=stand_ins.put_in(prefix, sentence.stand_ins))

    def came_through(self, translation: str) -> bool:
        """Whether a translation has all its stand-ins, each once and apart, and all that its rules demand.

        What stands in the prefix may count, or be beside what is demanded.
        """
        if not stand_ins.came_through(translation, self.stand_ins) or self._has_token(translation):
            return False
        texts = dict.fromkeys([translation, translation.removeprefix(self.prefix)])
        return any(self._holds_all(self._with_originals(text)) for text in texts)

    def _has_token(self, translation: str) -> bool:
        """Whether a translation has one of the model's tokens for stand-ins that stands for nothing here."""
        if "<" not in translation:
            return False
        ours = f"{self.text} {self.prefix}"
        return any(one in translation and one not in ours for one in self.pipeline.stand_in_tokens)

    def _holds_all(self, restored: Run) -> bool:
        if stand_ins.num_joints(restored) > stand_ins.num_joints(self.source):
            return False
        return self.pipeline.came_through(self.source, restored)

    def with_more_protected(self, translation: str) -> "Sentence | None":
        """The same with all protected that its rules can; None if that is no more, or too much.

        Args:
            translation: the one that is to be done again.
        """
        source = self._protected(translation)
        if source is self.source:
            return None
        prefix = self._begins_with
        found = prepared(source, self.pipeline, avoid=prefix)
        return found.beginning(prefix) if found and found.around == self.around else None

    def in_pieces(self, translation: str) -> "Sentence | None":
        """The same with all protected that its rules can, to be translated in its `pieces` only.

        None if there are none, or the prefix has something of more than the first.
        """
        found = prepared(self._protected(translation), self.pipeline, for_pieces=True)
        if found is None or not found.stand_ins or found.around != self.around:
            return None
        found = found.beginning(self._begins_with)
        return found if found.prefix == self._begins_with else None

    @property
    def _begins_with(self) -> str:
        """The prefix as it is to be read."""
        return self._with_originals(self.prefix).text

    def _protected(self, translation: str) -> Run:
        return self.pipeline.protect(self.source, self._with_originals(translation))

    def _with_originals(self, translation: str) -> Run:
        """A translation with what its stand-ins stand for."""
        return stand_ins.restored(Run(translation), self.stand_ins)

    def translated(self, text: str, alignment: Alignment | None) -> Run:
        """What a model made of it, as it is to be read; with tags only where there is an alignment."""
        tags: Sequence[Tag] = ()
        if self.tags and alignment is not None:
            tags = project(tree(self.tags, len(self.text)), alignment)
        return self._restored(Run(text, tags, (), self.source.format))

    def readable(self, text: str) -> str:
        """A translation without tags."""
        return self.translated(text, None).with_markup().text

    def words(self, spans: Sequence[Span]) -> list[str]:
        """Its words, as the model sees them, but for the stand-ins."""
        run = stand_ins.restored(Run(self.text, _edges(spans)), self.stand_ins)
        return _stretches(run.with_markup())

    def readable_words(self, text: str, spans: Sequence[Span]) -> list[str]:
        """The words of a translation, as they are in `readable`."""
        return _stretches(self._restored(Run(text, _edges(spans))).with_markup())

    def _restored(self, translation: Run) -> Run:
        begins = self.prefix and translation.text.startswith(self.prefix)
        length = len(self._begins_with) if begins else 0
        restored = stand_ins.restored(translation, self.stand_ins)
        if length:  # around the tags in it, which may be the edges of words
            edges = {0, length, *(tag.at for tag in restored.tags if tag.at < length)}
            pieces = pairwise(sorted(edges))
            restored = restored.protecting([Protected(*piece) for piece in pieces])
        return self.pipeline.restore(self.stages, restored)


def prepared(
    source: Run, pipeline: Pipeline, for_pieces: bool = False, avoid: str = ""
) -> Sentence | None:
    """A sentence out of a text, ready for a model; None if there are not enough stand-ins.

    `for_pieces` no model sees them, so that there always are; those in `avoid` are not taken.
    """
    *stages, last = pipeline.prepare_sentence(source)
    last = stand_ins.joined(last)
    tokens = pipeline.stand_in_tokens
    found = stand_ins.for_pieces(last) if for_pieces else stand_ins.for_model(last, tokens, avoid)
    if found is None:
        return None
    named = last
    if found:
        places = [
            (one.begin, one.end, new.name) for one, new in zip(last.protected, found, strict=True)
        ]
        named = replace(last, protected=()).edited(places)
    if not named.tags:
        return Sentence(named.text, (), tuple(found), (*stages, last), pipeline)
    before, inner, behind = outermost(list(named.tags), 0, len(named.text))
    return Sentence(
        named.text,
        tuple(inner),
        tuple(found),
        (*stages, last),
        pipeline,
        around=(tuple(before), tuple(behind)),
    )


def _edges(spans: Sequence[Span]) -> list[Tag]:
    """Tags of nothing where stretches begin and end, so that they move with what is changed."""
    return [Tag(at, "", "void") for span in spans for at in span]


def _stretches(run: Run) -> list[str]:
    """What is between each two of its tags."""
    ends = [tag.at for tag in run.tags]
    return [run.text[begin:end] for begin, end in zip(ends[::2], ends[1::2], strict=True)]
