"""Preserves ellipses and rows of marks such as ?!?!, of which models write fewer, or none."""

import re

import regex

from service.text.rules.rule import Rule
from service.text.run import Place, Run
from service.text.segmenter import has_letter

_ELLIPSIS = re.compile(
    r"""
    (?P<lead>[ \u00a0]?)
    (?P<dots>
        (?<!\.)\.{3,}+ | (?<!…)…++       # a row begins once
      | \A[!?！？]{2,}+                   # a row of marks before a sentence
    )
    (?![?!])
    (?P<trail>[ \u00a0]?)
    """,
    re.VERBOSE,
)
_ROW = regex.compile(  # to `regex`, vowel signs are part of a word, as in Hindi
    r"""
    (?: (?<=[\w)\]\"”“’»]) | (?<=\w[ \u00a0\u202f]) )  # after a word or a closing mark
    (?P<first>[!?！？]) (?P<rest>[!?！？]+)
    (?!\w)
    """,
    regex.VERBOSE,
)
_ENDS_WITH_ROW = regex.compile(rf"{_ROW.pattern}\Z", regex.VERBOSE)
_MAY_HOLD_ONE = re.compile(  # begins with a set, which `re` finds fast
    r"[.…!?！？](?:(?<=…)|(?<=\.)\.\.|(?<=[!?！？])[!?！？])"
)
_END = re.compile(r"(?:\A|\w)(\W*+)\Z")


class Ellipses(Rule):
    """Extracts ellipses and rows of marks from a sentence as tags; the first mark of a row stays."""

    name = "ellipses"
    scope = "sentence"
    is_of_signs = True

    def prepare(self, run: Run) -> Run:
        """Return the sentence with its ellipses and rows as tags."""
        if _MAY_HOLD_ONE.search(run.text) is None:
            return run
        extractions = [
            _extraction(match)
            for match in run.between_tags(_ELLIPSIS.finditer)
            if not run.protected_between(*match.span("dots"))
        ]
        extractions += [
            ((*match.span("rest"), ""), match["rest"])
            for match in run.between_tags(_ROW.finditer)
            if not run.protected_between(*match.span())
        ]
        extractions.sort()
        extracted = run.extracted(
            [place for place, _ in extractions], [raw for _, raw in extractions], in_front=True
        )
        return extracted if has_letter(extracted.unprotected()) else run

    def restore(self, source: Run, translation: Run) -> Run:
        """Remove a full stop before a final ellipsis, and add the first mark of a final row."""
        text = translation.text
        previous, last = source.text[-2:-1], source.text[-1:]
        if not text or (previous.isalnum() and last != "…"):  # a single mark
            return translation
        has_dot = text.endswith(".") and not text.endswith("..")
        end = len(text) - has_dot
        row = _ENDS_WITH_ROW.search(source.text)
        if row and text[-1] not in "!?！？":
            return translation.edited([(end, len(text), row["first"])])
        if has_dot and _ends_with_one(source.text):
            return translation.edited([(end, len(text), "")])
        return translation


def _ends_with_one(text: str) -> bool:
    """Check whether an ellipsis follows the last word."""
    end = _END.search(text)
    return end is not None and ("..." in end[1] or "…" in end[1])


def _extraction(match: re.Match[str]) -> tuple[Place, str]:
    """Return the place to replace, with its replacement, and the tag's markup."""
    text, (start, end) = match.string, match.span("dots")
    lead, trail = match["lead"], match["trail"]
    next_character = text[match.end() : match.end() + 1]
    if not next_character or not (next_character.isalnum() or trail):
        return (match.start(), end, ""), f"{lead}{match['dots']}"
    if lead or match.start() == 0:
        return (start, match.end(), ""), f"{match['dots']}{trail}"
    return (start, end, "" if trail else " "), match["dots"]
