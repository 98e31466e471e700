"""SubRip and WebVTT: the dialogue is translated; numbers, names, times and the header are kept."""

import re

from service.text.markup.messages import Message

_TIMES = re.compile(
    r"^[ \t]*+(?:\d++:)?\d\d?:\d\d[.,]\d{1,3}[ \t]++-->[ \t]++\d[^\r\n]*+(?:\r\n|[\r\n]|\Z)",
    re.MULTILINE,
)
_HEADER = re.compile(r"\ufeff?WEBVTT\b")


def split(text: str) -> list[str | Message] | None:
    """What stays as it is and what is to be translated, in order; None if there are no subtitles."""
    if " --> " not in text:
        return None
    pieces: list[str | Message] = []
    at = 0
    for times in _TIMES.finditer(text):
        said = _without_name(text[at : times.start()])
        is_header = at == 0 and _HEADER.match(text)
        pieces += [said if is_header else Message(said), text[at + len(said) : times.end()]]
        at = times.end()
    return [*pieces, Message(text[at:])] if at else None


def _without_name(text: str) -> str:
    """What is in front of the times without the number or name that is alone in its line there."""
    lines = text.splitlines(keepends=True)
    is_alone = lines and (len(lines) == 1 or not lines[-2].strip())
    return text[: len(text) - len(lines[-1])] if is_alone else text
