"""Language profiles from data files: to add a language, add a file.

Keys that are missing from a language's file are looked up in the files for its script and for all languages.
For zh-Hant, these are zh-Hant.toml, zh.toml, und-Hant.toml and und.toml. "und" is BCP 47's code for an
undetermined language.
"""

import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from babel.core import Locale, UnknownLocaleError

from service.text.languages.codes import Tag, parse, standard
from service.text.languages.language import Language

DATA = Path(__file__).with_name("data")
MAX_PROFILES = 4096
_UNKNOWN = "und"


class Languages:
    """The profiles in a folder, each read on first use."""

    def __init__(self, folder: Path = DATA) -> None:
        """List the files."""
        self._paths = {path.stem: path for path in folder.glob("*.toml")}
        self._files: dict[str, dict[str, Any]] = {}
        self.profile = lru_cache(MAX_PROFILES)(self._profile)

    @property
    def codes(self) -> list[str]:
        """The codes of all languages with a file."""
        return sorted(stem for stem in self._paths if not stem.startswith(_UNKNOWN))

    def _profile(self, code: str) -> Language:
        """Return the profile of a language; without a file, that of its script.

        Raises:
            ValueError: a file is not a valid profile.
        """
        tag = parse(code)
        own_keys = self._merged([tag.language, f"{tag.language}-{tag.script}", _regional(tag)])
        script = own_keys.get("script", tag.script)
        script_keys = self._merged([_UNKNOWN, f"{_UNKNOWN}-{script}"])
        known_script = {"script": script} if script else {}
        return Language(code=standard(code), **script_keys | known_script | own_keys)

    def _merged(self, stems: list[str]) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for stem in stems:
            merged |= self._file(stem)
        return merged

    def _file(self, stem: str) -> dict[str, Any]:
        """Return the keys of a file; none if it does not exist."""
        if stem not in self._paths:
            return {}
        if stem not in self._files:
            path = self._paths[stem]
            try:
                keys = tomllib.loads(path.read_text("utf-8"))
                Language(code=stem, **keys)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path} is not a language profile: {error}") from error
            self._files[stem] = keys
        return self._files[stem]


def _regional(tag: Tag) -> str:
    return f"{tag.language}-{tag.region}" if tag.region else ""


_OURS = Languages()
profile = _OURS.profile
"""Return the profile of a language code."""
NEUTRAL = profile(_UNKNOWN)
"""The profile for unknown languages."""


def locale(code: str) -> Locale | None:
    """Return CLDR's locale, with the formats of numbers and dates, or None if there is none.

    >>> locale("zh-Hant"), locale("qqq")
    (Locale('zh', script='Hant'), None)
    """
    try:
        return Locale.parse(code, sep="-")
    except (UnknownLocaleError, ValueError):
        return None


def name(code: str) -> str:
    """Return a language's English name, or the code itself if the name is unknown.

    >>> name("de"), name("zho_Hant"), name("pb"), name("ace_Arab"), name("qqq")
    ('German', 'Traditional Chinese', 'Brazilian Portuguese', 'Acehnese (Arabic)', 'qqq')
    """
    own_name, names = profile(code).name, _names()
    if own_name or code in names.languages:
        return own_name or str(names.languages[code])
    language, *subtags = standard(code).split("-")
    full_name = names.languages.get("_".join([language, *subtags]))
    if full_name or language not in names.languages:
        return str(full_name or code)
    details = [
        names.scripts.get(subtag) or names.territories.get(subtag) or subtag for subtag in subtags
    ]
    return " ".join([names.languages[language], *([f"({', '.join(details)})"] if details else [])])


@cache
def _names() -> Locale:
    """Return the English locale, read on first use."""
    return Locale("en")
