"""Finds the words of a text whose language matters: those outside markup, code and other preserved parts."""

from collections.abc import Iterable

from service.text.markup import elements, plain
from service.text.markup.messages import MAX_NESTING, with_branches
from service.text.rules.placeholders import Placeholders
from service.text.run import Format, Run
from service.text.segmenter import has_letter

MAX_SEARCHED, MAX_SEARCHED_MARKUP = 10_000, 50_000
"""Characters in which the words are searched, as preserved parts, or a page's styles, may come first."""
_PLACEHOLDERS = Placeholders()


def prose(text: str, form: Format, ignored: Iterable[str], characters: int) -> str:
    """Return about the first `characters` characters that a translation would change.

    Args:
        text: any text.
        form: its format.
        ignored: names of elements whose text is preserved unchanged.
        characters: how much to return.
    """
    if form != "text":
        beginning = text[:MAX_SEARCHED_MARKUP]
        return _words(elements.parse(beginning, form, ignored, characters=characters))
    words = _words(plain.parse(text[:characters]))
    if len(text) > characters and not has_letter(words):
        words = _words(plain.parse(text[:MAX_SEARCHED]))
    return words


def _words(parsed: Iterable[str | Run], depth: int = 0) -> str:
    """Return what is neither markup nor a placeholder, with the branches of messages after their sentence."""
    words: list[str] = []
    for run in parsed:
        if isinstance(run, Run):
            words.append(_PLACEHOLDERS.prepare(run).unprotected())
            if depth < MAX_NESTING:
                for _, argument in with_branches(run):
                    for branch in argument.branches:
                        words.append(_words(plain.parse(branch), depth + 1))
    return "\n".join(words)
