r"""SubRip and WebVTT subtitles: the dialogue is translated; numbers, names, times and the header are kept.

In the dialogue, and in any other text, the markup of WebVTT, Advanced SubStation Alpha and lyrics (LRC) is
converted to tags: `<c.yellow>`, `<v Anna>`, `<00:01.500>`, `{\an8}`, `[00:12.00]`.
"""

import re
from collections.abc import Iterator

from service.text.markup.messages import Message
from service.text.run import Run, TagKind

_TIMES = re.compile(
    r"^[ \t]*+(?:\d++:)?\d\d?:\d\d[.,]\d{1,3}[ \t]*+-->[ \t]*+\d[^\r\n]*+(?:\r\n|[\r\n]|\Z)",
    re.MULTILINE,
)
_TAG = re.compile(
    r"""
      </?(?:c|ruby|rt|[biu])(?:\.[^\s.<>&]++)*+>
    | </(?:v|lang)>
    | <(?:v|lang)(?:\.[^\s.<>&]++)*+[ \t][^<>\n]++>
    | <(?:\d{2,}+:)?\d\d:\d\d\.\d{2,3}>
    | ^\[\d\d:\d\d(?:[.:]\d{2,3})?\]
    | \{\\[^{}\n]*+\}
    """,
    re.VERBOSE | re.MULTILINE,
)
_MAY_HOLD_ONE = re.compile(r"<|\{\\|\[\d")
"""A fast check that rejects most texts."""
_HEADER = re.compile(r"\ufeff?WEBVTT\b")
_COMMENT = re.compile(
    r"(?:(?<=\n\n)|(?<=\n\r\n))(?:NOTE|STYLE|REGION)(?!\S)(?:(?!\n\r?\n).)*+", re.DOTALL
)
"""A block of WebVTT between subtitles that is none itself (WebVTT, section 4.1)."""


def split(text: str) -> list[str | Message] | None:
    """Return the parts that are preserved and those to translate, in order, or None without subtitles."""
    if "-->" not in text:
        return None
    pieces: list[str | Message] = []
    start, comment = 0, _COMMENT if _HEADER.match(text) else None
    for times in _TIMES.finditer(text):
        dialogue = _without_name(text[start : times.start()])
        is_header = start == 0 and _HEADER.match(text)
        pieces += [dialogue] if is_header else _without_comments(dialogue, comment)
        pieces.append(text[start + len(dialogue) : times.end()])
        start = times.end()
    return [*pieces, *_without_comments(text[start:], comment)] if start else None


def _without_comments(dialogue: str, comment: re.Pattern[str] | None) -> Iterator[str | Message]:
    """Yield the parts of a dialogue, with its comments as strings."""
    start = 0
    for found in comment.finditer(dialogue) if comment else ():
        yield Message(dialogue[start : found.start()])
        yield found[0]
        start = found.end()
    yield Message(dialogue[start:])


def _without_name(text: str) -> str:
    """Remove the number or name of the next subtitle, if it is the only line after a blank one."""
    lines = text.splitlines(keepends=True)
    is_alone = lines and (len(lines) == 1 or not lines[-2].strip())
    return text[: len(text) - len(lines[-1])] if is_alone else text


def tagged(run: Run) -> Run:
    """Convert the markup of subtitles in a run to tags, unless a part of it is protected."""
    if _MAY_HOLD_ONE.search(run.text) is None:
        return run
    matches = [
        match
        for match in run.between_tags(_TAG.finditer)
        if not run.protected_between(*match.span())
    ]
    return run.extracted(
        [(*match.span(), "") for match in matches],
        [match[0] for match in matches],
        [_kind_of(match[0]) for match in matches],
    )


def _kind_of(raw: str) -> TagKind:
    if raw[1].isalpha():
        return "open"
    return "close" if raw[1] == "/" else "void"
