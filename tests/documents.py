"""What the Markdown pages hold: their links, headings and code, and the parts that commands write."""

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
"""Pages whose commands and examples must work as they stand."""
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_BETWEEN_COMMANDS = {"&&", "||", "|", ";", "&"}


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    language: str
    text: str


def read(page: Path) -> str:
    """The page's Markdown."""
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    """How a page is called in reports of tests."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Its fenced code, in order, without the indentation that a list gives it."""
    return [
        Block(language, re.sub(f"^{indent}", "", text, flags=re.MULTILINE))
        for indent, language, text in _FENCE.findall(read(page))
    ]


def prose(page: Path) -> str:
    """The page without its fenced code."""
    return _FENCE.sub("", read(page))


def inline_code(page: Path) -> list[str]:
    """What stands between single backticks, each on one line."""
    return [" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose(page))]


def links(page: Path) -> list[str]:
    """What it links to, on other hosts apart."""
    found = re.findall(r"""(?:\]\(|src=")([^)\s"]+)""", prose(page))
    return [link for link in found if not re.match("[a-z]+:", link)]


def anchors(page: Path) -> set[str]:
    """The fragments of its headings, as GitHub makes them."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} (.+?)\s*$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {f"{slug}-{n}" if n else slug for slug, last in found.items() for n in range(last + 1)}


def commands(script: str) -> list[list[str]]:
    """The words of every command of a shell script, comments left out."""
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
    """The cells of the table whose head begins with `heading`, row by row."""
    _, _, *lines = prose(page).split(f"| {heading} |", 1)[1].splitlines()
    rows = takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in row.strip().split("|")[1:-1]] for row in rows]


def generated(page: Path, name: str) -> str:
    """What stands between the marks of that name."""
    return _parts(page, name)[1]


def renew(page: Path, name: str, part: str) -> None:
    """Replace what stands between the marks of that name."""
    before, _, after = _parts(page, name)
    page.write_text(before + part + after, encoding="utf-8")


def _parts(page: Path, name: str) -> tuple[str, str, str]:
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, rest = read(page).split(begin, 1)
    inside, after = rest.split(end, 1)
    return before + begin, inside, end + after
