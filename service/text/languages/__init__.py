"""What the text rules know about languages: data files, one per language, and codes and names from CLDR."""

from service.text.languages.codes import lookup, lookup_source, parse, standard
from service.text.languages.language import Language
from service.text.languages.profiles import NEUTRAL, Languages, locale, name, profile

__all__ = [
    "NEUTRAL",
    "Language",
    "Languages",
    "locale",
    "lookup",
    "lookup_source",
    "name",
    "parse",
    "profile",
    "standard",
]
