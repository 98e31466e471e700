"""A formatter of ICU messages, written from ICU's grammar and not from the service's patterns.

It knows `plural` and `select`, and arguments without a type. A `plural` counts in English.
"""

from collections.abc import Mapping


class NotAMessageError(ValueError):
    """The text is not valid."""


def formatted(text: str, values: Mapping[str, int | str]) -> str:
    """Format a message.

    Raises:
        NotAMessageError: the message is not valid, or has no branch for a value.
    """
    reader = _Reader(text, values)
    message = reader.message(number=None, is_inner=False)
    if reader.rest:
        raise NotAMessageError(reader.rest)
    return message


class _Reader:
    def __init__(self, text: str, values: Mapping[str, int | str]) -> None:
        self.rest, self.values = text, values

    def message(self, number: int | None, *, is_inner: bool) -> str:
        """Read up to the brace that ends the message, or up to the end of the text."""
        written = ""
        while self.rest:
            sign, following = self.rest[0], self.rest[1:2]
            if sign == "}" and is_inner:
                break
            if sign == "'" and following == "'":
                written, self.rest = written + "'", self.rest[2:]
            elif sign == "'" and (
                following in ("{", "}") or (following == "#" and number is not None)
            ):
                written += self.quoted()
            elif sign == "{":
                self.rest = self.rest[1:]
                written += self.argument()
            elif sign == "}":
                raise NotAMessageError(self.rest)
            else:
                is_number = sign == "#" and number is not None
                written, self.rest = written + (str(number) if is_number else sign), self.rest[1:]
        return written

    def quoted(self) -> str:
        """Read quoted text up to its apostrophe, or to the end."""
        written, self.rest = "", self.rest[1:]
        while self.rest:
            if self.rest.startswith("''"):
                written, self.rest = written + "'", self.rest[2:]
            elif self.rest[0] == "'":
                self.rest = self.rest[1:]
                break
            else:
                written, self.rest = written + self.rest[0], self.rest[1:]
        return written

    def argument(self) -> str:
        """Read an argument after its brace, up to and including the closing one.

        Only directly in a plural's branch, `#` is a number.
        """
        name = self.word()
        value = self.values.get(name)
        if value is None:
            raise NotAMessageError(self.rest)
        if self.took("}"):
            return str(value)
        self.take(",")
        kind = self.word()
        self.take(",")
        if kind not in ("plural", "select"):
            raise NotAMessageError(self.rest)
        offset = int(self.word()) if kind == "plural" and self.took("offset:") else 0
        branches: dict[str, str] = {}
        while not self.took("}"):
            selector = ("=" if self.took("=") else "") + self.word()
            self.take("{")
            counted = int(value) - offset if kind == "plural" else None
            branches[selector] = self.message(counted, is_inner=True)
            self.take("}")
        wanted = [str(value)]
        if kind == "plural":
            wanted = [f"={value}", "one" if int(value) - offset == 1 else "other"]
        for selector in [*wanted, "other"]:
            if selector in branches:
                return branches[selector]
        raise NotAMessageError("there is no branch `other`")

    def word(self) -> str:
        self.rest = self.rest.lstrip()
        length = 0
        while self.rest[length : length + 1].isalnum():
            length += 1
        word, self.rest = self.rest[:length], self.rest[length:]
        if not word:
            raise NotAMessageError(self.rest)
        return word

    def took(self, sign: str) -> bool:
        """Take a sign if it comes next."""
        rest = self.rest.lstrip()
        if rest.startswith(sign):
            self.rest = rest[len(sign) :]
        return rest.startswith(sign)

    def take(self, sign: str) -> None:
        if not self.took(sign):
            raise NotAMessageError(self.rest)
