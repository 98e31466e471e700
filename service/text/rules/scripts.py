"""Words in scripts that a model cannot write: they come through untouched, as placeholders do."""

import re
from collections.abc import Callable

from service.text.edits import edited, shifted
from service.text.run import PROTECTED, Run

# letters and what goes with them, Latin ones apart: from Greek on, and from Glagolitic on
_LETTERS = (
    "\u0370-\u1cff\u1f00-\u1fff\u2c00-\u2c5f\u2c80-\u2dff\u3001-\ua71f\ua800-\uab2f\uab70-\ud7ff"
    "\uf900-\ufaff\ufb13-\ufeff\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U0003ffff"
)
_WORDS = re.compile(f"[{_LETTERS}]+(?:[ \t\u00a0]+[{_LETTERS}]+)*")


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
