r"""Keeps quotes escaped or doubled as strings in programs and resources have them: It\'s, ""Save"", {0}''s.

Otherwise, a quote would end the string. A model loses a part of such a quote, or the words in it.
"""

import re
from collections.abc import Iterator

from service.text.rules.pairs import MarkPair, as_tags
from service.text.rules.rule import Rule
from service.text.run import Run
from service.text.words import Span

_QUOTE = re.compile(r"(?<!\\)(?P<backslashes>\\*+)(?P<quote>[\"'])")
_QUOTED = re.compile(
    r"(?<![\w\\])\\(?P<quote>[\"'])(?=\w)(?:[^\\\n]|\\(?!(?P=quote)))*+\\(?P=quote)(?!\w)"
)
_LONG = re.compile(r'(?<![\w"])(?P<quote>"{2,3})(?=\w)[^"\n]++(?P=quote)(?![\w"])')
"""Text in the quotes of CSV or of a docstring."""
_APOSTROPHES = re.compile("'++")
_PLAIN = re.compile(r"(?<!\\)[\"']")


class Escapes(Rule):
    """Converts pairs of escaped or doubled quotes to tags; other escaped quotes are plain for the model."""

    name = "escapes"
    scope = "sentence"
    is_default = True
    is_of_signs = True

    def prepare(self, run: Run) -> Run:
        """Return the sentence without the backslashes before quotes, and with single apostrophes."""
        if '""' in run.text:
            run = as_tags(run, [_pair(match) for match in run.between_tags(_LONG.finditer)])
        if _doubles_apostrophes(run):
            return run.edited([(*span, "'") for span in _apostrophes(run)])
        if "\\" not in run.text:
            return run
        run = as_tags(run, [_pair(match) for match in run.between_tags(_QUOTED.finditer)])
        escaped = _escaped(run)
        return run.edited(
            [
                (match.start(), match.end(), match["quote"])
                for match in _quotes(run)
                if match["quote"] in escaped
            ]
        )

    def restore(self, source: Run, translation: Run) -> Run:
        """Escape the quotes of the translation that are escaped in the source, or double its apostrophes."""
        if _doubles_apostrophes(source):
            return translation.edited_outside(
                [(*match.span(), "''") for match in _APOSTROPHES.finditer(translation.text)]
            )
        if "\\" not in source.text:
            return translation
        escaped = _escaped(source)
        return translation.edited_outside(
            [
                (*match.span(), f"\\{match[0]}")
                for match in _PLAIN.finditer(translation.text)
                if match[0] in escaped
            ]
        )


def _doubles_apostrophes(run: Run) -> bool:
    """Check whether a message with variables in braces has only doubled apostrophes, as for Java."""
    if "''" not in run.text or not any(run.text[part.begin] == "{" for part in run.protected):
        return False
    spans = _apostrophes(run)
    return bool(spans) and all(last - first == 2 for first, last in spans)


def _apostrophes(run: Run) -> list[Span]:
    """Return the apostrophes outside protected parts."""
    spans = [match.span() for match in run.between_tags(_APOSTROPHES.finditer)]
    return [span for span in spans if not run.protected_between(*span)]


def _quotes(run: Run) -> Iterator[re.Match[str]]:
    """Yield the quotes outside protected parts, each with the backslashes before it."""
    matches = run.between_tags(_QUOTE.finditer)
    return (match for match in matches if not run.protected_between(*match.span()))


def _escaped(run: Run) -> set[str]:
    """Return the quotes that are never without one backslash."""
    found = [(match["quote"], match["backslashes"] == "\\") for match in _quotes(run)]
    return {quote for quote, _ in found} - {quote for quote, is_escaped in found if not is_escaped}


def _pair(match: re.Match[str]) -> MarkPair:
    (first, last), begin = match.span(), match.end("quote")
    mark = match.string[first:begin]
    return (first, begin, mark), (last - len(mark), last, mark)
