"""Codes of languages, and their English names."""

from collections.abc import Iterable

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh",
    "da": "Danish", "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto",
    "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "ms": "Malay",
    "nb": "Norwegian Bokmål", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian",
    "sr": "Serbian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip

CAPITALIZE_NOUNS = frozenset({"de", "lb"})
QUOTES_OF = {"de": "„“‚‘", "en": "\"\"''"}
"""Opening and closing, double and single."""


def name(code: str) -> str:
    """The English name, or the code itself where it is not known."""
    return NAMES.get(code, code)


def lookup(wanted: str, known: Iterable[str]) -> str | None:
    """The code among `known` that is meant; None if there is none (RFC 4647, section 3.4).

    >>> lookup("DE-at", ["de", "en"])
    'de'
    """
    codes = {code.lower(): code for code in known}
    longest = 1 + max((code.count("-") for code in codes), default=0)
    subtags = wanted.lower().replace("_", "-").split("-", longest)[:longest]
    shorter = ("-".join(subtags[:length]) for length in range(len(subtags), 0, -1))
    return next((codes[code] for code in shorter if code in codes), None)
