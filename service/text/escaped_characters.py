r"""Characters that strings in programs have as numbers, because their files are in ASCII: T\u00fcr.

Such a text is read with its characters, and its translation is written as the text was.
"""

import re
import struct

from service.text.run import Format

_NUMBER = r"\\u([\da-fA-F]{4})"
_RANGE = re.compile(rf"{_NUMBER}-{_NUMBER}")
_CHARACTER = re.compile(rf"(?<!\\)(?:\\u[dD][89abAB][\da-fA-F]{{2}})?{_NUMBER}")
_BEYOND_ASCII = re.compile(r"[^\0-\x7f]+")


def are_escaped(text: str, form: Format) -> bool:
    r"""Check whether a text has characters as numbers, and each could be written as it was again.

    In HTML, a no-break space becomes a reference. Ranges of characters are code: [\u4e00-\u9fff].
    """
    if "\\u" not in text or not text.isascii() or _RANGE.search(text):
        return False
    plain = unescaped(text)
    is_same = escaped(plain, text) == text and (form == "text" or "\u00a0" not in plain)
    return is_same and plain != text


def unescaped(text: str) -> str:
    r"""Return a text with the characters beyond ASCII that it has as numbers.

    >>> unescaped(r"T\u00fcr \u0022")
    'Tür \\u0022'
    """
    return _CHARACTER.sub(_character, text)


def escaped(text: str, like: str) -> str:
    r"""Write the characters beyond ASCII as numbers, with the digits of another text.

    >>> escaped("Öl für alle", r"\u00FC"), escaped("Öl für alle", r"\u00fc")
    ('\\u00D6l f\\u00FCr alle', '\\u00d6l f\\u00fcr alle')
    """
    form = "\\u{:04X}" if any(map(str.isupper, "".join(re.findall(_NUMBER, like)))) else "\\u{:04x}"

    def numbers(match: re.Match[str]) -> str:
        units = match[0].encode("utf-16-be", "surrogatepass")
        return "".join(form.format(unit) for (unit,) in struct.iter_unpack(">H", units))

    return _BEYOND_ASCII.sub(numbers, text)


def _character(match: re.Match[str]) -> str:
    try:
        character = bytes.fromhex(match[0].replace("\\u", "")).decode("utf-16-be")
    except UnicodeDecodeError:  # half of a pair
        return match[0]
    return match[0] if character.isascii() else character
