"""Language codes as people, formats and models write them: de, DE-at, deu, deu_Latn, zh-Hant, zt."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from babel.core import get_global

MAX_SUBTAGS = 8
"""Further subtags of a code are ignored."""
_ALIASES = {"zt": "zh_Hant", "pb": "pt_BR", "no": "nb", "fil": "tl", "tgl": "tl", "tl": "tl"}
"""LibreTranslate's own codes, the usual form of Norwegian, and Tagalog, which is only `fil` in CLDR."""
_SCRIPT, _REGION = re.compile(r"[a-z]{4}"), re.compile(r"[a-z]{2}|[0-9]{3}")


class Tag(NamedTuple):
    """The parts of a code; equal for all codes of the same language."""

    language: str
    """In lower case; ISO 639-1 if there is such a code."""
    script: str
    """Such as Latn: the code's own, or the language's usual one; empty if unknown."""
    others: tuple[str, ...]
    """Region and variants, in lower case."""

    @property
    def region(self) -> str:
        """Such as BR; empty if there is none."""
        return next((subtag.upper() for subtag in self.others[:1] if _REGION.fullmatch(subtag)), "")


def parse(code: str) -> Tag:
    """Split a code into its parts. Any string is accepted; after `MAX_SUBTAGS`, the rest is ignored.

    >>> parse("deu_Latn"), parse("zh-TW")
    (Tag(language='de', script='Latn', others=()), Tag(language='zh', script='Hant', others=('tw',)))
    """
    return _parse(code)[0]


def lookup(wanted: str, known: Iterable[str]) -> str | None:
    """Return the best match for a code among `known`, or None.

    If a code is not found, its last subtag is removed, as in RFC 4647, section 3.4. Codes match across
    standards. A code without a region matches any region.

    >>> lookup("DE-at", ["de", "en"]), lookup("de", ["deu_Latn"]), lookup("zh-TW", ["zh", "zt"])
    ('de', 'deu_Latn', 'zt')
    """
    index = _index(tuple(known))
    match = index.exact.get(_key(wanted))
    if match is not None:
        return match
    tag = parse(wanted)
    for length in range(len(tag.others), -1, -1):
        match = index.by_tag.get(tag._replace(others=tag.others[:length]))
        if match is not None:
            return match
    match = index.bare.get(tag.language)
    if match is None and not tag.others:
        return index.variants.get((tag.language, tag.script))
    return match


def lookup_source(wanted: str, known: Iterable[str]) -> str | None:
    """Like `lookup`, for a source language: if nothing matches, any variant of the language does.

    >>> lookup_source("zh", ["zt"]), lookup_source("pt-PT", ["pb"]), lookup_source("en", ["de"])
    ('zt', 'pb', None)
    """
    known = tuple(known)
    return lookup(wanted, known) or _index(known).any_variant.get(parse(wanted).language)


def standard(code: str) -> str:
    """Return the shortest BCP 47 form of a code.

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
    """Return the parts of a code, and whether it names a script."""
    subtags = _split(code)
    if len(subtags[0]) <= MAX_SUBTAGS:
        alias = _ALIASES.get(subtags[0]) or _languages().get(subtags[0], subtags[0])
        subtags = [*_split(alias), *subtags[1:]]
    language, *others = subtags
    script = next((subtag.title() for subtag in others[:1] if _SCRIPT.fullmatch(subtag)), "")
    tag = Tag(language, script, tuple(others[1:] if script else others))
    if script:
        return tag, True
    return tag._replace(script=_usual_script(language, tag.region)), False


class _Index:
    """Lookup tables for codes. If several match, the first one wins."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self.exact: dict[str, str] = {}
        """By the code as written."""
        self.by_tag: dict[Tag, str] = {}
        self.bare: dict[str, str] = {}
        """Codes without other subtags, by language."""
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


_index = lru_cache(maxsize=64)(_Index)  # the codes of a set of models are looked up many times


def _key(code: str) -> str:
    return code.lower().replace("_", "-")


def _split(code: str) -> list[str]:
    return _key(code).split("-", MAX_SUBTAGS)[:MAX_SUBTAGS]


def _usual_script(language: str, region: str) -> str:
    if language == "und":  # an unknown language has no usual script
        return ""
    likely = get_global("likely_subtags")
    locale_id = likely.get(f"{language}_{region}") or likely.get(language) or ""
    return next((part for part in locale_id.split("_")[1:] if _SCRIPT.fullmatch(part.lower())), "")


@cache
def _languages() -> dict[str, str]:
    """Return CLDR's aliases of language codes."""
    return {alias.lower(): code for alias, code in get_global("language_aliases").items()}
