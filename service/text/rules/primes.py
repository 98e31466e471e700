"""Finds signs of inches, feet and minutes after numbers (24", 6' 2"), which may also be quotation marks."""

from collections.abc import Iterator

import regex

from service.text.run import Run

_MARK = regex.compile("[\"'″′„“”«»‚‘’‹›]")
_SIGNS = "\"'″′"
_SINGLE = "'‚‘’‹›"
_NEVER_QUOTES = "″′"
_NOT_BEHIND_OPENING = ".,;:!?…)]}"


def signs_of(run: Run) -> Iterator[int]:
    """Yield the places of the signs, in order; a mark that may close a quotation is none.

    So none is found in a quotation: the first mark after a number ends it.

    >>> list(signs_of(Run('The 24" TV'))), list(signs_of(Run('He said "I have 5"')))
    ([6], [])
    """
    text, opened = run.text, set[bool]()
    for match in _MARK.finditer(text):
        at, mark = match.start(), match[0]
        before, after, is_single = text[at - 1 : at], text[at + 1 : at + 2], mark in _SINGLE
        if run.is_protected(at) or (before.isalpha() and after.isalpha()):
            continue
        if is_sign(text, at) and (mark in _NEVER_QUOTES or is_single not in opened):
            yield at
        elif not before.isalnum() and after.strip() and after not in _NOT_BEHIND_OPENING:
            opened.add(is_single)
        else:
            opened.discard(is_single)


def is_sign(text: str, at: int) -> bool:
    """Check whether the character at `at` is such a sign or mark directly behind a number."""
    follows_number = text[at - 1 : at].isnumeric()
    return text[at] in _SIGNS and follows_number and not text[at + 1 : at + 2].isalpha()
