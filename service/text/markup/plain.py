"""Plain text as runs: Markdown in it is kept; most texts are one run.

Pieces and runs joined together are always the original text, byte for byte.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from service.text.markup import elements, markdown, messages, subtitles
from service.text.markup.cells import cut
from service.text.markup.markdown import Atom
from service.text.markup.marks import as_emphasis
from service.text.markup.nesting import MAX_NESTING, depth
from service.text.markup.run_builder import RunBuilder
from service.text.run import Run

_MARK = re.compile(r"[`*_~<\[\\|{\t]| {3}")
_BEGIN = r" {0,3}(?:[-+>#=]|\d{1,9}[.)])| {4}"
_FIRST_LINE, _LINE = re.compile(_BEGIN), re.compile(rf"[\n\r](?:{_BEGIN})")
"""What a text without Markdown has none of, as a rule; each is looked for in a fraction of a microsecond."""
_FRONT_MATTER = re.compile(r"---\r?\n(?:(?:[\w-]++:|[ \t#]|- ).*+\n|\r?\n)++---\r?(?:\n|\Z)")
"""YAML, with which a page of many generators begins."""
_MAX_DEPTH = MAX_NESTING // 2
"""Beyond it tags are single ones; the rest is for quotes and the like, which are tags later."""
_DEFINITION = re.compile(r"^[ ]{0,3}\[[^\]^][^\]\n]*\]:[ \t]*+(\S*+)", re.MULTILINE)
_ADDRESS = re.compile(r"[/#:<]|\w\.\w")


def parse(text: str) -> list[str | Run]:
    """What stays as it is, as strings, and the runs to translate, in order."""
    parts = messages.split(text) or subtitles.split(text)
    if parts is None:
        return _parse(text)
    pieces: list[str | Run] = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
        else:
            protected = iter(part.protected)
            pieces += [messages.unmasked(one, protected) for one in _parse(part.text)]
    return list(filter(None, pieces))


def _parse(text: str) -> list[str | Run]:
    """What `parse` does, of a text that is neither a message nor subtitles."""
    run = Run(text)
    is_plain = run.is_of_words or not (_MARK.search(text) or _LINE.search(text))
    if is_plain and not _FIRST_LINE.match(text):
        return [run]
    front = match[0] if (match := _FRONT_MATTER.match(text)) else ""
    text = text[len(front) :]
    found = list(markdown.atoms(text))
    is_marked_up = any(atom.kind not in ("text", "break") for atom in found)
    pieces = [front, *(_Gatherer(text).gather(found) if is_marked_up else [Run(text)])]
    cut_up = (
        [one] if isinstance(one, str) else cut(subtitles.tagged(as_emphasis(one))) for one in pieces
    )
    return list(chain.from_iterable(cut_up))


class _Gatherer:
    """Makes runs of atoms that stand side by side."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[str | Run] = []
        self.builder = RunBuilder()

    def gather(self, atoms: Iterable[Atom]) -> list[str | Run]:
        """All pieces."""
        at = 0
        for atom in atoms:
            self._between(self.text[at : atom.first], atom)
            self._take(self.text[atom.first : atom.last], atom)
            at = atom.last
        self._end()
        self._keep(self.text[at:])
        return self.pieces

    def _between(self, gap: str, atom: Atom) -> None:
        """Take in what is between two atoms: indentation, what escapes a mark, markers of blocks."""
        is_inside = bool(self.builder) and atom.kind not in ("break", "block", "html")
        if is_inside and gap == "\\" and self._is_escape(atom.first):
            self.builder.tag(gap, "void")
        elif is_inside and (gap.isspace() or gap == "\\"):
            self.builder.add(gap)
        elif gap:
            self._end()
            self._keep(gap)

    def _is_escape(self, at: int) -> bool:
        """Whether the backslash in front of a mark is best apart from the text: not so in a_word."""
        before, behind = self.text[at - 2], self.text[at + 1 : at + 2]
        return self.text[at] != "_" and not (before.isalnum() and behind.isalnum())

    def _take(self, raw: str, atom: Atom) -> None:
        if atom.kind == "break" or atom.kind == "block":
            self._end()
            self._keep(raw)
        elif atom.kind == "html":
            self._end()
            self.pieces += elements.parse(raw, "html", is_escaped=False)
        elif atom.kind == "text":
            self.builder.add(raw)
        elif atom.kind == "protected":
            self.builder.protect(raw)
        else:
            self.builder.tag(raw, atom.kind)

    def _end(self) -> None:
        """End the run, if there is one."""
        if not self.builder:
            return
        run, self.builder = self.builder.run(), RunBuilder()
        if depth(run.tags) > _MAX_DEPTH:  # no reason to refuse what may be no markup at all
            run = replace(run, tags=[replace(tag, kind="void") for tag in run.tags])
        self.pieces.append(run)

    def _keep(self, raw: str) -> None:
        """Take in what stays as it is; `[Anna]: Ja.` does not, as it defines no address."""
        at = 0
        for said in _DEFINITION.finditer(raw) if "]:" in raw else ():
            if not _ADDRESS.search(said[1]):
                self.pieces += [raw[at : said.start()], Run(said[0])]
                at = said.end()
        self.pieces.append(raw[at:])
