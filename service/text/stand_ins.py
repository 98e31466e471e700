"""Names and numbers in the places of what is protected: models copy these, and lose `%1$s`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from service.text.run import Protected, Run

NAMES = ("Tom", "Boston", "Max", "Emma", "Berlin", "Anna", "Paris", "Peter")
NUMBERS = ("20", "50", "12", "15", "30")
_FOR_A_NUMBER = re.compile(r"%[^a-zA-Z]*(?:hh|h|ll|l|z|j|t)?[diu]")


@dataclass(frozen=True, slots=True)
class StandIn:
    """A name, or a number for a number, in a sentence, and what it stands for."""

    name: str
    original: str
    """As text; markup, where it has none."""
    written: str
    """As the text's format writes it."""


def joined(run: Run) -> Run:
    """A run in which what is protected and touches, with no tag between, is one."""
    edges = {tag.at for tag in run.tags}
    found: list[Protected] = []
    for one in run.protected:
        if found and found[-1].end == one.begin and one.begin not in edges:
            before = found.pop()
            raws = run.raw(before), run.raw(one)
            are_text = before.raw is None and one.raw is None
            one = Protected(before.begin, one.end, None if are_text else "".join(raws))
        found.append(one)
    return Run(run.text, run.tags, found, run.format)


def stand_ins(run: Run) -> list[StandIn] | None:
    """One for everything that is protected; None where there are not enough, or one would touch a word."""
    if not run.protected:
        return []
    if _any_touches(run):
        return None
    rest = run.unprotected()
    names = iter([name for name in NAMES if name not in rest])
    numbers = iter([number for number in NUMBERS if number not in rest])
    found = []
    for one in run.protected:
        original = run.text[one.begin : one.end]
        chosen = next(numbers if _FOR_A_NUMBER.fullmatch(original) else names, None)
        if chosen is None:
            return None
        raw = run.raw(one)
        found.append(StandIn(chosen, raw if one.raw is not None else original, raw))
    return found


def _any_touches(run: Run) -> bool:
    """Whether names in these places would run into a word, or into one another."""
    text = run.text
    beside = {text[max(0, one.begin - 1) : one.begin] for one in run.protected}
    beside |= {text[one.end : one.end + 1] for one in run.protected}
    return any(re.match(r"\w", one) for one in beside) or any(
        one.end == following.begin for one, following in pairwise(run.protected)
    )


def came_through(translation: str, names: Sequence[str]) -> bool:
    """Whether every stand-in is there exactly once, as a word of its own."""
    return all(len(re.findall(rf"\b{name}\b", translation)) == 1 for name in names)


def pieces(text: str, names: Sequence[str]) -> list[str]:
    """What is before the first stand-in, it, what is before the next, and so on to the end."""
    if not names:
        return [text]
    return re.split("(" + "|".join(rf"\b{name}\b" for name in names) + ")", text)


def restored(translation: Run, found: Sequence[StandIn]) -> Run:
    """A translation with what the stand-ins stand for, protected, in their places."""
    if not found:
        return translation
    by_name = {one.name: one for one in found}
    matches = list(re.finditer("|".join(rf"\b{name}\b" for name in by_name), translation.text))
    raws = {match.start(): by_name[match[0]].written for match in matches}
    protected = [Protected(*match.span(), raws[match.start()]) for match in matches]
    places = [(*match.span(), by_name[match[0]].original) for match in matches]
    return Run(translation.text, translation.tags, protected, translation.format).edited(places)
