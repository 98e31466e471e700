"""Ends a translation with the exclamation mark or full stop of its sentence.

Translators keep these marks, and tools such as Weblate check that they do. A model trained on Tatoeba may not
keep them: there, 85 % of German sentences with an exclamation mark have a translation with a full stop.
"""

import re

from service.text.rules.rule import Rule
from service.text.run import Run

_SINGLE_MARK = re.compile(r"""(?<![.!?…。！？])[.!。！](?=["'”“’»›)\]」』]*+\Z)""")
"""A mark at the end, which closing quotes and brackets may follow; not the last one of several."""
_AS_EXCLAMATION = {".": "!", "。": "！"}
_AS_STATEMENT = {mark: stop for stop, mark in _AS_EXCLAMATION.items()}


class EndMarks(Rule):
    """Replaces a final full stop by an exclamation mark, or the reverse, if the sentence has the other."""

    name = "end_marks"
    scope = "sentence"

    def restore(self, source: Run, translation: Run) -> Run:
        """Replace the final mark of the translation, in the script in which it is written."""
        last = source.text[-1:]
        if last in ".!?" and translation.text.endswith(last):  # most sentences
            return translation
        wanted = _SINGLE_MARK.search(source.text)
        written = _SINGLE_MARK.search(translation.text)
        if wanted is None or written is None or translation.is_protected(written.start()):
            return translation
        replacements = _AS_STATEMENT if wanted[0] in _AS_EXCLAMATION else _AS_EXCLAMATION
        mark = replacements.get(written[0], written[0])
        if mark == written[0]:
            return translation
        return translation.edited([(*written.span(), mark)])
