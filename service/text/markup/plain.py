"""Splits plain text into runs, and preserves Markdown in it; most texts are one run.

The concatenated pieces and runs are always the original text, byte for byte.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from service.text.markup import directives, elements, markdown, messages, paired, subtitles
from service.text.markup.cells import GAP, OTHER_BLANKS, cut
from service.text.markup.markdown import Atom
from service.text.markup.marks import as_emphasis
from service.text.markup.messages import OUTSIDE, Scope
from service.text.markup.nesting import MAX_NESTING, depth
from service.text.markup.run_builder import RunBuilder
from service.text.run import Run

_MARK, _SIGNS = re.compile(r"[`*_~<\[\\|{\t]"), ("   ", "''", "+++", "///", "....", ". . .")
_BEGIN = r" {0,3}(?:[-+>#=]|\d{1,9}[.)])| {4}"
_FIRST_LINE, _LINE = re.compile(_BEGIN), re.compile(rf"[\n\r](?:{_BEGIN})")
"""Signs that texts without Markdown rarely have; each search takes a fraction of a microsecond."""
_BOUNDARIES = frozenset(["break", "block", "html", "unread"])
_FRONT_MATTER = re.compile(
    r"""
    ---\r?\n
    (?: (?: [\w-]++: | [ \t#] | -[ ] ).*+\n | \r?\n )++  # keys, nested lines, comments, list items
    ---\r?(?:\n|\Z)
  | \+\+\+\r?\n
    (?: (?: [\w."-]++[ \t]*+= | [ \t#\[\]}"'] ).*+\n | \r?\n )++
    \+\+\+\r?(?:\n|\Z)
    """,
    re.VERBOSE,
)
"""Front matter in YAML or TOML, as many site generators use."""
_MAX_DEPTH = MAX_NESTING // 2
"""If tags are nested more deeply, all become void tags. The rest is for quotes, which become tags later."""
_DEFINITION = re.compile(r"^[ ]{0,3}\[[^\]^][^\]\n]*\]:[ \t]*+(\S*+)", re.MULTILINE)
_ADDRESS = re.compile(r"[/#:<]|\w\.\w")


def parse(text: str, scope: Scope = OUTSIDE) -> list[str | Run]:
    """Return the runs to translate, and as strings the parts that are preserved, in order.

    Arguments of messages with branches are protected; see `messages.cut`.
    """
    message = messages.masked(text, scope)
    parts = [message] if message else subtitles.split(text)
    if parts is None:
        return _parse(text)
    pieces: list[str | Run] = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
        else:
            protected = iter(part.protected)
            pieces += [messages.unmasked(piece, protected) for piece in _parse(part.text)]
    return list(filter(None, pieces))


def _parse(text: str) -> list[str | Run]:
    """Parse a text that is neither a message nor subtitles."""
    run = Run(text)
    is_plain = run.is_of_words or not _has_signs(text)
    if is_plain and not _FIRST_LINE.match(text):
        return directives.cut(run)
    front_matter = match[0] if (match := _FRONT_MATTER.match(text)) else ""
    text = text[len(front_matter) :]
    atoms = list(markdown.atoms(text))
    kinds = {atom.kind for atom in atoms}
    pieces: list[str | Run] = [front_matter]
    if kinds - {"text", "break", "unread"}:
        pieces += _Gatherer(text).gather(atoms)
    else:
        pieces.append(as_emphasis(Run(text), is_unread=True) if "unread" in kinds else Run(text))
    cells: list[str | Run] = []
    for piece in pieces:
        for part in directives.cut(piece) if isinstance(piece, Run) else [piece]:
            if isinstance(part, Run):
                cells += cut(subtitles.tagged(paired.tagged(as_emphasis(part))))
            else:
                cells.append(part)
    return cells


def _has_signs(text: str) -> bool:
    """Check whether a text has signs that those without markup rarely have, except at its beginning."""
    if _MARK.search(text) or _LINE.search(text) or any(sign in text for sign in _SIGNS):
        return True
    return any(blank in text for blank in OTHER_BLANKS) and GAP.search(text) is not None


class _Gatherer:
    """Builds runs from adjacent atoms."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[str | Run] = []
        self.builder = RunBuilder()
        self.is_unread = False
        """Whether the text is that of an `unread` atom."""

    def gather(self, atoms: Iterable[Atom]) -> list[str | Run]:
        """Return all pieces."""
        position = 0
        for atom in atoms:
            self._between(self.text[position : atom.first], atom)
            self._take(self.text[atom.first : atom.last], atom)
            position = atom.last
        self._end()
        self._keep(self.text[position:])
        return self.pieces

    def _between(self, gap: str, atom: Atom) -> None:
        """Read the text between two atoms: indentation, backslashes before marks, or markers of blocks."""
        is_inside = bool(self.builder) and atom.kind not in _BOUNDARIES
        if is_inside and gap == "\\" and self._is_escape(atom.first):
            self.builder.tag(gap, "void")
        elif is_inside and (gap.isspace() or gap == "\\"):
            self.builder.add(gap)
        elif gap:
            self._end()
            self._keep(gap)

    def _is_escape(self, index: int) -> bool:
        """Check whether the backslash before a mark becomes a tag, not part of the text as in a_word.

        Before quotes, it more often belongs to a string of a program.
        """
        previous, following = self.text[index - 2], self.text[index + 1 : index + 2]
        return self.text[index] not in "_\"'" and not (previous.isalnum() and following.isalnum())

    def _take(self, markup: str, atom: Atom) -> None:
        if atom.kind == "break" or atom.kind == "block" or atom.kind == "unread":
            self._end()
            self._keep(markup)
            self.is_unread = atom.kind == "unread"
        elif atom.kind == "html":
            self._end()
            for piece in elements.parse(markup, "html", is_escaped=False):
                if isinstance(piece, Run):
                    piece = as_emphasis(piece, is_unread=True)
                self.pieces.append(piece)
        elif atom.kind == "text":
            self.builder.add(markup)
        elif atom.kind == "protected":
            self.builder.protect(markup)
        else:
            self.builder.tag(markup, atom.kind, atom.full)

    def _end(self) -> None:
        """End the current run, if there is one."""
        if not self.builder:
            return
        run, self.builder = self.builder.run(), RunBuilder()
        if depth(run.tags) > _MAX_DEPTH:  # no reason for an error, as it may not be markup at all
            run = replace(run, tags=[replace(tag, kind="void") for tag in run.tags])
        self.pieces.append(as_emphasis(run, is_unread=True) if self.is_unread else run)

    def _keep(self, text: str) -> None:
        """Add preserved text; link definitions without an address, such as `[Anna]: Ja.`, are translated."""
        start = 0
        for definition in _DEFINITION.finditer(text) if "]:" in text else ():
            if not _ADDRESS.search(definition[1]):
                self.pieces += [text[start : definition.start()], Run(definition[0])]
                start = definition.end()
        self.pieces.append(text[start:])
