"""Lines that site generators add to Markdown, and Fluent's variants: what a block is, its title, imports.

`!!! note "Title"`, `:::tip[Title]`, `=== "Tab"`, `[!TIP] Title`. The title is translated. The rest, with its
quotes, is preserved.
"""

import re
from bisect import bisect_left

from service.text.markup.cells import cut_at
from service.text.run import Run

_TYPES = "|".join(
    """
    abstract admonition attention bug caution danger done error example fail failure faq hint important info
    missing note question quote seealso success summary tip tldr todo warning
    """.split()  # noqa: SIM905 - reads better than a page of quotes
)
_WITH_TEXT = "centered|deprecated|epigraph|rubric|sidebar|topic|versionadded|versionchanged"
_QUOTED = r"[ \t]++\"(?P<{}>[^\"\n]*+)\""
_BRACES = r"\{[^{}\n]*+\}"
_IMPORTED = rf"(?:type[ \t]++)?(?:\*[ \t]++as[ \t]++[\w$]++|[\w$]++)?+(?:,?[ \t]*+{_BRACES})?+"
_WITH_BODY = (
    # Python-Markdown: !!! note "Title", === "Tab"
    rf"(?:!!!|\?\?\?\+?)[ \t]*+(?i:{_TYPES})(?![\w-])(?:[ ](?:inline|end)\b)*+(?:{_QUOTED.format('a')})?+",
    rf"(?:!!!|\?\?\?\+?)[ \t]*+[A-Za-z][\w-]*+(?:[ ][\w-]++)*+{_QUOTED.format('b')}",
    rf"={{3}}[!+]?+{_QUOTED.format('c')}",
)
_FORMS = (
    *_WITH_BODY,
    # Docusaurus, VitePress: :::note[Title], ::: tip Title; MyST: :::{note} Title
    rf":{{3,}}+[ \t]*+(?:(?:[a-z][\w-]*+|{_BRACES})"
    rf"(?:\[(?P<d>[^\[\]\n]*+)\]|[ \t]++(?P<e>[^\s{{][^\n{{]*+))?+(?:[ \t]*+{_BRACES})?+)?+",
    # PyMdown: /// note | Title
    rf"///(?:[ \t]++(?:[\w-]++[ \t]*+\|[ \t]*+(?P<f>[^\n]*+)|(?:{_TYPES})(?![\w-])))?+",
    # GitHub, Obsidian: [!TIP]- Title
    r"\[![\w-]++\][+-]?+(?:[ \t]++(?P<g>[^\n]*+))?+",
    # reStructuredText: .. note:: Text
    rf"\.\.[ \t]++(?:{_TYPES}|{_WITH_TEXT})::(?:[ \t]++(?P<h>[^\n]*+))?+",
    r"\.\.[ \t]++[\w-]++(?::[\w-]++)*+::[^\n]*+",
    # Git: Signed-off-by: Name <address>
    r"[A-Z][a-z]++(?:-[a-z]++)++(?<=-by):[ \t]++[^\n<>]*+(?:<[^\s<>]++>|(?<=\ufffc))",
    # Fluent: *[other] Text
    r"\*?\[(?:zero|one|two|few|many|other|male|female|masculine|feminine|neuter|\d++)\][ \t]++(?P<i>[^\n]*+)",
    # MDX
    rf"import[ \t]++(?:{_IMPORTED}[ \t]++from[ \t]++)?(?:\"[^\"\n]++\"|'[^'\n]++');?+",
    r"export[ \t]++(?:(?:const|let|var)[ \t]++\w++[ \t]*+=|function[ \t]++\w++\(|\*[ \t])[^\n]*+",
    r"export[ \t]++\{(?:[^{}\n]*+\}[ \t]*+(?:from[ \t][^\n]*+)?;?+)?+",
    r"export[ \t]++default[ \t]++(?:(?:function|class)\b[^\n]*+|\w++;|\{[^\n]*+)",
)
_DIRECTIVE = re.compile(rf"^[ \t]*+(?:{'|'.join(_FORMS)})[ \t\r]*+(?:\n|\Z)", re.MULTILINE)
"""A line with a directive; a group is its title."""
_MAY_HOLD_ONE = re.compile(r"!!!|\?\?\?|===|::|-by:|///|\[[!a-z\d]|(?:im|ex)port ")
"""A fast check that rejects most texts."""
_OUTER_LINE = re.compile(
    rf"^(?:(?P<has_body>(?:{'|'.join(_WITH_BODY)})[ \t\r]*+$)|\S)", re.MULTILINE
)
"""The beginning of a line that is not indented."""


def cut(run: Run) -> list[str | Run]:
    """Split a run at such lines, in order; without them, return the run alone."""
    if run.is_of_words or _MAY_HOLD_ONE.search(run.text) is None:
        return [run]
    places = []
    for match in _DIRECTIVE.finditer(run.text):
        begin, end = match.span()
        first, last = match.span(match.lastgroup) if match.lastgroup else (end, end)
        places += [(begin, first), (last, end)]
    places = [place for place in places if place[0] < place[1]]
    return cut_at(run, places) if places else [run]


class Bodies:
    """Distinguishes the bodies of directives, which are indented as code is, from code."""

    def __init__(self, text: str) -> None:
        """Find the lines of a text that are not indented."""
        self._lines = list(_OUTER_LINE.finditer(text))

    def has(self, position: int) -> bool:
        """Check whether an indented line at `position` belongs to a directive."""
        index = bisect_left(self._lines, position, key=re.Match.start) - 1
        return index >= 0 and self._lines[index]["has_body"] is not None
