"""What the text rules need to know about a language."""

from functools import cached_property
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

from service.text.normal_forms import normalize

Kind = Literal["inner", "final", "unit"]


def _abbreviations(text: object) -> object:
    if not isinstance(text, str):
        return text
    return frozenset(abbreviation.removesuffix(".") for abbreviation in text.casefold().split())


def _words(text: object) -> object:
    return frozenset(text.casefold().split()) if isinstance(text, str) else text


def _numerals(text: object) -> object:
    return (
        tuple(tuple(words.split("/")) for words in text.split()) if isinstance(text, str) else text
    )


def _by_minutes(words: object) -> object:
    if not isinstance(words, dict):
        return words
    return {int(minutes): _tuple(phrases) for minutes, phrases in words.items()}


def _tuple(texts: object) -> object:
    return tuple(texts) if isinstance(texts, list) else texts


Abbreviations = Annotated[frozenset[str], BeforeValidator(_abbreviations)]
Words = Annotated[frozenset[str], BeforeValidator(_words)]
Numerals = Annotated[tuple[()] | tuple[tuple[str, ...], ...], BeforeValidator(_numerals)]
Links = Annotated[tuple[str, ...], BeforeValidator(_tuple)]
Labels = dict[str, Links]
ClockMarks = Annotated[tuple[()] | tuple[str, str, str, str], BeforeValidator(_tuple)]
ClockWords = Annotated[
    dict[Annotated[int, Field(gt=-60, lt=60)], tuple[str, ...]], BeforeValidator(_by_minutes)
]
Marks = Annotated[str, Field(pattern=r"^[^\s\w]*$")]


@dataclass(frozen=True, eq=False, config=ConfigDict(strict=True, extra="forbid"))
class Language:
    """A language's profile. Its fields are the keys of data files; the defaults are safe for any language.

    In a file, a list of words is a string, separated by spaces. Abbreviations have dots but no spaces ("z.B."
    also matches "z. B."), and "-str." matches any word with that ending.

    Raises:
        ValueError: a field is unknown, or has a wrong type or form.
    """

    code: str
    """The shortest BCP 47 form: de, zh-Hant."""
    name: str = ""
    """The English name; empty means CLDR's."""
    script: Annotated[str, Field(pattern=r"^[A-Z][a-z]{3}$")] = "Zyyy"
    """ISO 15924."""
    direction: Literal["ltr", "rtl"] = "ltr"
    capitalizes_nouns: bool = False
    dotted_i: bool = False
    """Whether the upper case of i is İ, and the lower case of I is ı."""
    accentless_capitals: bool = False
    """Whether words in upper case have no acute accents."""
    quotes: Annotated[str, Field(pattern=r"^(\S{4})?$")] = ""
    """Opening and closing double quotes, then single ones; empty if unknown."""
    clause_marks: Annotated[str, Field(pattern=r"^[^\s\w]{3}$")] = ",;:"
    """Comma, semicolon and colon."""
    word_length: Annotated[int, Field(ge=0, le=20)] = 0
    """Average characters per word if words are not separated by spaces; 0 if they are."""
    sentence_marks: Marks = ".!?…"
    """Marks that end a sentence if whitespace follows; a dot may also belong to an abbreviation."""
    unspaced_marks: Marks = ""
    """Marks that end a sentence even without whitespace."""
    dotted_ordinals: bool = True
    """Whether "3." may mean "3rd", so that it ends a sentence only before a starter."""
    dotted_dates: bool = False
    """Whether the numbers of a date are followed by dots: 2024. 5. 3."""
    inner_abbreviations: Abbreviations = frozenset()
    """Abbreviations that never end a sentence: Dr."""
    final_abbreviations: Abbreviations = frozenset()
    """Abbreviations that end a sentence if a capital follows: etc."""
    unit_abbreviations: Abbreviations = frozenset()
    """Abbreviations that may end a sentence only after a number: 1990 г."""
    starters: Words = frozenset()
    """Common first words of sentences that are not names: before them, an initial or a number ends one."""
    before_noon: Words = frozenset()
    after_noon: Words = frozenset()
    """Words for the half of the day, after an hour up to 12: am, pm; with `clock_marks`, before it: 午後."""
    clock_marks: ClockMarks = ()
    """Characters after hours, after minutes, for half an hour, and for a duration: 時, 分, 半, 間."""
    hour_words: Words = frozenset()
    """Words after a number that make it a time of day: Uhr."""
    clock_words: ClockWords = Field(default_factory=dict)
    """Words in front of an hour in words, by the minutes from it, the most common ones first: half past."""
    unclear_clock_words: ClockWords = Field(default_factory=dict)
    """Those that mean a time only between one of `clock_leads` and the end of a phrase: five to seven."""
    clock_leads: Words = frozenset()
    """Words in front of a time: at."""
    ordinal_endings: dict[str, str] = Field(default_factory=dict)
    """What follows the digits of an ordinal number, by CLDR's category: 21st has that of `one`."""
    powers_of_ten: Links = ()
    """Words after digits for 10, 100 and so on, in this order, which may precede larger ones: 5천만."""
    numerals: Numerals = ()
    """The words for 1 to 99, with a slash between those for the same number: eins, zwei/zwo."""
    hundred: str = ""
    thousand: str = ""
    numeral_links: Links = ()
    """What may stand between the parts of a larger number: zwei""tausend, two" "hundred" and "one."""
    range_words: Words = frozenset()
    """Words between the two numbers of a range: 5 to 10."""
    number_labels: Labels = Field(default_factory=dict)
    """Abbreviations and words in front of a number, by what they mean, the most common one first: No. 5.

    The number behind one is no amount, so its dots are preserved: version 2.5.
    """
    compound_links: Links = ()
    """Possible links between the parts of a compound word: "", s (Gast-haus, Amt-s-gericht)."""
    noun_endings: Links = ("s", "es")
    """Endings of inflected nouns: Regel-n."""
    speech_tags: Words = frozenset()
    """Words that continue a sentence after a quotation that ends like a sentence: "…!" he said."""

    def __post_init__(self) -> None:
        """Check that no abbreviation is of two kinds, and that no numeral is missing."""
        kinds = self.inner_abbreviations, self.final_abbreviations, self.unit_abbreviations
        has_duplicates = len(frozenset.union(*kinds)) < sum(map(len, kinds))
        if has_duplicates:
            duplicates = {
                abbreviation
                for kind in kinds
                for abbreviation in kind
                if sum(abbreviation in other for other in kinds) > 1
            }
            raise ValueError(
                f"abbreviations of more than one kind: {', '.join(sorted(duplicates))}"
            )
        if self.ordinal_endings and "other" not in self.ordinal_endings:
            raise ValueError("ordinal_endings must have the ending of other numbers")
        if len(self.numerals) not in (0, 99):
            raise ValueError(f"numerals must be those of 1 to 99, but are {len(self.numerals)}")

    @property
    def separates_words(self) -> bool:
        """Whether words are separated by spaces."""
        return self.word_length == 0

    @cached_property
    def abbreviations(self) -> dict[str, Kind]:
        """The kind of each abbreviation."""
        labels = (label for labels in self.number_labels.values() for label in labels)
        dotted = (label.removesuffix(".") for label in labels if label.endswith("."))
        kinds: dict[str, Kind] = dict.fromkeys(map(str.casefold, dotted), "final")
        kinds |= dict.fromkeys(self.final_abbreviations, "final")
        kinds |= dict.fromkeys(self.unit_abbreviations, "unit")
        return kinds | dict.fromkeys(self.inner_abbreviations, "inner")

    @cached_property
    def abbreviation_ends(self) -> tuple[str, ...]:
        """The endings of abbreviated words, such as `str`."""
        return tuple(
            abbreviation[1:] for abbreviation in self.abbreviations if abbreviation.startswith("-")
        )

    @cached_property
    def abbreviation_pairs(self) -> frozenset[str]:
        """Adjacent parts of abbreviations: z.B. has z.b."""
        parts = (abbreviation.split(".") for abbreviation in self.abbreviations)
        return frozenset(f"{first}.{second}" for row in parts for first, second in pairwise(row))

    @cached_property
    def speech(self) -> tuple[str, ...]:
        """The speech tags, for `str.startswith`."""
        return tuple(self.speech_tags)

    def upper(self, text: str) -> str:
        """Return a text in upper case.

        >>> Language(code="tr", dotted_i=True).upper("iyi")
        'İYİ'
        """
        if self.dotted_i:
            text = text.replace("i", "İ")
        if self.accentless_capitals:
            decomposed = normalize("NFD", text).replace("\u0301", "")
            text = normalize("NFC", decomposed)
        return text.upper()

    def lower(self, text: str) -> str:
        """Return a text in lower case.

        >>> Language(code="tr", dotted_i=True).lower("IŞIK İYİ")
        'ışık iyi'
        """
        if self.dotted_i:
            text = text.replace("I", "ı").replace("İ", "i")
        return text.lower()

    def capitalized(self, text: str) -> str:
        """Return a text with its first letter in upper case.

        >>> Language(code="tr", dotted_i=True).capitalized("iyi günler")
        'İyi günler'
        """
        first_letter = "İ" if self.dotted_i and text.startswith("i") else text[:1].title()
        return first_letter + text[1:]
