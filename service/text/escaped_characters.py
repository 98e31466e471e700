r"""Characters that strings in programs have as numbers, because their files are in ASCII: T\u00fcr.

Such a text is read with its characters, and its translation is written as the text was.
"""

import re

_NUMBER = r"\\u([\da-fA-F]{4})"
_RANGE = re.compile(rf"{_NUMBER}-{_NUMBER}")
_NUMBERS = re.compile(rf"(?<!\\)(?:{_NUMBER})+")
_CHARACTERS = re.compile(r"[^\0-\x7f]+")


def are_escaped(text: str) -> bool:
    r"""Check whether a text has characters as numbers, and each could be written as it was again.

    Ranges of characters are code: [\u4e00-\u9fff].
    """
    if "\\u" not in text or not text.isascii() or _RANGE.search(text):
        return False
    return escaped(unescaped(text), text) == text


def unescaped(text: str) -> str:
    r"""Return a text with the characters beyond ASCII that it has as numbers.

    >>> unescaped(r"T\u00fcr \u0022")
    'Tür \\u0022'
    """
    return _NUMBERS.sub(_characters, text)


def escaped(text: str, like: str) -> str:
    r"""Write the characters beyond ASCII as numbers, with the digits of another text.

    >>> escaped("Öl für alle", r"\u00FC"), escaped("Öl für alle", r"\u00fc")
    ('\\u00D6l f\\u00FCr alle', '\\u00d6l f\\u00fcr alle')
    """
    form = "\\u{:04X}" if any(map(str.isupper, "".join(re.findall(_NUMBER, like)))) else "\\u{:04x}"

    def numbers(match: re.Match[str]) -> str:
        units = memoryview(match[0].encode("utf-16-le", "surrogatepass")).cast("H")
        return "".join(map(form.format, units))

    return _CHARACTERS.sub(numbers, text)


def _characters(match: re.Match[str]) -> str:
    units = bytes.fromhex(match[0].replace("\\u", ""))
    text = units.decode("utf-16-be", "surrogatepass")
    return match[0] if text[0] < "\x80" else text
