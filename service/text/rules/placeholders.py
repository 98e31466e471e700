"""What must come through a translation untouched: format specifiers, addresses, whatever is marked as such.

A model that has never seen `%1$s` loses it. So a name stands in for it, which models do copy; where the name
does not come out exactly once, the caller translates what is between the placeholders piece by piece.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

HASHTAG = r"(?<![\w&])\#\w*[^\W\d_]\w*"
# possessive quantifiers, and a look at what is in front: no long word is to be tried from each of its letters
PLACEHOLDER = re.compile(
    r"""
      https?://[^\s<>"']*[^\s<>"'.,;:!?)\]}]     # a URL, without the mark behind it
    | (?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++    # an e-mail address
    | (?<!\w)@\w++(?:@[\w.-]*\w)?               # @somebody, @somebody@example.org
    | """
    + HASHTAG
    + r"""
    | %(?:\d++\$|\([^()\s]*+\))?[-+0\#]*+\d*+(?:\.\d++)?(?:hh|h|ll|l|z|j|t)?[diouxXeEfFgGaAcsp@](?!\w)
    | \$?\{\{?[ ]?[^{}\s][^{}\n]{0,60}\}?\}          # {name}, ${name}, {{ name }}
    | %%[^%\s]++%% | %\w++%                      # %%name%%, %name%
    | (?<![\w`])`[^`\n]++`(?![\w`])               # `code`
    """,
    re.VERBOSE,
)
NAMES = ("Tom", "Boston", "Max", "Emma", "Berlin", "Anna", "Paris", "Peter")
NUMBERS = ("20", "50", "12", "15", "30")
_NUMBER = re.compile(r"%[^a-zA-Z]*(?:hh|h|ll|l|z|j|t)?[diu]")


def spans(text: str) -> list[tuple[int, int]]:
    """Where the placeholders of a text are."""
    return [match.span() for match in PLACEHOLDER.finditer(text)]


def is_inside(at: int, found: Sequence[tuple[int, int]]) -> bool:
    """Whether a place is within one of these spans, which are in order, and not where it begins."""
    place = bisect_left(found, at, key=itemgetter(0)) - 1
    return place >= 0 and at < found[place][1]


def stand_ins(text: str, originals: Sequence[str]) -> list[str] | None:
    """A name or number for each original, none of which is in `text`; None where there are not enough."""
    names = iter([name for name in NAMES if name not in text])
    numbers = iter([number for number in NUMBERS if number not in text])
    chosen = [next(numbers if _NUMBER.fullmatch(original) else names, "") for original in originals]
    return chosen if all(chosen) else None


def came_through(translation: str, names: Iterable[str]) -> bool:
    """Whether every stand-in is there exactly once, as a word of its own."""
    return all(len(re.findall(rf"\b{name}\b", translation)) == 1 for name in names)


def pieces(text: str, names: Sequence[str]) -> list[str]:
    """What is before the first stand-in, it, what is before the next, and so on to the end."""
    if not names:
        return [text]
    return re.split("(" + "|".join(rf"\b{name}\b" for name in names) + ")", text)


def restore(translation: str, originals: Mapping[str, str]) -> str:
    """What the stand-ins stand for, by name, in their places."""
    if not originals:
        return translation
    pattern = "|".join(rf"\b{name}\b" for name in originals)
    return re.sub(pattern, lambda match: originals[match[0]], translation)
