"""Recognises dots that do not end a sentence: of abbreviations, initials and ordinal numbers."""

from service.text.languages import Language

LOOKED_AT = 48
"""Characters before a dot that are examined."""
MAX_PARTS = 4
"""Maximum words of an abbreviation: i. d. R."""
_ROMAN = frozenset("IVX")
_IN_FRONT = "(\"'„“”‚‘’«»‹›「『（[¿¡"


def is_inner(before: str, following: str, language: Language) -> bool:
    """Check whether the dot between `before` and the next word, `following`, is part of an abbreviation.

    >>> from service.text.languages import profile
    >>> is_inner("am 3", "Mai", profile("de")), is_inner("um 3", "Dann", profile("de"))
    (True, False)
    """
    words = before.rsplit(maxsplit=MAX_PARTS)[-MAX_PARTS:]
    word = words[-1].lstrip(_IN_FRONT) if words else ""
    following = following.casefold()
    starts = following in language.starters
    if word.isdecimal():
        if language.dotted_dates and following.isdecimal():
            return True
        return language.dotted_ordinals and len(word) <= 2 and not starts
    if language.dotted_ordinals and len(word) > 1 and _ROMAN.issuperset(word):
        return not starts
    readings = _readings(word, words)
    kinds, pairs = language.abbreviations, language.abbreviation_pairs
    kind = next((kinds[reading] for reading in readings if reading in kinds), None)
    if kind is None and readings[-1].endswith(language.abbreviation_ends):
        kind = "final"
    if kind and following[:1].isdecimal():
        return True  # "No. 5", "Hauptstr. 5"
    if kind == "inner" or any(f"{reading}.{following}" in pairs for reading in readings):
        return True
    if kind == "unit":  # in "5 Min. Verspätung", the capital belongs to a noun
        follows_number = any(earlier_word[-1:].isdecimal() for earlier_word in words[-2:-1])
        return not follows_number or (language.capitalizes_nouns and not starts)
    if kind == "final" and len(word) > 1:
        return False
    return _is_initials(word) and not (starts and len(following) > 1)


def _is_initials(word: str) -> bool:
    """Check whether a word consists of single capitals: J, U.S."""
    return word[-1:].isupper() and all(
        len(letter) == 1 and letter.isupper() for letter in word.split(".")
    )


def _readings(word: str, words: list[str]) -> list[str]:
    """Return the abbreviations with which words may end, longest first: i.d.r, d.r, r; l'av, av."""
    readings = [word.casefold()]
    for earlier_word in words[-2::-1]:
        if not earlier_word.endswith("."):
            break
        readings.insert(0, earlier_word.lstrip(_IN_FRONT).casefold() + readings[0])
    if "'" in word or "’" in word:
        readings.append(readings[-1].replace("’", "'").rpartition("'")[2])
    return readings
