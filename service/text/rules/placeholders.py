"""What must come through a translation untouched: format specifiers, addresses, whatever is marked as such.

A model that has never seen `%1$s` loses it. So a name stands in for it, which models do copy; where the name
does not come out exactly once, the caller translates what is between the placeholders piece by piece.
"""

import re
from typing import ClassVar

from service.text.rules.rule import Rule
from service.text.run import Protected, Run

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


class Placeholders(Rule):
    """Protects format specifiers, addresses, code, and whatever is marked as such."""

    name: ClassVar[str] = "placeholders"
    is_default: ClassVar[bool] = True

    def prepare(self, run: Run) -> Run:
        """The run with its placeholders protected."""
        return run.protecting(
            [Protected(*match.span()) for match in PLACEHOLDER.finditer(run.text)]
        )
