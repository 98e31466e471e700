"""Characters that people type and that the vocabulary expects otherwise."""

import re
from typing import ClassVar, Literal

from service.text.rules.rule import Rule
from service.text.run import Run

_UNTIDY = re.compile(
    r"\x00+|(?<=\w)(?:[\u00ad\u200b\u2060\ufeff]+|(?P<accent>[`´](?![^\s`´]*+[`´])))(?=\w)"
)
_MAY_BE_UNTIDY = re.compile("[\x00\u00ad\u200b\u2060\ufeff`´]")


class Spelling(Rule):
    """Takes out what is invisible within words, and writes apostrophes where accents stand for them.

    So does it with NUL, which is a word to a vocabulary; all other control characters are nothing to it.
    """

    name: ClassVar[str] = "spelling"
    scope: ClassVar[Literal["run", "sentence"]] = "sentence"
    is_default: ClassVar[bool] = True

    def prepare(self, run: Run) -> Run:
        """The run without them."""
        if _MAY_BE_UNTIDY.search(run.text) is None:
            return run
        return run.edited_outside(
            [
                (*match.span(), "'" if match["accent"] else "")
                for match in _UNTIDY.finditer(run.text)
            ]
        )
