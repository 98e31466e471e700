"""The list of all rules, in their order."""

from collections.abc import Sequence
from typing import Any, Self

from pydantic import ValidationError

from service.text.languages import NEUTRAL, Language, profile
from service.text.rules.already import Already
from service.text.rules.casing import Case
from service.text.rules.clauses import Clauses
from service.text.rules.directions import Directions
from service.text.rules.elements import Elements
from service.text.rules.ellipses import Ellipses
from service.text.rules.letters import Letters
from service.text.rules.names import Names
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
    Quotes,
    Ellipses,
    Slashes,
    Operators,
    Punctuation,
    Case,
    Names,
    UnknownNames,
    Numbers,
    Clauses,
)
"""In which rules prepare a text; they restore its translation in the opposite one."""
RULES = {rule.name: rule for rule in ORDER}


def checked(name: str, parameters: dict[str, Any]) -> Parameters:
    """The parameters of the rule that has this name.

    Raises:
        ValueError: there is no such rule, or it takes no such parameters.
    """
    if name not in RULES:
        raise ValueError(f"{name!r} is not a rule; the rules are {', '.join(sorted(RULES))}")
    try:
        return RULES[name].parameters.model_validate(parameters)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([name, *map(str, first["loc"])])
        raise ValueError(f"{where}: {first['msg']}") from None


def _has(rule: Rule, method: str) -> bool:
    """Whether a rule does something there."""
    return getattr(type(rule), method) is not getattr(Rule, method)


def _by_words(rules: list[Rule]) -> dict[bool, list[Rule]]:
    """Those that have something to do, by whether a run `is_of_words`."""
    return {True: [rule for rule in rules if not rule.is_of_signs], False: rules}


class Pipeline:
    """The rules of one direction of one model."""

    def __init__(self, rules: Sequence[Rule] = (), language: Language = NEUTRAL) -> None:
        """Take them in, in their order, and the language of the source."""
        self.language = language
        prepare = [rule for rule in rules if _has(rule, "prepare")]
        self._of_runs = _by_words([rule for rule in prepare if rule.scope == "run"])
        self._of_sentences = [rule for rule in prepare if rule.scope == "sentence"]
        self._leave = [rule for rule in rules if _has(rule, "leaves")]
        self._demand = _by_words([rule for rule in rules if _has(rule, "came_through")])
        self._protect = [rule for rule in rules if _has(rule, "protect")]
        stages = {id(rule): stage for stage, rule in enumerate(self._of_sentences)}
        restore = _by_words([rule for rule in reversed(rules) if _has(rule, "restore")])
        self._restore = {
            is_of_words: [(rule, stages.get(id(rule), 0)) for rule in some]
            for is_of_words, some in restore.items()
        }
        placeholders = next((one for one in rules if isinstance(one, Placeholders)), Placeholders())
        self.stand_in_tokens = placeholders.tokens
        self.clauses = next((one for one in rules if isinstance(one, Clauses)), Clauses(0))

    @classmethod
    def make(
        cls,
        tables: Tables,
        languages: tuple[str, str],
        tokenizers: Tokenizers,
        asked: dict[str, dict[str, Any]],
    ) -> Self:
        """The rules that are safe for every model, and those that a bundle asks for.

        Args:
            tables: the bundle's.
            languages: source and target.
            tokenizers: the bundle's.
            asked: parameters of rules, by name.

        Raises:
            ValueError: one is unknown or takes no such parameters.
            BundleError: a table of the bundle is not what a rule needs.
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

    def prepare_run(self, run: Run) -> Run:
        """A run before it is cut into sentences."""
        for rule in self._of_runs[run.is_of_words]:
            run = rule.prepare(run)
        return run

    def prepare_sentence(self, sentence: Run) -> tuple[Run, ...]:
        """A sentence, what each rule makes of it, and so at last what a model is to see."""
        has_signs, stages = not sentence.is_of_words, [sentence]
        for rule in self._of_sentences:
            does_something = has_signs or not rule.is_of_signs
            stages.append(rule.prepare(stages[-1]) if does_something else stages[-1])
        return tuple(stages)

    def leaves(self, sentence: Run) -> bool:
        """Whether a sentence is not to be translated at all."""
        return any(rule.leaves(sentence) for rule in self._leave)

    def came_through(self, source: Run, translation: Run) -> bool:
        """Whether a translation of a sentence holds all that it must."""
        rules = self._demand[source.is_of_words]
        return all(rule.came_through(source, translation) for rule in rules)

    def protect(self, sentence: Run, translation: Run) -> Run:
        """A sentence with all protected that did not, or might not, come through into a translation."""
        for rule in self._protect:
            sentence = rule.protect(sentence, translation)
        return sentence

    def restore(self, stages: Sequence[Run], translation: Run) -> Run:
        """The translation of a sentence as it is to be read; `stages` are those of `prepare_sentence`."""
        for rule, stage in self._restore[stages[0].is_of_words]:
            translation = rule.restore(stages[stage], translation)
        return translation
