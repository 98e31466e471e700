"""What the text rooms ask of a model's vocabulary."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Of the language that is translated from."""

    spells: Callable[[str], bool] = lambda _: True
    """Whether it has a letter."""
    usual_case: Callable[[str], str] = str
    """A word in the case that it has mostly."""
    capitalizes_nouns: bool = False
    """Whether the language does."""
