"""The directions of an imported model, with standard language codes."""

import logging
import re
from collections.abc import Mapping, Sequence

from export.importers.imported import Imported, SourceError
from service.models.bundle import Direction
from service.text import languages

logger = logging.getLogger(__name__)

OTHERS = {"pob": "pt-BR"}
"""OPUS-MT's codes that are not standard, or have another meaning there."""
SEVERAL = {"mul", "und", "zxx", "mis"}
"""Codes that have a name, but are not languages."""
CODES = r"((?:[a-z]{2,3}|[A-Z]{2,})(?:[_+][A-Za-z]+)*)"
NAME = re.compile(rf"opus-?mt((?:[-_].+?)??)[-_]{CODES}-{CODES}")
"""Matches a name of OPUS-MT's, such as `opus-mt-tc-big-cat_oci_spa-en`: words, then both sides."""
SUBTAG = re.compile(r"[A-Z][a-z]{3}|[A-Z]{2}|\d{3}")
"""A script or region behind a code, with which it is one code: `zho_Hant`, `es_AR`."""


def directions_of(
    imported: Imported, sources: Sequence[str], targets: Sequence[str]
) -> list[Direction]:
    """Return all directions; `sources` and `targets` are the codes given by the user, if any.

    Raises:
        SourceError: neither the model nor the user names the languages, or the model does not have them.
    """
    if imported.languages:
        return _many_to_many(imported, sources, targets)
    known_sources = [code for code in imported.source_languages if is_language(code)]
    source_codes = list(sources) or [code_of(code) for code in known_sources]
    if not source_codes:
        raise SourceError(
            f"the model does not name its source languages ({_listed(imported.source_languages)}): "
            "--source de, or --source de,nl"
        )
    target_tags = _targets(imported, targets)
    start_in_format = imported.target_start
    start = None if start_in_format is None else imported.target.arrangement.place[start_in_format]
    directions = [
        Direction(source=source, target=target, tag=tag, start_token=start)
        for target, tag in target_tags.items()
        for source in source_codes
        if source != target
    ]
    if not directions:
        raise SourceError(
            f"there is no direction from {', '.join(source_codes)} into {', '.join(target_tags)}"
        )
    return directions


def _many_to_many(
    imported: Imported, sources: Sequence[str], targets: Sequence[str]
) -> list[Direction]:
    """Return the directions from each language into each other one, restricted to the wanted ones."""
    place = imported.source.arrangement.place
    tokens: dict[str, int] = {}
    for code, piece in imported.languages.items():
        standard_code, id = code_of(code), place[imported.source.ids[piece]]
        if tokens.setdefault(standard_code, id) != id:
            logger.info(
                "%s is left out: another language already has the code %s", piece, standard_code
            )
    source_tokens, target_tokens = (
        _wanted(option, wanted, tokens)
        for option, wanted in (("--source", sources), ("--target", targets))
    )
    return [
        Direction(source=source, target=target, tag=tag, start_token=start)
        for source, tag in source_tokens.items()
        for target, start in target_tokens.items()
        if tag != start
    ]


def _wanted(option: str, wanted: Sequence[str], tokens: Mapping[str, int]) -> Mapping[str, int]:
    """Return the tokens of the wanted languages by the user's codes, or all if none are wanted."""
    known_codes = {code: languages.lookup(code, tokens) for code in wanted}
    for code, known_code in known_codes.items():
        if known_code is None:
            raise SourceError(f"{option} {code}: the model has {', '.join(sorted(tokens))}")
    return {code: tokens[known_code or code] for code, known_code in known_codes.items()} or tokens


def _targets(imported: Imported, wanted: Sequence[str]) -> dict[str, int | None]:
    """Return the target languages with their tags; a model without tags has one target."""
    tags: dict[str, int] = {}
    for code, piece in imported.tags.items():
        standard_code = code_of(code)
        if not is_language(code):
            logger.info("%s is not a target: its code is not a language", piece)
            continue
        tags.setdefault(
            standard_code, imported.source.arrangement.place[imported.source.ids[piece]]
        )
    if tags and imported.source_start is not None:
        raise SourceError("a source cannot begin with both a tag and BOS; supported: one of them")
    if tags:
        return dict(_wanted("--target", wanted, tags))
    known_targets = [code for code in imported.target_languages if is_language(code)]
    target_codes = list(wanted) or [code_of(code) for code in known_targets]
    if not target_codes:
        raise SourceError(
            f"the model does not name its target language ({_listed(imported.target_languages)}): "
            "--target en"
        )
    if len(target_codes) > 1 and wanted:
        raise SourceError(
            f"--target {','.join(target_codes)}: the model has no tags, so it has only one target"
        )
    if len(target_codes) > 1:
        raise SourceError(
            f"the model names several target languages ({', '.join(target_codes)}), but has no tags to "
            f"select one, so it has only one: --target {target_codes[0]}"
        )
    start = imported.source_start
    return {target_codes[0]: None if start is None else imported.source.arrangement.place[start]}


def languages_of_name(name: str) -> tuple[list[str], list[str]]:
    """Return the codes of both sides in a name of OPUS-MT's; none for any other name, or an ambiguous one.

    >>> languages_of_name("opus-mt-tc-big-cat_oci_spa-en")
    (['cat', 'oci', 'spa'], ['en'])
    >>> languages_of_name("opus-mt-en-de-fr")
    ([], [])
    """
    match = NAME.fullmatch(name)
    if match is None or any(is_language(word) for word in re.split("[-_]", match[1]) if word):
        return [], []
    return codes_in(match[2]), codes_in(match[3])


def codes_in(joined: str) -> list[str]:
    """Return the codes of a side of a model; what is not certainly several languages stays one code.

    >>> [codes_in(joined) for joined in ("cat+oci+spa", "zho_Hant", "pt_br", "NORTH_EU", "")]
    [['cat', 'oci', 'spa'], ['zho_Hant'], ['pt_br'], ['NORTH_EU'], []]
    """
    codes: list[str] = []
    for part in filter(None, re.split(r"[_+]", joined)):
        if codes and SUBTAG.fullmatch(part):
            codes[-1] += f"_{part}"
        else:
            codes.append(part)
    is_one = len(codes) == 2 and languages.locale("-".join(codes)) is not None  # as in pt_br
    return [joined] if is_one or not all(map(is_language, codes)) else codes


def first_known(*stated: Sequence[str]) -> list[str]:
    """Return the first of several statements on the languages of a side that names a language.

    If none does, as they name a group such as "gmq", return the first one that names anything.
    """
    known = (codes for codes in stated if any(map(is_language, codes)))
    return list(next(known, next(filter(None, stated), ())))


def code_of(code: str) -> str:
    """Return the standard form of a code.

    >>> [code_of(code) for code in ("deu", "pob", "zh_Hant", "cmn_Hans")]
    ['de', 'pt-BR', 'zh-Hant', 'zh']
    """
    return OTHERS.get(code) or languages.standard(code)


def is_language(code: str) -> bool:
    """Check whether a code is that of a language, not of a group such as "gmw" or "mul".

    >>> is_language("deu"), is_language("gmw"), is_language("ROMANCE")
    (True, False, False)
    """
    standard_code = code_of(code)
    base, *subtags = standard_code.split("-")
    if base in SEVERAL or not base.islower():
        return False
    are_languages = any(len(subtag) < 4 and subtag.islower() for subtag in subtags)
    return not are_languages and languages.name(standard_code) != standard_code


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(codes) or "none given"
