"""SubRip and WebVTT: what is said is translated, numbers, names, times and the header stay as they are."""

import re

_TIMES = re.compile(
    r"^[ \t]*+(?:\d++:)?\d\d?:\d\d[.,]\d{1,3}[ \t]++-->[ \t]++\d[^\r\n]*+(?:\r\n|[\r\n]|\Z)",
    re.MULTILINE,
)
_HEADER = re.compile(r"\ufeff?WEBVTT\b")


def split(text: str) -> list[tuple[str, bool]] | None:
    """Pieces of a text, and whether each is to be translated; None if it has no subtitles."""
    if " --> " not in text:
        return None
    pieces: list[tuple[str, bool]] = []
    at = 0
    for times in _TIMES.finditer(text):
        said = _without_name(text[at : times.start()])
        is_header = at == 0 and _HEADER.match(text) is not None
        pieces += [(said, not is_header), (text[at + len(said) : times.end()], False)]
        at = times.end()
    return [*pieces, (text[at:], True)] if at else None


def _without_name(text: str) -> str:
    """What is in front of the times without the number or name that is alone in its line there."""
    lines = text.splitlines(keepends=True)
    is_alone = lines and (len(lines) == 1 or not lines[-2].strip())
    return text[: len(text) - len(lines[-1])] if is_alone else text
