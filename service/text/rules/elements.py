"""Elements that are not around words of a sentence: an image between two spaces, the 2 of a square metre."""

import re
from dataclasses import replace
from typing import ClassVar

from service.text.rules.rule import Rule
from service.text.run import Place, Protected, Run

_RAISED = re.compile(r"<(?:sub|sup)\b", re.IGNORECASE)
_LONGEST_UNIT = 3
"""Letters: behind a longer word, what is raised is a footnote's number."""


class Elements(Rule):
    """Keeps units and formulas whole, footnotes' numbers out of words, and spaces beside what is empty."""

    name: ClassVar[str] = "elements"
    is_default: ClassVar[bool] = True

    def prepare(self, run: Run) -> Run:
        """The run with such elements protected, or as single tags."""
        return _with_one_space(_whole(run)) if run.tags else run


def _whole(run: Run) -> Run:
    """With words protected in which something is raised or lowered: `m<sup>2</sup>`, `H<sub>2</sub>O`."""
    found: list[Protected] = []
    for tag, following in zip(run.tags, run.tags[1:], strict=False):
        if tag.kind != "open" or following.kind != "close" or not _RAISED.match(tag.raw):
            continue
        begin, end = tag.at, following.at
        while begin > 0 and run.text[begin - 1].isalnum():
            begin -= 1
        is_footnote = tag.raw[1:4].lower() == "sup" and tag.at - begin > _LONGEST_UNIT
        if is_footnote or (found and found[-1].end > begin):
            continue
        while end < len(run.text) and run.text[end].isalnum():
            end += 1
        found.append(Protected(begin, end))
    return run.protecting(found)


def _with_one_space(run: Run) -> Run:
    """With the second of two spaces around a single tag as a part of it."""
    places: list[Place] = []
    tags = list(run.tags)
    for index, tag in enumerate(tags):
        around = run.text[max(0, tag.at - 1) : tag.at + 1]
        if tag.kind == "void" and around == "  " and (not places or places[-1][0] < tag.at):
            tags[index] = replace(tag, raw=f"{tag.raw} ")
            places.append((tag.at, tag.at + 1, ""))
    return replace(run, tags=tags).edited(places)
