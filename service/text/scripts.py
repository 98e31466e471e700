"""Words in scripts that a model cannot write: they come through untouched, as placeholders do."""

from collections.abc import Callable

import regex

from service.text.edits import edited, shifted
from service.text.markup import PROTECTED, Run

# what belongs to a few scripts and not to Latin, punctuation and figures too; ASCII is first, which is faster
_WORD = r"(?:[^\x00-\x7f\p{scx=Latin}\p{scx=Common}\p{scx=Inherited}]\p{M}*+)++"
_WORDS = regex.compile(rf"{_WORD}(?:[\t\p{{Zs}}]++{_WORD})*+")


def shielded(run: Run, spells: Callable[[str], bool]) -> Run:
    """A run in which words of another script with a letter that `spells` denies are protected."""
    places = [
        (*match.span(), PROTECTED)
        for match in _WORDS.finditer(run.text)
        if any(one.isalpha() and not spells(one) for one in set(match.group()))
    ]
    if not places:
        return run
    new = edited(run, places)
    raws = [run.text[first:last] for first, last, _ in places]
    ends = shifted([last for _, last, _ in places], places)
    new.protected = sorted(
        [*new.protected, *((end - 1, end, raw) for end, raw in zip(ends, raws, strict=True))]
    )
    return new
