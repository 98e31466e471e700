"""Signs, codes and names of currencies, and how languages write them next to numbers (from CLDR)."""

import re

import regex
from babel.core import Locale
from babel.numbers import get_currency_name, get_currency_symbol

from service.text.languages import Language, locale
from service.text.rules.figures import NOUN_COUNTS

_DOLLARS = ("AUD", "CAD", "HKD", "NZD", "SGD", "USD")
_WITHOUT_SIGN = ("CHF", "CZK", "DKK", "HUF", "NOK", "PLN", "SEK")
CODES: dict[str, str] = {
    **dict.fromkeys(_DOLLARS, "$"),
    **{"CNY": "¥", "EUR": "€", "GBP": "£", "INR": "₹", "JPY": "¥", "KRW": "₩", "TRY": "₺"},
    **{"ILS": "₪", "RUB": "₽", "THB": "฿", "UAH": "₴", "VND": "₫"},
    **{code: code for code in _WITHOUT_SIGN},
}
"""The sign of each currency by its ISO 4217 code, or the code if it has no sign.

Only those that are traded much: other codes may be words, as in TOP 10.
"""
SIGN = regex.compile(r"\p{Sc}")


def names(language: Language) -> dict[str, set[str]]:
    """Return the signs that each of a language's names of currencies may mean: dollars, US dollars, 円."""
    known = locale(language.code)
    # dollars canadiens, Canadian dollars: dollars have the noun in common
    dollars = [_words(name) for code in _DOLLARS for name in _forms(known, code)]
    noun = min((0, -1), key=lambda place: len({words[place] for words in dollars}))
    signs: dict[str, set[str]] = {}
    for code, sign in CODES.items():
        for name in _forms(known, code):
            signs.setdefault(name, set()).add(sign)
            signs.setdefault(_words(name)[noun], set()).add(sign)
    return signs


def _words(name: str) -> list[str]:
    return re.split(r"[\s-]", name)


def _forms(known: Locale | None, code: str) -> set[str]:
    """Return the name of a currency in all its forms, in lower case, and its abbreviation."""
    if known is None:
        return set()
    forms = [get_currency_name(code, count, known) for count in (None, *NOUN_COUNTS)]
    forms.append(get_currency_symbol(code, known))
    return {form.casefold() for form in forms if SIGN.search(form) is None}


def words_between(language: Language) -> list[str]:
    """Return a language's words between numbers that may share a sign: to, and, or."""
    known = locale(language.code)
    lists = [known.list_patterns[kind]["2"] for kind in ("standard", "or")] if known else []
    words = (pattern.replace("{0}", "").replace("{1}", "").strip() for pattern in lists)
    return [*language.range_words, *(word for word in words if word.isalpha())]


def sign_is_first(language: Language) -> bool:
    """Check whether a language writes signs before numbers; False if it is unknown."""
    known = locale(language.code)
    pattern = known.currency_formats["standard"].pattern if known else "0¤"
    return pattern.index("¤") < pattern.index("0")
