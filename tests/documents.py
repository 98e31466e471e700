"""Access to the Markdown pages: links, headings, code blocks, and generated parts."""

import re
import shlex
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("attendant", "service", "model", "export", "docker", "docs", "tests")
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(page for room in ROOMS for page in sorted((ROOT / room).rglob("*.md"))),
]
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
"""Pages whose commands and examples must work as printed."""
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_BETWEEN_COMMANDS = {"&&", "||", "|", ";", "&"}


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    language: str
    text: str


def read(page: Path) -> str:
    """Read a page's Markdown."""
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    """Return the name of a page in test reports."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return the fenced code of a page in order, without the indentation of lists."""
    return [
        Block(language, re.sub(f"^{indent}", "", text, flags=re.MULTILINE))
        for indent, language, text in _FENCE.findall(read(page))
    ]


def prose(page: Path) -> str:
    """Return a page without its fenced code."""
    return _FENCE.sub("", read(page))


def inline_code(page: Path) -> list[str]:
    """Return the inline code of a page, each piece on one line."""
    return [" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose(page))]


def links(page: Path) -> list[str]:
    """Return the targets of a page's links, except URLs."""
    found = re.findall(r"""(?:\]\(|src=")([^)\s"]+)""", prose(page))
    return [link for link in found if not re.match("[a-z]+:", link)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub generates them."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} (.+?)\s*$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {f"{slug}-{n}" if n else slug for slug, last in found.items() for n in range(last + 1)}


def commands(script: str) -> list[list[str]]:
    """Return the words of each command in a shell script, without comments."""
    found: list[list[str]] = []
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;")
        lexer.whitespace_split, lexer.commenters = True, "#"
        command: list[str] = []
        for word in [*lexer, ";"]:
            if word not in _BETWEEN_COMMANDS:
                command.append(word)
            elif command:
                found.append(command)
                command = []
    return found


def table(page: Path, heading: str) -> list[list[str]]:
    """Return the cells, by row, of the table whose first column has this heading, without the heading."""
    _, _, *lines = prose(page).split(f"| {heading} |", 1)[1].splitlines()
    rows = takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in row.strip().split("|")[1:-1]] for row in rows]


def generated(page: Path, name: str) -> str:
    """Return the generated part of a page with this name."""
    return _parts(page, name)[1]


def renew(page: Path, name: str, part: str) -> None:
    """Replace the generated part of a page with this name."""
    before, _, after = _parts(page, name)
    page.write_text(before + part + after, encoding="utf-8")


def _parts(page: Path, name: str) -> tuple[str, str, str]:
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, rest = read(page).split(begin, 1)
    inside, after = rest.split(end, 1)
    return before + begin, inside, end + after
