"""Splits HTML and XML into runs of text between blocks, so that sentences are translated without their tags.

Nothing is repaired or lost: if a document is malformed, so is its translation.
"""

import html
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from html.entities import html5
from itertools import chain

from service.text.markup.cells import cut_at_gaps
from service.text.markup.lexer import Kind, Token, tokens
from service.text.markup.optional_ends import end_of_element, may_lack_end
from service.text.markup.run_builder import RunBuilder
from service.text.rules.notation import MAY_HAVE_AMOUNT
from service.text.run import PROTECTED, Format, Run, Tag, TagKind
from service.text.segmenter import has_letter
from service.text.words import TOUCHING, code_between

_LONG_NUMBER = re.compile(r"(?<=&#)[0-9]{8,}")
_TEMPLATES = ("<%", "%>"), (r"\{%", r"%\}"), (r"\{\{", r"\}\}")
_KEPT = {
    "html": re.compile(
        rf"(?P<part>{'|'.join(code_between(*marks) for marks in _TEMPLATES)})|\]\]>"
    ),
    "xml": re.compile(r"&(?:(?P<part>[^\W\d][\w.:-]*+)|#(?:0*+13|x0*+[Dd]));"),
}
"""What is written as it was, not escaped: code of templates and references to declared entities, which are
parts of a sentence (`part`); the end of a CDATA section, which is text in HTML, and carriage returns."""
INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q rb ruby s samp
    small span strike strong sub sup time tt u var wbr
    """.split()  # noqa: SIM905 - reads better than a page of quotes
)
RAW = frozenset(["script", "style", "textarea", "svg", "math", "pre"])
"""Elements that are preserved unchanged, with everything in them."""
UNTRANSLATED = frozenset(["code", "kbd", "samp", "var", "tt"])
"""Inline elements whose text is preserved unchanged."""
READINGS: Mapping[str, TagKind | None] = {"rt": "void", "rp": "void"}
"""Elements with the reading of a word in front of them; each is one tag as a whole, of this kind."""
_IN_SEGMENT: dict[str, TagKind | None] = {
    **dict.fromkeys(["g", "mrk", "pc", "hi"]),
    **{"bpt": "open", "ept": "close", "ph": "void", "it": "void"},
}
"""Inline elements of XLIFF and TMX. If an element's text is code, it is one tag as a whole, of this kind."""
_HAS_SEGMENTS = re.compile(
    r"(?:xliff|trans-unit|tmx|tuv?|seg|mrk|pc|bpt|ept)\b|ph\b.*\bx\s*=|it\b.*\bpos\s*=", re.DOTALL
)
"""Local names and attributes of elements that identify XLIFF and TMX, or parts of these."""
_OF_FORMAT = re.compile(
    rf"</?(?:\w+:)?(?:{'|'.join([*_IN_SEGMENT, 'x', 'bx', 'ex', 'sc', 'ec', 'r', 'run'])})(?![^\s/>])"
)
"""Tags of XLIFF, TMX and Office Open XML that may enclose a part of a word in another format."""
_LIST_MARKER = re.compile(r"mso-list:\s*ignore", re.IGNORECASE)
"""The style of the elements in which Word writes the number or bullet of a list's item."""
_LINK = re.compile(r"</?a\b", re.IGNORECASE)
_EDIT_LINK = re.compile(r"\bmw-editsection\b(?!-)")
"""The class of MediaWiki's link behind a heading: `History[edit]`."""
_DIVIDES = re.compile(r"&|<(?!wbr\b)\w", re.IGNORECASE)
"""A void tag that separates words; comments do not, and `<wbr>` is used within words."""
_AFTER_QUOTE = re.compile(rf"(?:[^\W{TOUCHING}]|[.,!?…])[”“\"»«](?=[^\W{TOUCHING}])")
"""A closing quote directly before a word. Scripts without spaces have such quotes within sentences."""
_UNSPACED = re.compile(rf"[{TOUCHING}]{{2}}")
_REFERENCE = re.compile(r"(&[^\s;&<]++;)")
_ATTRIBUTE = re.compile(
    r"""([^\s/>="']++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'>]++))?+""",
)


def parse(
    text: str,
    kind: Kind,
    ignored: Iterable[str] = (),
    *,
    is_escaped: bool = True,
    characters: int = sys.maxsize,
) -> list[str | Run]:
    """Return the runs to translate, and as strings the parts that are preserved, in order.

    Args:
        text: HTML or XML, complete or a part, well-formed or not.
        kind: the format.
        ignored: names of elements whose text is preserved unchanged, besides those marked in the text.
        is_escaped: whether text contains character references such as `&lt;`.
        characters: how many characters to translate there should be, at least; the rest is left out.
    """
    kept = frozenset(name.lower() if kind == "html" else name for name in ignored)
    kept |= RAW | UNTRANSLATED if kind == "html" else frozenset()
    stream = list(_beginning(tokens(text, kind), kept, characters))
    parser = _Parser(kind, kept, stream, is_escaped)
    index = 0
    while index < len(stream):
        index = parser.take(index)
    return parser.finish()


def _beginning(stream: Iterator[Token], kept: frozenset[str], characters: int) -> Iterator[Token]:
    """Yield tokens until they have so many characters outside the elements that are preserved."""
    outer, depth = "", 0  # a preserved element, and how deep its own kind is nested in it
    for token in stream:
        yield token
        if depth:
            if token.name == outer:
                depth += (token.kind == "open") - (token.kind == "close")
        elif token.kind == "open" and _is_kept(token, kept):
            outer, depth = token.name, 1
        elif token.kind == "text":
            characters -= len(token.raw)
            if characters <= 0:
                return


def _is_kept(token: Token, kept: frozenset[str]) -> bool:
    """Check whether the element that a token begins is preserved unchanged."""
    return token.name in kept or _says_no(token.attributes)


def _local(name: str) -> str:
    """Return a name without its prefix."""
    return name.rpartition(":")[2]


class _Parser:
    """Builds runs from tokens."""

    def __init__(
        self, kind: Kind, kept: frozenset[str], stream: list[Token], is_escaped: bool
    ) -> None:
        self.stream, self.is_escaped = stream, is_escaped
        self.format: Format = kind if is_escaped else "text"
        self.tags = READINGS if kind == "html" else _segment_parts(stream)
        self.inline = _inline_names(stream, kind) | self.tags.keys()
        self.kept = kept
        self.ends = _ends_of_elements(stream)
        self.pieces: list[str | Run] = []
        self.first, self.builder = 0, RunBuilder()

    def take(self, index: int) -> int:
        """Read the token at `index`, or the element that it begins; return the index of the next token."""
        token = self.stream[index]
        if token.kind == "text":
            self._add_text(token.raw)
        elif token.kind == "open" and (kind := self.tags.get(token.name)):
            end = self.ends.get(index) or self._after_text(index + 1)
            self.builder.tag(self._raw(index, end), kind)
            return end
        elif token.kind == "open" and _LIST_MARKER.search(token.attributes):
            end = self._end(index)
            self.builder.tag(self._raw(index, end), "void")
            return end
        elif token.kind == "open" and _is_kept(token, self.kept):
            end = self._end(index)
            if token.name in self.inline:
                self.builder.protect(self._raw(index, end))
            else:
                self._block(index, end)
            return end
        elif token.kind == "verbatim" or token.name in self.inline:
            kind = "void" if token.kind == "verbatim" else token.kind
            self.builder.tag(token.raw, kind)
        else:
            self._block(index, index + 1)
        return index + 1

    def finish(self) -> list[str | Run]:
        """Return all pieces."""
        self._block(len(self.stream), len(self.stream))
        return [piece for piece in self.pieces if piece != ""]

    def _add_text(self, markup: str) -> None:
        """Add unescaped text, except for what must stay as it is written."""
        if not self.is_escaped:
            self.builder.add(markup)
            return
        start = 0
        for kept in _KEPT[self.format].finditer(markup):
            if kept[0][1:] in html5:
                continue
            self.builder.add(unescaped(markup[start : kept.start()]))
            start = kept.end()
            if kept["part"]:
                self.builder.protect(kept[0])
            else:
                self.builder.tag(kept[0], "void")
        self.builder.add(unescaped(markup[start:]))

    def _end(self, index: int) -> int:
        """Return the index after an element; the tag is all of one that never ends, but could."""
        if self.format == "html" and may_lack_end(self.stream[index].name):
            return end_of_element(self.stream, index, self.inline)
        return self.ends.get(index, index + 1)

    def _after_text(self, index: int) -> int:
        """Return the index after a text at `index`, if there is one: the end tag of `<rt>` may be missing."""
        return index + any(token.kind == "text" for token in self.stream[index : index + 1])

    def _raw(self, start: int, end: int) -> str:
        """Return the markup of a range of tokens."""
        return "".join(token.raw for token in self.stream[start:end])

    def _without_words(self, text: str, end: int) -> str | Run:
        """Return the run with this text, up to a token, with tags and character references as they are.

        If it has elements whose text is preserved, return its markup.
        """
        stream = self.stream[self.first : end]
        markup = "".join(token.raw for token in stream if token.kind == "text")
        if text not in (markup, unescaped(markup)):
            return self._raw(self.first, end)
        builder = RunBuilder()
        for token in stream:
            parts = _REFERENCE.split(token.raw) if token.kind == "text" else ["", token.raw]
            for index, part in enumerate(parts):
                if index % 2:
                    builder.tag(part, "void")
                else:
                    builder.add(part)
        return builder.run()

    def _block(self, first: int, end: int) -> None:
        """End the run before tokens that belong to no run: a block's tag, or a whole preserved element."""
        run = self.builder.run(self.format)
        has_message = not self.is_escaped and PROTECTED in run.text  # whose branches may have words
        if has_letter(run.text) or has_message:
            self.pieces += chain.from_iterable(map(cut_at_gaps, _cut_between_elements(run)))
        elif MAY_HAVE_AMOUNT.search(run.text):
            self.pieces.append(self._without_words(run.text, first))
        else:
            self.pieces.append(self._raw(self.first, first))
        self.pieces.append(self._raw(first, end))
        self.first, self.builder = end, RunBuilder()


def _segment_parts(stream: list[Token]) -> Mapping[str, TagKind | None]:
    """Return the inline elements in the segments of XLIFF and TMX, by name with prefix."""
    if not any(_HAS_SEGMENTS.match(f"{_local(token.name)} {token.attributes}") for token in stream):
        return {}
    names = {token.name for token in stream}
    return {name: _IN_SEGMENT[_local(name)] for name in names if _local(name) in _IN_SEGMENT}


def _inline_names(stream: list[Token], kind: Kind) -> frozenset[str]:
    """Return the names of inline elements: in XML, those that are directly beside text somewhere."""
    if kind == "html":
        return INLINE
    inline: set[str] = set()
    for previous, token, following in zip(
        [None, *stream], stream, [*stream[1:], None], strict=False
    ):
        neighbour = following if token.kind == "close" else previous
        is_tag = token.kind in ("open", "close", "void")
        if is_tag and neighbour is not None and neighbour.kind == "text" and neighbour.raw.strip():
            inline.add(token.name)
    return frozenset(inline)


def _cut_between_elements(run: Run) -> list[Run]:
    """Split a run where only tags separate two words: `</a><a>`, `”<cite>`, or `<br/>` in XML.

    Such words are separate on the page, like the entries of a menu. An element within a word begins after
    text. In formats for translators and of office documents, a lower-case letter continues a word.
    """
    cuts = [
        (tag.at, index)
        for index, tag in enumerate(run.tags)
        if _divides(run, run.tags[max(0, index - 1)], tag)
    ]
    runs: list[Run] = []
    start = first_tag = 0
    for end, last_tag in [*cuts, (len(run.text), len(run.tags))]:
        runs.append(run.part(start, end, run.tags[first_tag:last_tag]))
        start, first_tag = end, last_tag
    return runs


def _says_no(attributes: str) -> bool:
    """Check whether attributes include `translate="no"` or the class `notranslate`."""
    if "translate" not in attributes.lower():
        return False
    named_values = (
        (name.lower(), value.strip("\"'").lower()) for name, value in _ATTRIBUTE.findall(attributes)
    )
    return any(
        (name == "translate" and value == "no")
        or (name == "class" and "notranslate" in value.split())
        for name, value in named_values
    )


def _divides(run: Run, previous: Tag, tag: Tag) -> bool:
    """Check whether a tag, with the one before it, separates two words."""
    if tag.kind == "open" and _AFTER_QUOTE.match(run.text, max(0, tag.at - 2)):
        return not _goes_on(run, previous, tag)
    if tag.kind == "open" and _EDIT_LINK.search(tag.raw):
        return True
    if not (
        run.text[max(0, tag.at - 1) : tag.at].isalnum() and run.text[tag.at : tag.at + 1].isalnum()
    ):
        return False
    if tag.kind == "void":
        return _DIVIDES.match(tag.raw) is not None and not _goes_on(run, tag, tag)
    is_next = previous.kind == "close" and tag.kind == "open" and previous.at == tag.at
    return is_next and not _goes_on(run, previous, tag)


def _goes_on(run: Run, previous: Tag, tag: Tag) -> bool:
    """Check whether a word or sentence continues in the next element.

    In scripts without spaces, it always does, except between links.
    """
    is_unspaced = _UNSPACED.fullmatch(run.text, tag.at - 1, tag.at + 1) is not None
    if run.format == "xml":
        is_formatted = _OF_FORMAT.match(previous.raw) and _OF_FORMAT.match(tag.raw)
        return bool(is_formatted) and (is_unspaced or run.text[tag.at].islower())
    return is_unspaced and not (_LINK.match(previous.raw) and _LINK.match(tag.raw))


def unescaped(text: str) -> str:
    """Replace character references by their characters.

    `html.unescape` converts each number to an int, and Python raises an error for more than 4,300 digits. A
    number of eight digits is beyond Unicode already, unless it begins with zeros.

    >>> unescaped("&lt;&#065;&#99999999;") == "<A\ufffd"
    True
    """
    if "&#" in text:
        text = _LONG_NUMBER.sub(lambda number: number[0].lstrip("0")[:8] or "0", text)
    return html.unescape(text)


def _ends_of_elements(stream: list[Token]) -> dict[int, int]:
    """Return, for each open tag that has a close tag, the index after the close tag."""
    ends: dict[int, int] = {}
    opened: dict[str, list[int]] = {}
    for index, token in enumerate(stream):
        if token.kind == "open":
            opened.setdefault(token.name, []).append(index)
        elif token.kind == "close" and opened.get(token.name):
            ends[opened[token.name].pop()] = index + 1
    return ends
