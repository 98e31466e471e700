"""What the text rules need to know about a language."""

import unicodedata
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

Kind = Literal["inner", "final", "unit"]


def _abbreviations(text: object) -> object:
    if not isinstance(text, str):
        return text
    return frozenset(one.removesuffix(".") for one in text.casefold().split())


def _words(text: object) -> object:
    return frozenset(text.casefold().split()) if isinstance(text, str) else text


def _tuple(texts: object) -> object:
    return tuple(texts) if isinstance(texts, list) else texts


Abbreviations = Annotated[frozenset[str], BeforeValidator(_abbreviations)]
Words = Annotated[frozenset[str], BeforeValidator(_words)]
Links = Annotated[tuple[str, ...], BeforeValidator(_tuple)]
ClockMarks = Annotated[tuple[()] | tuple[str, str, str, str], BeforeValidator(_tuple)]
Marks = Annotated[str, Field(pattern=r"^[^\s\w]*$")]


@dataclass(frozen=True, eq=False, config=ConfigDict(strict=True, extra="forbid"))
class Language:
    """A language's profile: its fields are a data file's keys, and its defaults are safe for any language.

    In a file, words are one text, parted by blanks; abbreviations have their dots and no blanks ("z.B." is
    "z. B.", too), and "-str." is any word with that end.

    Raises:
        ValueError: a field is unknown, of a wrong type or of a wrong form.
    """

    code: str
    """As BCP 47 has it, as short as may be: de, zh-Hant."""
    name: str = ""
    """In English; empty: as CLDR has it."""
    script: Annotated[str, Field(pattern=r"^[A-Z][a-z]{3}$")] = "Zyyy"
    """ISO 15924."""
    direction: Literal["ltr", "rtl"] = "ltr"
    capitalizes_nouns: bool = False
    dotted_i: bool = False
    """Whether the capital of i is İ, and I that of ı."""
    accentless_capitals: bool = False
    """Whether words in capitals have no acute accents."""
    quotes: Annotated[str, Field(pattern=r"^(\S{4})?$")] = ""
    """Opening and closing, double and single; empty: not known."""
    clause_marks: Annotated[str, Field(pattern=r"^[^\s\w]{3}$")] = ",;:"
    """Its comma, semicolon and colon."""
    word_length: Annotated[int, Field(ge=0, le=20)] = 0
    """Characters of an average word where blanks do not separate words; 0 where they do."""
    sentence_marks: Marks = ".!?…"
    """End a sentence if there is a blank behind; of those a dot may belong to an abbreviation."""
    unspaced_marks: Marks = ""
    """End a sentence without one, too."""
    dotted_ordinals: bool = True
    """Whether "3." may be "3rd", so that no sentence ends there unless a starter follows."""
    dotted_dates: bool = False
    """Whether dots stand between all numbers of a date: 2024. 5. 3."""
    inner_abbreviations: Abbreviations = frozenset()
    """Never end a sentence: Dr."""
    final_abbreviations: Abbreviations = frozenset()
    """May end a sentence, and do so if a capital follows: etc."""
    unit_abbreviations: Abbreviations = frozenset()
    """May end a sentence behind a number, and never do otherwise: 1990 г."""
    starters: Words = frozenset()
    """Words with which many a sentence begins, and no name: before them, an initial or a number ends one."""
    before_noon: Words = frozenset()
    after_noon: Words = frozenset()
    """Behind an hour of twelve, the half of the day: am, pm; with `clock_marks`, in front of it: 午後."""
    clock_marks: ClockMarks = ()
    """Characters behind hours, behind minutes, for half an hour, and that make a duration: 時, 分, 半, 間."""
    hour_words: Words = frozenset()
    """Behind a number, say that it is a time of day: Uhr."""
    powers_of_ten: Links = ()
    """Words behind digits for 10, 100 and so on, in this order, that may stand before larger ones: 5천만."""
    compound_links: Links = ()
    """What may stand between parts of a compound that is one word: "", s (Gast-haus, Amt-s-gericht)."""
    speech_tags: Words = frozenset()
    """With which a sentence goes on behind a quotation that is a sentence of its own: "…" he said."""

    def __post_init__(self) -> None:
        """Refuse an abbreviation of two kinds."""
        kinds = self.inner_abbreviations, self.final_abbreviations, self.unit_abbreviations
        twice = len(frozenset.union(*kinds)) < sum(map(len, kinds))
        if twice:
            found = {
                one for kind in kinds for one in kind if sum(one in other for other in kinds) > 1
            }
            raise ValueError(f"abbreviations of more than one kind: {', '.join(sorted(found))}")

    @property
    def separates_words(self) -> bool:
        """Whether blanks do."""
        return self.word_length == 0

    @cached_property
    def abbreviations(self) -> dict[str, Kind]:
        """Those of all three kinds."""
        kinds: dict[str, Kind] = dict.fromkeys(self.final_abbreviations, "final")
        kinds |= dict.fromkeys(self.unit_abbreviations, "unit")
        return kinds | dict.fromkeys(self.inner_abbreviations, "inner")

    @cached_property
    def abbreviation_ends(self) -> tuple[str, ...]:
        """With which words end that are abbreviated."""
        return tuple(short[1:] for short in self.abbreviations if short.startswith("-"))

    @cached_property
    def abbreviation_pairs(self) -> frozenset[str]:
        """Parts of abbreviations that follow one another: z.B has z.b."""
        parts = (short.split(".") for short in self.abbreviations)
        return frozenset(f"{one}.{other}" for row in parts for one, other in pairwise(row))

    @cached_property
    def speech(self) -> tuple[str, ...]:
        """The speech tags, for `str.startswith`."""
        return tuple(self.speech_tags)

    def upper(self, text: str) -> str:
        """A text in capitals.

        >>> Language(code="tr", dotted_i=True).upper("iyi")
        'İYİ'
        """
        if self.dotted_i:
            text = text.replace("i", "İ")
        if self.accentless_capitals:
            apart = unicodedata.normalize("NFD", text).replace("\u0301", "")
            text = unicodedata.normalize("NFC", apart)
        return text.upper()

    def lower(self, text: str) -> str:
        """A text in small letters.

        >>> Language(code="tr", dotted_i=True).lower("IŞIK İYİ")
        'ışık iyi'
        """
        if self.dotted_i:
            text = text.replace("I", "ı").replace("İ", "i")
        return text.lower()

    def capitalized(self, text: str) -> str:
        """A text that begins with a capital.

        >>> Language(code="tr", dotted_i=True).capitalized("iyi günler")
        'İyi günler'
        """
        first = "İ" if self.dotted_i and text.startswith("i") else text[:1].title()
        return first + text[1:]
