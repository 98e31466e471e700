"""Language codes as people, formats and models write them: de, DE-at, deu, deu_Latn, zh-Hant, zt."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from babel.core import get_global

MAX_SUBTAGS = 8
"""Of a code that are looked at."""
_ALIASES = {"zt": "zh_Hant", "pb": "pt_BR", "no": "nb", "fil": "tl", "tgl": "tl", "tl": "tl"}
"""Those of LibreTranslate, Norwegian as it is mostly written, and Tagalog, which CLDR calls fil alone."""
_SCRIPT, _REGION = re.compile(r"[a-z]{4}"), re.compile(r"[a-z]{2}|[0-9]{3}")


class Tag(NamedTuple):
    """A code taken apart; equal for all codes of the same language."""

    language: str
    """In small letters, ISO 639-1 if it has such a code."""
    script: str
    """Like Latn: the code's own, or the one that the language is mostly written in; empty if unknown."""
    others: tuple[str, ...]
    """Region and variants, in small letters."""

    @property
    def region(self) -> str:
        """Like BR; empty if there is none."""
        return next((one.upper() for one in self.others[:1] if _REGION.fullmatch(one)), "")


def parse(code: str) -> Tag:
    """Take a code apart; anything is one, and of a long one the beginning counts.

    >>> parse("deu_Latn"), parse("zh-TW")
    (Tag(language='de', script='Latn', others=()), Tag(language='zh', script='Hant', others=('tw',)))
    """
    return _parse(code)[0]


def lookup(wanted: str, known: Iterable[str]) -> str | None:
    """The code among `known` that is meant; None if there is none.

    As RFC 4647, section 3.4 has it, a code without what is last in it is the next one to be looked for. Codes
    are the same whatever standard they follow. A language without a region is any that has one.

    >>> lookup("DE-at", ["de", "en"]), lookup("de", ["deu_Latn"]), lookup("zh-TW", ["zh", "zt"])
    ('de', 'deu_Latn', 'zt')
    """
    index = _index(tuple(known))
    found = index.exact.get(_key(wanted))
    if found is not None:
        return found
    tag = parse(wanted)
    for length in range(len(tag.others), -1, -1):
        found = index.by_tag.get(tag._replace(others=tag.others[:length]))
        if found is not None:
            return found
    found = index.bare.get(tag.language)
    if found is None and not tag.others:
        return index.variants.get((tag.language, tag.script))
    return found


def lookup_source(wanted: str, known: Iterable[str]) -> str | None:
    """The same of a language to translate from, where any variant will do if there is none that fits.

    >>> lookup_source("zh", ["zt"]), lookup_source("pt-PT", ["pb"]), lookup_source("en", ["de"])
    ('zt', 'pb', None)
    """
    known = tuple(known)
    return lookup(wanted, known) or _index(known).any_variant.get(parse(wanted).language)


def standard(code: str) -> str:
    """A code as BCP 47 has it, as short as may be.

    >>> [standard(code) for code in ("deu_Latn", "zho_Hant", "pb", "srp_Latn", "PT_br")]
    ['de', 'zh-Hant', 'pt-BR', 'sr-Latn', 'pt-BR']
    """
    tag = parse(code)
    usual = parse(f"{tag.language}-{tag.region}" if tag.region else tag.language).script
    script = [tag.script] if tag.script != usual else []
    region = tag.region
    others = tag.others[1:] if region else tag.others
    return "-".join([tag.language, *script, *([region] if region else []), *others])


def _parse(code: str) -> tuple[Tag, bool]:
    """A code taken apart, and whether it names a script."""
    subtags = _split(code)
    if len(subtags[0]) <= MAX_SUBTAGS:
        alias = _ALIASES.get(subtags[0]) or _languages().get(subtags[0], subtags[0])
        subtags = [*_split(alias), *subtags[1:]]
    language, *others = subtags
    script = next((one.title() for one in others[:1] if _SCRIPT.fullmatch(one)), "")
    tag = Tag(language, script, tuple(others[1:] if script else others))
    if script:
        return tag, True
    return tag._replace(script=_usual_script(language, tag.region)), False


class _Index:
    """Codes, by what they are looked up by; of several, the first."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self.exact: dict[str, str] = {}
        """As they are written."""
        self.by_tag: dict[Tag, str] = {}
        self.bare: dict[str, str] = {}
        """By language, those that have nothing but it."""
        self.variants: dict[tuple[str, str], str] = {}
        """By language and script."""
        self.any_variant: dict[str, str] = {}
        for code in known:
            tag, has_script = _parse(code)
            self.exact[_key(code)] = code
            self.by_tag.setdefault(tag, code)
            if not (has_script or tag.others):
                self.bare.setdefault(tag.language, code)
            self.variants.setdefault((tag.language, tag.script), code)
            self.any_variant.setdefault(tag.language, code)


_index = lru_cache(maxsize=64)(_Index)  # a set of models serves long


def _key(code: str) -> str:
    return code.lower().replace("_", "-")


def _split(code: str) -> list[str]:
    return _key(code).split("-", MAX_SUBTAGS)[:MAX_SUBTAGS]


def _usual_script(language: str, region: str) -> str:
    if language == "und":  # nothing is usual for a language that is not known
        return ""
    likely = get_global("likely_subtags")
    found = likely.get(f"{language}_{region}") or likely.get(language) or ""
    return next((part for part in found.split("_")[1:] if _SCRIPT.fullmatch(part.lower())), "")


@cache
def _languages() -> dict[str, str]:
    """CLDR's aliases by code."""
    return {old.lower(): new for old, new in get_global("language_aliases").items()}
