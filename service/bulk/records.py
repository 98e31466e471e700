"""Where in a line the text stands that is translated: all of it, a column, or a field of a JSON object.

Whatever stands around the text comes through byte for byte.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from service.text.surrogates import unpaired_surrogate

NEW_FIELD = "translation"
"""In which the translation comes, where the text itself is kept."""
_END = re.compile(r"\r?\n?\Z")
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def _plain(translation: str) -> str:
    return translation.replace("\n", " ")


def _cell(translation: str) -> str:
    return _plain(translation).replace("\t", " ")


def _json(translation: str) -> str:
    return json.dumps(translation, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Record:
    """A line, taken apart."""

    line: str
    """With its end."""
    text: str = ""
    """What is translated; nothing where there is nothing, or a problem."""
    before: str = ""
    """What stands before its translation."""
    behind: str = ""
    write: Callable[[str], str] = _plain
    """The translation as it stands in the line."""
    problem: str = ""
    """Why the line stays as it is."""

    def translated(self, translation: str) -> str:
        """The line with the translation."""
        return f"{self.before}{self.write(translation)}{self.behind}" if self.text else self.line


class Layout(Protocol):
    """How lines are taken apart."""

    def read(self, line: str) -> Record:
        """What is translated of a line."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The whole line is the text."""

    def read(self, line: str) -> Record:
        """See `Layout`."""
        text, end = _without_end(line)
        return Record(line, text, behind=end)


@dataclass(frozen=True, slots=True)
class Column:
    """The text is a column of tab-separated ones."""

    number: int
    """From 1."""
    keep: bool = False
    """Whether the text stays, and its translation becomes the last column."""

    def read(self, line: str) -> Record:
        """See `Layout`."""
        row, end = _without_end(line)
        if not row:
            return Record(line)
        cells = row.split("\t")
        if len(cells) < self.number:
            return Record(line, problem=f"it has no column {self.number}, only {len(cells)}")
        text = cells[self.number - 1]
        if self.keep:
            # a row without a text gets an empty column: all rows have equally many
            return Record(f"{row}\t{end}", text, f"{row}\t", end, _cell)
        begin = sum(len(cell) + 1 for cell in cells[: self.number - 1])
        return Record(line, text, row[:begin], row[begin + len(text) :] + end, _cell)


@dataclass(frozen=True, slots=True)
class Field:
    """The text is a field of a JSON object."""

    name: str
    keep: bool = False
    """Whether the text stays, and its translation becomes a field of its own."""

    def read(self, line: str) -> Record:
        """See `Layout`."""
        if line.isspace() or not line:
            return Record(line)
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            return Record(line, problem=f"it is not JSON: {error}")
        if not isinstance(value, dict):
            return Record(line, problem="it is not a JSON object")
        text = value.get(self.name)
        if not isinstance(text, str):
            said = f"is {_json_kind(text)}, not a string" if self.name in value else "is missing"
            return Record(line, problem=f"its field {self.name} {said}")
        if (place := unpaired_surrogate(text)) is not None:
            problem = f"its field {self.name} has an unpaired surrogate at character {place}"
            return Record(line, problem=problem)
        if self.keep and NEW_FIELD in value:
            return Record(line, problem=f"it has a field {NEW_FIELD} already")
        begin, end = _place_of_value(line, self.name)
        if self.keep:
            return Record(line, text, f'{line[:end]}, "{NEW_FIELD}": ', line[end:], _json)
        return Record(line, text, line[:begin], line[end:], _json)


def _without_end(line: str) -> tuple[str, str]:
    """A line, and its end where it has one."""
    found = _END.search(line)
    assert found is not None
    return line[: found.start()], found.group()


def _place_of_value(line: str, name: str) -> tuple[int, int]:
    """Where the value of a field begins and ends in a line that is a JSON object and has it; the last counts.

    >>> _place_of_value('{"a": 1, "b": "c"}', "b")
    (14, 17)
    """
    place, at = (0, 0), _behind_space(line, 0) + 1  # behind the brace
    while True:
        key, at = _DECODER.raw_decode(line, _behind_space(line, at))
        begin = _behind_space(line, _behind_space(line, at) + 1)  # behind the colon
        _, at = _DECODER.raw_decode(line, begin)
        if key == name:
            place = begin, at
        at = _behind_space(line, at)
        if line[at] == "}":
            return place
        at += 1  # the comma


def _behind_space(line: str, at: int) -> int:
    found = _SPACE.match(line, at)
    assert found is not None
    return found.end()


def _json_kind(value: object) -> str:
    kinds = {type(None): "null", bool: "a boolean", list: "an array", dict: "an object"}
    return kinds.get(type(value), "a number")
