"""How languages write quotes, numbers, dates and so on, as defined in `writing.toml`."""

import tomllib
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

PATH = Path(__file__).parent / "writing.toml"
Around = tuple[str, str]
"""The opening and the closing mark."""


class Writing(BaseModel):
    """How a language writes; `writing.toml` explains the fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    quotes: tuple[Around, ...]
    dash: str
    digraphs: dict[str, str] = {}
    decimal_mark: str
    group_mark: str
    months: tuple[str, ...]
    date: str
    clock: str
    amount: str
    percent: str
    score: str

    def number(self, english: str) -> str:
        """Convert a number from English notation, such as `1,234.5`, to this language's."""
        marks = {ord(","): self.group_mark, ord("."): self.decimal_mark}
        return english.translate(marks)


@cache
def writings() -> dict[str, Writing]:
    """Read all languages in `writing.toml`, by code."""
    tables = tomllib.loads(PATH.read_text(encoding="utf-8"))
    return {code: Writing.model_validate(table) for code, table in tables.items()}
