"""The directions of an imported model, with standard language codes."""

import logging
from collections.abc import Mapping, Sequence

from export.importers.imported import Imported, SourceError
from service.models.bundle import Direction
from service.text import languages

logger = logging.getLogger(__name__)

OTHERS = {"pob": "pt-BR"}
"""OPUS-MT's codes that are not standard, or have another meaning there."""
SEVERAL = {"mul", "und", "zxx", "mis"}
"""Codes that have a name, but are not languages."""


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
    if len(target_codes) > 1:
        raise SourceError(
            f"--target {','.join(target_codes)}: the model has no tags, so it has only one target"
        )
    start = imported.source_start
    return {target_codes[0]: None if start is None else imported.source.arrangement.place[start]}


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
    base = standard_code.split("-")[0]
    return base not in SEVERAL and languages.name(standard_code) != standard_code and base.islower()


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(codes) or "none given"
