"""The list of all rules, and their application in order."""

from collections.abc import Sequence
from typing import Any, Self

from pydantic import ValidationError

from service.text.languages import NEUTRAL, Language, profile
from service.text.rules.already import Already
from service.text.rules.casing import Case
from service.text.rules.clauses import Clauses
from service.text.rules.currencies import Currencies
from service.text.rules.dashes import Dashes
from service.text.rules.directions import Directions
from service.text.rules.elements import Elements
from service.text.rules.ellipses import Ellipses
from service.text.rules.end_marks import EndMarks
from service.text.rules.enumerators import Enumerators
from service.text.rules.escapes import Escapes
from service.text.rules.letters import Letters
from service.text.rules.month_names import MonthNames
from service.text.rules.names import Names
from service.text.rules.number_labels import NumberLabels
from service.text.rules.number_words import NumberWords
from service.text.rules.numbers import Numbers
from service.text.rules.operators import Operators
from service.text.rules.placeholders import Placeholders
from service.text.rules.punctuation import Punctuation
from service.text.rules.quotes import Quotes
from service.text.rules.rule import Parameters, Rule, Setting
from service.text.rules.scripts import Scripts
from service.text.rules.slashes import Slashes
from service.text.rules.spelling import Spelling
from service.text.rules.symbols import Symbols
from service.text.rules.unit_words import UnitWords
from service.text.rules.units import Units
from service.text.rules.unknown_names import UnknownNames
from service.text.rules.unread import Unread
from service.text.run import Run
from service.text.tables import Tables
from service.text.tokenizer import Tokenizers

ORDER: tuple[type[Rule], ...] = (
    Placeholders,
    Elements,
    Directions,
    Symbols,
    Scripts,
    Letters,
    Unread,
    Already,
    Spelling,
    Escapes,
    Quotes,
    Dashes,
    Ellipses,
    EndMarks,
    Slashes,
    Operators,
    Enumerators,
    Currencies,
    Units,
    UnitWords,
    NumberLabels,
    Numbers,
    NumberWords,
    MonthNames,
    Punctuation,
    Case,
    Names,
    UnknownNames,
    Clauses,
)
"""The order in which rules prepare a text; they restore its translation in reverse order."""
RULES = {rule.name: rule for rule in ORDER}


def checked(name: str, parameters: dict[str, Any]) -> Parameters:
    """Validate the parameters of a rule.

    Raises:
        ValueError: there is no such rule, or its parameters are invalid.
    """
    if name not in RULES:
        raise ValueError(f"{name!r} is not a rule; the rules are {', '.join(sorted(RULES))}")
    try:
        return RULES[name].parameters.model_validate(parameters)
    except ValidationError as error:
        first_error = error.errors()[0]
        location = ".".join([name, *map(str, first_error["loc"])])
        raise ValueError(f"{location}: {first_error['msg']}") from None


class Pipeline:
    """The rules of one direction of one model."""

    def __init__(self, rules: Sequence[Rule] = (), language: Language = NEUTRAL) -> None:
        """Set the rules, in order, and the source language."""
        self.language = language
        self._rules = tuple(rules)
        self._adapt = [rule for rule in rules if _has(rule, "adapted")]
        self._keep = [rule for rule in rules if _has(rule, "kept")]
        prepare = [rule for rule in rules if _has(rule, "prepare")]
        self._of_runs = _by_words([rule for rule in prepare if rule.scope == "run"])
        self._of_sentences = [rule for rule in prepare if rule.scope == "sentence"]
        self._leave = [rule for rule in rules if _has(rule, "leaves")]
        self._demand = _by_words([rule for rule in rules if _has(rule, "came_through")])
        self._protect = [rule for rule in rules if _has(rule, "protect")]
        stages = {id(rule): stage for stage, rule in enumerate(self._of_sentences)}
        restore = _by_words([rule for rule in reversed(rules) if _has(rule, "restore")])
        self._restore = {
            is_of_words: [(rule, stages.get(id(rule), 0)) for rule in restoring]
            for is_of_words, restoring in restore.items()
        }
        self.placeholders = next(
            (rule for rule in rules if isinstance(rule, Placeholders)), Placeholders()
        )
        self.stand_in_tokens = self.placeholders.tokens
        self.stand_in_kinds = self.placeholders.kinds
        self.clauses = next((rule for rule in rules if isinstance(rule, Clauses)), Clauses(0))

    @classmethod
    def make(
        cls,
        tables: Tables,
        languages: tuple[str, str],
        tokenizers: Tokenizers,
        asked: dict[str, dict[str, Any]],
    ) -> Self:
        """Build the default rules, and those that a bundle names.

        Args:
            tables: the bundle's tables.
            languages: codes of source and target.
            tokenizers: the bundle's tokenizers.
            asked: the parameters of the rules in the manifest, by name.

        Raises:
            ValueError: a rule is unknown, or its parameters are invalid.
            BundleError: a table of the bundle is invalid.
        """
        wanted = {rule.name: checked(rule.name, {}) for rule in ORDER if rule.is_default}
        wanted |= {name: checked(name, parameters) for name, parameters in asked.items()}
        return cls(
            [
                rule.make(Setting(tables, *languages, tokenizers, wanted[rule.name], wanted))
                for rule in ORDER
                if rule.name in wanted
            ],
            profile(languages[0]),
        )

    def adapted(self, texts: Sequence[str]) -> "Pipeline":
        """Return the pipeline for a document with these texts, the same one for most documents."""
        rules = {id(rule): rule.adapted(texts) for rule in self._adapt}
        if all(id(rule) == key for key, rule in rules.items()):
            return self
        return Pipeline([rules.get(id(rule), rule) for rule in self._rules], self.language)

    def kept(self, run: Run) -> Run:
        """Return what is written for a run or sentence without words."""
        for rule in self._keep:
            run = rule.kept(run)
        return run

    def prepare_run(self, run: Run) -> Run:
        """Prepare a run before it is split into sentences."""
        for rule in self._of_runs[run.is_of_words]:
            run = rule.prepare(run)
        return run

    def prepare_sentence(self, sentence: Run) -> tuple[Run, ...]:
        """Return a sentence, followed by the result of each rule; the last one is what the model reads."""
        has_signs, stages = not sentence.is_of_words, [sentence]
        for rule in self._of_sentences:
            does_something = has_signs or not rule.is_of_signs
            stages.append(rule.prepare(stages[-1]) if does_something else stages[-1])
        return tuple(stages)

    def leaves(self, sentence: Run) -> bool:
        """Check whether a sentence must not be translated."""
        return any(rule.leaves(sentence) for rule in self._leave)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Check that a translation has everything that the rules demand."""
        rules = self._demand[source.is_of_words]
        return all(rule.came_through(source, translation) for rule in rules)

    def protect(self, sentence: Run, translation: Run) -> Run:
        """Protect everything in a sentence that a translation lost or might lose."""
        for rule in self._protect:
            sentence = rule.protect(sentence, translation)
        return sentence

    def restore(self, stages: Sequence[Run], translation: Run) -> Run:
        """Undo the rules in the translation of a sentence; `stages` are the results of `prepare_sentence`."""
        for rule, stage in self._restore[stages[0].is_of_words]:
            translation = rule.restore(stages[stage], translation)
        return translation


def _has(rule: Rule, method: str) -> bool:
    """Check whether a rule overrides a method."""
    return getattr(type(rule), method) is not getattr(Rule, method)


def _by_words(rules: list[Rule]) -> dict[bool, list[Rule]]:
    """Return the rules to apply, by whether a run `is_of_words`."""
    return {True: [rule for rule in rules if not rule.is_of_signs], False: rules}
