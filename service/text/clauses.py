"""Long sentences as clauses: a model that was trained on short ones leaves half of a long one out.

`" ".join(clauses(text, n))` is always `text`.
"""

import re
from collections.abc import Callable, Sequence

SHORTEST = 7
"""Words of a clause; of less, a model does not know what it is about."""
_BOUNDARY = re.compile(r"(?:(?<=[^\W\d_][,;:])|(?<= [–—-])) (?=\S)")
_QUOTES, _BRACKETS = re.compile('[„“”"«»]'), re.compile(r"[()\[\]]")
_MARKS, _WORD = " .,;:–—-", re.compile(r"\w+")


def clauses(text: str, most_words: int) -> list[str]:
    """Cut a sentence of more words than `most_words` in two at the mark nearest its middle, and these again.

    Neither within quotes or brackets, nor into less than `SHORTEST` words; 0 is no limit.
    """
    if not most_words or len(text.split()) <= most_words:
        return [text]
    places = [
        match.start()
        for match in _BOUNDARY.finditer(text)
        if _is_outside(text[: match.start()])
        and min(len(part.split()) for part in (text[: match.start()], text[match.end() :]))
        >= SHORTEST
    ]
    if not places:
        return [text]
    middle = min(places, key=lambda place: abs(2 * place - len(text)))
    return [*clauses(text[:middle], most_words), *clauses(text[middle + 1 :], most_words)]


def join(sources: Sequence[str], translations: Sequence[str], within: Callable[[str], str]) -> str:
    """The translations of a sentence's clauses as one: with the marks of the source between them.

    `within` gives the beginning of a sentence the case that it has within one.
    """
    joined = translations[0]
    for before, source, translation in zip(sources, sources[1:], translations[1:], strict=False):
        mark = before[-1] if before[-1] in ",;:" else f" {before[-1]}"
        begins = translation if _keeps_capital(mark, source, translation) else within(translation)
        joined = f"{joined.rstrip(_MARKS)}{mark} {begins}"
    return joined


def _keeps_capital(mark: str, source: str, translation: str) -> bool:
    """Whether a clause is a sentence behind a colon, or begins with a name: with a word of the source."""
    if mark == ":" and source[:1].isupper():
        return True
    return any(word in _WORD.findall(source) for word in _WORD.findall(translation)[:1])


def _is_outside(before: str) -> bool:
    """Whether what is before a place leaves no quote or bracket open."""
    return not (len(_QUOTES.findall(before)) % 2 or len(_BRACKETS.findall(before)) % 2)
