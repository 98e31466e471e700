"""Words in quotes within a sentence: the quotes go around the words that translate them, as tags do.

A vocabulary has words as they stand behind a space, and a model takes one behind a quote for a name.
"""

import re
from itertools import pairwise

from service.text.edits import edited
from service.text.markup import Run, Tag
from service.text.placeholders import is_inside, spans

_QUOTED = re.compile(
    r"""(?<![^\s(\[/–—-])(?:  # not in a="b"
        [„“"«»](?=\w)[^„“”"«»\n]*\w(?P<double>[“”"«»])
      | [‚‘‹›](?=\w)[^‚‘’‹›\n]*\w(?P<single>[‘’‹›])
      | '(?=\w)[^'\n]{2,40}(?<=\w)(?P<straight>')  # longer, it is more likely two apostrophes
    )(?!\w)""",
    re.VERBOSE,
)


def unquoted(run: Run, quotes: str) -> Run:
    """A run whose quotes around words are tags.

    Args:
        run: the run.
        quotes: the target language's, opening and closing, double and single; empty: as they are.
    """
    edges = [0, *(tag.at for tag in run.tags), len(run.text)]
    matches = [one for stretch in pairwise(edges) for one in _QUOTED.finditer(run.text, *stretch)]
    untouched = spans(run.text)
    tags: list[Tag] = []
    for match in matches:
        first, last = match.start(), match.end() - 1
        if any(is_inside(at, untouched) for at in (first, last)):
            continue
        own = quotes[:2] if match["double"] else quotes[2:]
        own = own or run.text[first] + run.text[last]
        tags += [Tag(first, own[0], "open"), Tag(last, own[1], "close")]
    # where an element begins or ends at the same place, what is of the quotes is within or behind it
    together = sorted([*run.tags, *tags], key=lambda tag: tag.at)
    return edited(
        Run(run.text, together, run.protected), [(tag.at, tag.at + 1, "") for tag in tags]
    )
