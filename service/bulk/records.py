"""Layouts of lines: the text to translate is the whole line, a column, or a field of a JSON object.

Everything around the text is preserved byte for byte.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from service.text.surrogates import unpaired_surrogate

NEW_FIELD = "translation"
"""The field for the translation if the text is kept."""
_END = re.compile(r"\r?\n?\Z")
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def _line(translation: str) -> str:
    return translation.replace("\n", " ")


@dataclass(frozen=True, slots=True)
class Record:
    """A line, split into the text to translate and what surrounds its translation."""

    line: str
    """The line to write if nothing is translated, with its line ending."""
    text: str = ""
    """The text to translate; empty if there is none, or if there is a problem."""
    before: str = ""
    after: str = ""
    write: Callable[[str], str] = _line
    """Encodes a translation for its place in the line."""
    problem: str = ""
    """The reason why the line is left unchanged."""

    def translated(self, translation: str) -> str:
        """Return the line with the translation."""
        return f"{self.before}{self.write(translation)}{self.after}" if self.text else self.line


class Layout(Protocol):
    """The way in which lines are split."""

    def read(self, line: str) -> Record:
        """Split a line."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The whole line is the text."""

    def read(self, line: str) -> Record:
        """See `Layout`."""
        text, end = _split_end(line)
        return Record(line, text, after=end)


@dataclass(frozen=True, slots=True)
class Column:
    """The text is one of several tab-separated columns."""

    number: int
    """From 1."""
    keep: bool = False
    """Keep the text, and append the translation as the last column."""

    def read(self, line: str) -> Record:
        """See `Layout`."""
        row, end = _split_end(line)
        if not row:
            return Record(line)
        cells = row.split("\t")
        if len(cells) < self.number:
            return Record(line, problem=f"it has no column {self.number}, only {len(cells)}")
        text = cells[self.number - 1]
        if self.keep:
            # a row without text gets an empty column, so that all rows have the same number
            return Record(f"{row}\t{end}", text, f"{row}\t", end, _cell)
        start = sum(len(cell) + 1 for cell in cells[: self.number - 1])
        return Record(line, text, row[:start], row[start + len(text) :] + end, _cell)


@dataclass(frozen=True, slots=True)
class Field:
    """The text is a field of a JSON object."""

    name: str
    keep: bool = False
    """Keep the text, and add the translation as the field `NEW_FIELD`."""

    def read(self, line: str) -> Record:
        """See `Layout`."""
        if line.isspace() or not line:
            return Record(line)
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            return Record(line, problem=f"it is not JSON: {error}")
        except ValueError:
            return Record(line, problem="it has a number of more than 4,300 digits")
        except RecursionError:
            return Record(line, problem="it is nested too deeply")
        if not isinstance(value, dict):
            return Record(line, problem="it is not a JSON object")
        text = value.get(self.name)
        if not isinstance(text, str):
            fault = f"is {_json_kind(text)}, not a string" if self.name in value else "is missing"
            return Record(line, problem=f"its field {self.name} {fault}")
        if (position := unpaired_surrogate(text)) is not None:
            problem = f"its field {self.name} has an unpaired surrogate at character {position}"
            return Record(line, problem=problem)
        if self.keep and NEW_FIELD in value:
            return Record(line, problem=f"it has a field {NEW_FIELD} already")
        start, end = _span_of_value(line, self.name)
        if self.keep:
            # a row without text gets an empty translation, so that all rows have the same fields
            before, after = f'{line[:end]}, "{NEW_FIELD}": ', line[end:]
            return Record(f'{before}""{after}', text, before, after, _json)
        return Record(line, text, line[:start], line[end:], _json)


def _cell(translation: str) -> str:
    return _line(translation).replace("\t", " ")


def _json(translation: str) -> str:
    return json.dumps(translation, ensure_ascii=False)


def _split_end(line: str) -> tuple[str, str]:
    """Split a line into its content and its line ending, which may be empty."""
    ending = _END.search(line)
    assert ending is not None
    return line[: ending.start()], ending.group()


def _span_of_value(line: str, name: str) -> tuple[int, int]:
    """Return start and end of the value of a field in a line with a JSON object.

    The object must have the field; if it occurs several times, the last one counts, as in `json.loads`.

    >>> _span_of_value('{"a": 1, "b": "c"}', "b")
    (14, 17)
    """
    span, position = (0, 0), _skip_space(line, 0) + 1  # after the brace
    while True:
        key, position = _DECODER.raw_decode(line, _skip_space(line, position))
        start = _skip_space(line, _skip_space(line, position) + 1)  # after the colon
        _, position = _DECODER.raw_decode(line, start)
        if key == name:
            span = start, position
        position = _skip_space(line, position)
        if line[position] == "}":
            return span
        position += 1  # the comma


def _skip_space(line: str, position: int) -> int:
    match = _SPACE.match(line, position)
    assert match is not None
    return match.end()


def _json_kind(value: object) -> str:
    kinds = {type(None): "null", bool: "a boolean", list: "an array", dict: "an object"}
    return kinds.get(type(value), "a number")
