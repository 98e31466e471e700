"""Maps language codes to fastText's labels, and to scripts."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import regex

from service.text.languages import lookup, parse

_OF_WIKIPEDIA = {"als": "gsw"}
"""Labels are Wikipedia's codes, some of which stand for another language in ISO 639."""
_ALSO_IN = {"eml": "Latn", "hif": "Latn", "nah": "Latn", "sr": "Latn"}
"""By label, a further script besides CLDR's usual one."""
_PARTS = {"Hans": "Hani", "Hant": "Hani", "Jpan": "Hani Kana", "Kore": "Hang"}
"""Scripts that consist of other scripts' letters."""
_FIRST_OTHER = "\u0370"
"""All letters before it are Latin."""
_SCRIPTS = [
    "Latn", "Cyrl", "Arab", "Deva", "Grek", "Hang", "Hebr", "Thai", "Armn", "Beng", "Ethi",
    "Geor", "Gujr", "Guru", "Khmr", "Knda", "Laoo", "Mlym", "Mymr", "Orya", "Sinh", "Taml",
    "Telu", "Thaa", "Tibt",
]  # fmt: skip
_LETTER = regex.compile(
    r"(?P<Hani>\p{Hani})|(?P<Kana>[\p{Hira}\p{Kana}])|"
    + "|".join(rf"(?P<{script}>\p{{{script}}})" for script in _SCRIPTS)
)


def code_of(label: str) -> str:
    """Return the code of a label's language in ISO 639."""
    return _OF_WIKIPEDIA.get(label, label)


def label_of(code: str, labels: Iterable[str]) -> str | None:
    """Return the label of a language, or None if there is none.

    >>> [label_of(code, ["als", "no", "pt", "sq"]) for code in ("nob_Latn", "pb", "als", "gsw", "de")]
    ['no', 'pt', 'sq', 'als', None]
    """
    by_code = {code_of(label): label for label in labels}
    code_of_label = lookup(code.replace("_", "-").partition("-")[0], by_code)
    return by_code[code_of_label] if code_of_label else None


def script_of(text: str) -> str:
    """Return the script of most letters; "" for a rare one. Any Kana makes Han letters count as Kana."""
    if text.isascii() or max(text) < _FIRST_OTHER:
        return "Latn"
    counts: Counter[str] = Counter()
    for letter, number in Counter(text).items():
        if letter.isalpha():
            counts[_script_of_letter(letter)] += number
    if counts["Kana"]:
        counts["Kana"] += counts.pop("Hani", 0)
    return max(counts, key=counts.__getitem__) if counts.total() else "Latn"


def is_written_in(label: str, script: str) -> bool:
    """Check whether a language is written in a script; always true for rare scripts ("").

    >>> is_written_in("ru", "Cyrl"), is_written_in("ru", "Latn")
    (True, False)
    """
    return not script or script in _scripts(label) or script == _ALSO_IN.get(label)


def fits(code: str, text: str, script: str) -> bool:
    """Check whether a text is in the script that a code names, or else in its language's usual script.

    >>> fits("zh-Hant", "你在幹什麼啊", "Hani"), fits("zh", "你在幹什麼啊", "Hani")
    (True, False)
    """
    named_script = parse(code).script
    if script != "Hani" or named_script not in ("Hans", "Hant"):
        return script in _scripts(code)
    simplified, traditional = (  # each encoding has the characters of one orthography only
        sum(bool(character.encode(encoding, "ignore")) for character in text)
        for encoding in ("gb2312", "big5")
    )
    return traditional > simplified if named_script == "Hant" else simplified >= traditional


@lru_cache(maxsize=1024)
def _scripts(code: str) -> tuple[str, ...]:
    """Return the scripts of the letters that a language is written with; none if unknown."""
    script = parse(code).script
    return tuple(_PARTS.get(script, script).split())


@lru_cache(maxsize=16_384)
def _script_of_letter(letter: str) -> str:
    match = _LETTER.match(letter)
    return (match.lastgroup or "") if match else ""
