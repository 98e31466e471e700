"""The interface of a rule."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints

from service.text.languages import Language, profile
from service.text.run import Run
from service.text.tables import Tables
from service.text.tokenizer import Tokenizers

TableName = Annotated[str, StringConstraints(min_length=1, max_length=255)]
"""The name of a table among the bundle's files."""


class Parameters(BaseModel):
    """The parameters that a bundle may set for a rule; by default there are none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def files(self) -> tuple[str, ...]:
        """The bundle's files that the rule reads."""
        return ()


class Table(Parameters):
    """The parameters of a rule with a table."""

    table: TableName

    @property
    def files(self) -> tuple[str, ...]:
        """The table."""
        return (self.table,)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a rule is built from, for one direction of one model."""

    tables: Tables
    """The bundle's tables."""
    source: str
    """The code of the source language."""
    target: str
    """The code of the target language."""
    tokenizers: Tokenizers
    parameters: Parameters
    wanted: Mapping[str, Parameters] = field(default_factory=dict)
    """The parameters of all rules of the direction, by name."""

    @property
    def languages(self) -> tuple[Language, Language]:
        """The profiles of source and target."""
        return profile(self.source), profile(self.target)


class Rule:
    """A change to text before a model reads it, and the inverse change to the translation.

    `restore` undoes what `prepare` did. Rules have no state: `restore` of a rule for sentences is given what
    its `prepare` was given. Neither changes protected parts.
    """

    name: ClassVar[str]
    """The name in a bundle's manifest."""
    scope: ClassVar[Literal["run", "sentence"]] = "run"
    """Whether `prepare` takes runs, before they are split, or their sentences."""
    is_default: ClassVar[bool] = False
    """Whether it is safe for every model, so it is used without being named in the manifest."""
    is_of_signs: ClassVar[bool] = False
    """Whether it never changes a run that `is_of_words`, and so is skipped for one."""
    parameters: ClassVar[type[Parameters]] = Parameters

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for a direction of a bundle.

        Raises:
            BundleError: a table of the bundle is invalid.
        """
        return cls()

    def adapted(self, texts: Sequence[str]) -> Self:
        """Return the rule for a document with these texts, the same one for most documents."""
        return self

    def kept(self, run: Run) -> Run:
        """Return what is written for a run or sentence without words, which no model reads."""
        return run

    def prepare(self, run: Run) -> Run:
        """Return what the model reads instead of a run or sentence."""
        return run

    def leaves(self, sentence: Run) -> bool:
        """Check whether a sentence, before any rule for sentences, must not be translated."""
        return False

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has everything it must have; otherwise, it is translated again."""
        return True

    def protect(self, run: Run, translation: Run) -> Run:
        """Protect everything that a translation must have, before the sentence is translated again."""
        return run

    def restore(self, source: Run, translation: Run) -> Run:
        """Undo `prepare` in the translation of a sentence.

        Args:
            source: what `prepare` was given; for a rule for runs, the sentence in the prepared run.
            translation: the model's translation, with tags and protected parts in their places.
        """
        return translation


class SpellingRule(Rule):
    """A rule that depends on the characters in the source vocabulary."""

    def __init__(self, spells: Callable[[str], bool]) -> None:
        """Use `spells`, which checks whether the vocabulary has a character."""
        self._spells = spells

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule for the source vocabulary."""
        return cls(setting.tokenizers.source.spells)
