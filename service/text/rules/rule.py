"""The interface of a rule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints

from service.text.languages import Language, profile
from service.text.run import Run
from service.text.tables import Tables
from service.text.tokenizer import Tokenizers

TableName = Annotated[str, StringConstraints(min_length=1, max_length=255)]
"""A table among the bundle's files."""


class Parameters(BaseModel):
    """What a bundle may say of a rule: nothing, unless a rule has more."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def files(self) -> tuple[str, ...]:
        """Those of the bundle's files that the rule reads."""
        return ()


class Table(Parameters):
    """Of a rule that looks things up."""

    table: TableName

    @property
    def files(self) -> tuple[str, ...]:
        """The table."""
        return (self.table,)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a rule is made for: one direction of one model."""

    tables: Tables
    """The bundle's."""
    source: str
    target: str
    """Codes of the languages."""
    tokenizers: Tokenizers
    parameters: Parameters
    wanted: Mapping[str, Parameters] = field(default_factory=dict)
    """Of all the direction's rules, by their names."""

    @property
    def languages(self) -> tuple[Language, Language]:
        """What is known of source and target."""
        return profile(self.source), profile(self.target)


class Rule:
    """One thing that is done to a text before a model sees it, and to the model's translation.

    `prepare` and `restore` stand side by side: what one changes, the other puts back. A rule keeps nothing
    of a text: `restore` of a rule for sentences is given what its `prepare` was given. Neither touches what
    is protected.
    """

    name: ClassVar[str]
    """By which a bundle asks for it."""
    scope: ClassVar[Literal["run", "sentence"]] = "run"
    """Whether `prepare` takes runs, before they are cut, or their sentences."""
    is_default: ClassVar[bool] = False
    """Whether it is safe for every model, so that no bundle needs to ask for it."""
    is_of_signs: ClassVar[bool] = False
    """Whether it does nothing about a run that `is_of_words`, and so is not asked about one."""
    parameters: ClassVar[type[Parameters]] = Parameters

    @classmethod
    def make(cls, setting: Setting) -> Self:  # noqa: ARG003 - most rules need nothing
        """The rule as a bundle wants it.

        Raises:
            BundleError: a table of the bundle is not what the rule needs.
        """
        return cls()

    def prepare(self, run: Run) -> Run:
        """What a model is to see in the place of a run, or of a sentence."""
        return run

    def leaves(self, sentence: Run) -> bool:  # noqa: ARG002 - others do
        """Whether a sentence, as it was cut out of its run, is not to be translated at all."""
        return False

    def came_through(self, source: Run, translation: Run) -> bool:  # noqa: ARG002 - others do
        """Whether a translation of a sentence holds all that it must; if not, it is done again."""
        return True

    def protect(self, run: Run, translation: Run) -> Run:  # noqa: ARG002 - others do
        """The sentence, for when it is done again, with all protected that its translation must hold."""
        return run

    def restore(self, source: Run, translation: Run) -> Run:  # noqa: ARG002 - others do
        """The translation of a sentence, with what was prepared undone.

        Args:
            source: what `prepare` was given; for a rule for runs, the sentence as it was cut out of one.
            translation: what the model made of it, tags and protected stretches in their places.
        """
        return translation


class SpellingRule(Rule):
    """One that depends on what the vocabulary of the source has characters for."""

    def __init__(self, spells: Callable[[str], bool]) -> None:
        """`spells` says whether the vocabulary has a character."""
        self._spells = spells

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """For the vocabulary of the source."""
        return cls(setting.tokenizers.source.spells)
