"""Elements that are preserved end where browsers end them, also without end tags, compared with html5lib."""

import re
from collections.abc import Callable
from random import Random
from typing import Any

import html5lib
import pytest

from service.text.markup.elements import parse
from service.text.run import Run

NO = ' translate="no"'
WORD = re.compile(r"Wort\d+")


def translated(html: str) -> set[str]:
    """Return the words that are to be translated."""
    runs = (piece.text for piece in parse(html, "html") if isinstance(piece, Run))
    return set(WORD.findall(" ".join(runs)))


def translatable(html: str) -> set[str]:
    """Return the words outside elements with `translate="no"`, as parsed by a browser."""

    def texts(element: Any) -> str:
        inner = "".join(map(of_child, element))
        return "" if element.get("translate") == "no" else f"{element.text or ''}{inner}"

    def of_child(child: Any) -> str:
        return f"{texts(child)}{child.tail or ''}"

    tree = html5lib.parse(html, namespaceHTMLElements=False)
    return set(WORD.findall(texts(tree)))


class Writer:
    """Writes random documents in which many elements have no end tag."""

    def __init__(self, seed: int) -> None:
        self.random, self.words = Random(seed), 0

    def element(self, name: str, content: str) -> str:
        """Write an element whose end tag may be left out."""
        attribute = NO if self.random.random() < 0.25 else ""
        end = f"</{name}>" if self.random.random() < 0.4 else ""
        return f"<{name}{attribute}>{content}{end}"

    def word(self) -> str:
        self.words += 1
        return f"Wort{self.words} "

    def flow(self, depth: int = 0) -> str:
        """Write a paragraph, a list, a table or the like, or a word."""
        kinds: list[Callable[[], str]] = [self.word, lambda: f"<b>{self.word()}</b>"]
        if depth < 3:
            kinds += [
                lambda: self.element("p", f"{self.word()}<i>{self.word()}</i>"),
                lambda: f"<div>{self.several(depth)}</div>",
                lambda: f"<ul>{self.items(depth, 'li')}</ul>",
                lambda: f"<dl>{self.items(depth, 'dt', 'dd')}</dl>",
                lambda: f"<select>{self.items(3, 'option')}</select>",
                lambda: f"<table>{self.groups(depth)}</table>",
            ]
        return self.random.choice(kinds)()

    def several(self, depth: int) -> str:
        return "".join(self.flow(depth + 1) for _ in range(self.random.randint(1, 2)))

    def items(self, depth: int, *names: str) -> str:
        if names == ("option",):
            return "".join(self.element("option", self.word()) for _ in range(3))
        chosen = self.random.choices(names, k=3)
        return "".join(self.element(name, self.several(depth)) for name in chosen)

    def groups(self, depth: int) -> str:
        rows = [self.element("tr", self.items(depth, "td", "th")) for _ in range(4)]
        return "".join(self.element("tbody", "".join(group)) for group in (rows[:2], rows[2:]))


@pytest.mark.parametrize("seed", range(100))
def test_elements_end_as_in_browsers(seed: int) -> None:
    html = Writer(seed).several(0)
    assert translated(html) == translatable(html), html


@pytest.mark.parametrize(
    "html",
    [
        f"<ul><li{NO}>Wort1<li>Wort2</ul>Wort3",
        f"<ul><li{NO}>Wort1<ul><li>Wort2</ul><li>Wort3</ul>",
        f"<div><p{NO}>Wort1</div>Wort2",
        f"<p{NO}>Wort1 <b>Wort2 <i>Wort3</b> Wort4</i> Wort5<h2>Wort6</h2>",
        f"<table><tr><td><p{NO}>Wort1<tr><td>Wort2</table>",
        f"<select><optgroup{NO}><option>Wort1<optgroup><option>Wort2</select>",
        f"<html{NO}><body><p>Wort1<p>Wort2",
        f"<body{NO}><p>Wort1</body>",
    ],
)
def test_such_elements_end_as_in_browsers(html: str) -> None:
    assert translated(html) == translatable(html)
