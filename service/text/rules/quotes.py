"""Words in quotes within a sentence: the quotes go around the words that translate them, as tags do.

A vocabulary has words as they stand behind a space, and a model takes one behind a quote for a name.
"""

import re

from service.text.rules.pairs import Pair, as_tags
from service.text.run import Run

_QUOTED = re.compile(
    r"""(?<![^\s(\[/–—-])(?:  # not in a="b"
        [„“"«»](?=\w)[^„“”"«»\n]*\w(?P<double>[“”"«»])
      | [‚‘‹›](?=\w)[^‚‘’‹›\n]*\w[‘’‹›]
      | '(?=\w)[^'\n]{2,40}(?<=\w)'  # longer, it is more likely two apostrophes
    )(?!\w)""",
    re.VERBOSE,
)


def unquoted(run: Run, quotes: str) -> Run:
    """A run whose quotes around words are tags.

    Args:
        run: the run.
        quotes: the target language's, opening and closing, double and single; empty: as they are.
    """
    pairs: list[Pair] = []
    for match in run.between_tags(_QUOTED.finditer):
        first, last = match.start(), match.end() - 1
        own = quotes[:2] if match["double"] else quotes[2:]
        opening, closing = own[:1] or run.text[first], own[1:] or run.text[last]
        pairs.append(((first, first + 1, opening), (last, last + 1, closing)))
    return as_tags(run, pairs)
