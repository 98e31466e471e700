"""Fields from forms, queries and JSON objects, with detection of repeated ones."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Self

from service.api.errors import shortened
from service.api.media import check_charset, parse_value
from service.errors import InvalidRequestError, quoted

MAX_FIELDS = 4096
"""Limit on the fields of a form or a query; each text of a list counts."""
MAX_PART_HEAD_BYTES = 4096
"""Limit on the header fields of a part of a form: 1 MB of parameters would block all threads for 0.2 s."""
MAX_BOUNDARY_CHARACTERS = 70
"""Limit on the boundary between parts (RFC 2046, 5.1.1)."""
_EMPTY = ("", None)
_LISTS = (
    *("q", "text", "ignore_tags"),
    # refused later
    *("custom_instructions", "glossary_ids", "splitting_tags", "non_splitting_tags"),
)
_BREAKS = frozenset("\r\n\0")
_TRIPLETS = re.compile(rb"(?:%[0-9A-Fa-f]{2})++")


class Fields(dict[str, Any]):
    """Fields by name; of a repeated field, the last value."""

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        """Collect the pairs, and remember a name that occurs more than once."""
        pairs = list(pairs)
        super().__init__(pairs)
        self.repeated = ""
        """A field that was given more than once, if there is one."""
        if len(self) < len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                self.repeated = name if name in seen else self.repeated
                seen.add(name)

    @classmethod
    def of_form(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """Return the fields of a form or a query.

        Repeated values of a field that may be a list become one. Other fields are left out if they are empty.
        """
        texts: dict[str, list[str]] = {}
        single = []
        for name, value in pairs:
            if name in _LISTS:
                texts.setdefault(name, []).append(value)
            elif value:
                single.append((name, value))
        fields = cls(single)
        fields.update(
            {name: values if len(values) > 1 else values[0] for name, values in texts.items()}
        )
        return fields

    def beside(self, other: "Fields") -> "Fields":
        """Return the fields of a query and a body together; those in both count as repeated.

        A field may be in both if one of its values is empty or null: then the other is used.
        """
        joined = Fields()
        joined.repeated = self.repeated or other.repeated
        for name, value in [*self.items(), *other.items()]:
            if joined.get(name) in _EMPTY:
                joined[name] = value
            elif value not in _EMPTY:
                joined.repeated = name
        return joined

    def check(self) -> None:
        """Check that no field was given more than once.

        Raises:
            InvalidRequestError: a field was given more than once.
        """
        if self.repeated:
            name = quoted(self.repeated).strip('"')
            raise InvalidRequestError(f"Invalid request: {name} parameter is given more than once")


def urlencoded(encoded: bytes, place: str) -> Fields:
    """Return the fields of a URL-encoded form or query; `place` names it in errors: "form" or "query".

    Raises:
        InvalidRequestError: there are more than `MAX_FIELDS` fields, or they are not valid UTF-8.
    """
    _check_number(encoded.count(b"&") + 1, place)
    pairs = [pair.partition(b"=") for pair in encoded.split(b"&") if pair]
    try:
        return Fields.of_form((_unquoted(name), _unquoted(value)) for name, _, value in pairs)
    except UnicodeDecodeError as error:
        raise InvalidRequestError(
            f"Invalid request: the {place} is not valid UTF-8: {error.reason}"
        ) from None


def multipart(body: bytes, boundary: str) -> Fields:
    """Return the fields of a multipart form, as browsers, `curl -F` and PHP send it (RFC 7578).

    Raises:
        InvalidRequestError: the form is malformed or incomplete, or contains files.
    """
    if not boundary.isascii() or not 0 < len(boundary) <= MAX_BOUNDARY_CHARACTERS:
        raise _unreadable("the content-type has no valid boundary")
    dashed = b"--" + boundary.encode()
    delimiter = re.compile(rb"\r\n%b(--)?[ \t]*+(?(1)(?:\r\n|\Z)|\r\n)" % re.escape(dashed))
    body, delimiters = b"\r\n" + body, []
    for match in delimiter.finditer(body):
        delimiters.append(match)
        if match[1]:
            break
        _check_number(len(delimiters), "form")
    else:
        raise _unreadable("it does not end with its boundary and two hyphens")
    if dashed in body[: delimiters[0].start()]:
        raise _unreadable("its first boundary is not a line of its own")
    if re.search(rb"(?<!\r)\n" + re.escape(dashed), body):
        raise _unreadable("a boundary follows a line feed without a carriage return")
    return Fields.of_form(
        _part(body[begin.end() : end.start()]) for begin, end in pairwise(delimiters)
    )


def _part(part: bytes) -> tuple[str, str]:
    """Return the name and value of a part."""
    head, separator, value = (b"\r\n" + part).partition(b"\r\n\r\n")
    if len(head) > MAX_PART_HEAD_BYTES:
        raise _unreadable(
            f"the header fields of a part have {len(head)} bytes, the limit is {MAX_PART_HEAD_BYTES}"
        )
    fields = _header_fields(head.decode()) if separator else {}
    disposition = fields.get("content-disposition", ("", {}))[1]
    if "name" not in disposition:
        raise _unreadable("a part has no name")
    if any(name.partition("*")[0] == "filename" for name in disposition):
        raise _unreadable("a part is a file, which is not supported")
    encoding = fields.get("content-transfer-encoding", ("", {}))[0]
    if encoding not in ("", "7bit", "8bit", "binary"):
        raise _unreadable(f"a part is encoded as {shortened(encoding)}, which is not supported")
    kind, parameters = fields.get("content-type", ("", {}))
    if kind.startswith("multipart/"):
        raise _unreadable("a part has parts itself, which is not supported")
    check_charset(parameters)
    return disposition["name"], value.decode()


def _header_fields(head: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Return a part's header fields by name, as values with parameters.

    What some would read as a line of its own, and others as a part of the line before, is refused.
    """
    fields = {}
    for line in head.split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip() or not _BREAKS.isdisjoint(line):
            raise _unreadable(f"a part has the invalid header field {quoted(line)}")
        name = name.lower()
        if name in fields:
            raise _unreadable(f"{shortened(name)} is given more than once in a part")
        fields[name] = parse_value(value)
    return fields


def _unquoted(encoded: bytes) -> str:
    """Decode percent-encoded text; a percent sign without two hexadecimal digits is preserved.

    Each run of triplets is decoded at once; urllib's `unquote` is slower, as it splits at every percent sign.

    >>> _unquoted(b"100%+%C3%BC%zz")
    '100% ü%zz'
    """
    decoded = _TRIPLETS.sub(
        lambda run: bytes.fromhex(run[0].replace(b"%", b"").decode()), encoded.replace(b"+", b" ")
    )
    return decoded.decode()


def _check_number(count: int, place: str) -> None:
    if count > MAX_FIELDS:
        raise InvalidRequestError(
            f"Invalid request: the {place} has {count} fields, the limit is {MAX_FIELDS}"
        )


def _unreadable(reason: str) -> InvalidRequestError:
    return InvalidRequestError(f"Invalid request: the form cannot be read: {reason}")
