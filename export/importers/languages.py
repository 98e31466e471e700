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
    spoken = [code for code in imported.source_languages if is_language(code)]
    froms = list(sources) or [code_of(code) for code in spoken]
    if not froms:
        raise SourceError(
            f"the model does not name its source languages ({_listed(imported.source_languages)}): "
            "--source de, or --source de,nl"
        )
    into = _targets(imported, targets)
    first = imported.target_start
    start = None if first is None else imported.target.arrangement.place[first]
    found = [
        Direction(source=source, target=target, tag=tag, start_token=start)
        for target, tag in into.items()
        for source in froms
        if source != target
    ]
    if not found:
        raise SourceError(f"there is no direction from {', '.join(froms)} into {', '.join(into)}")
    return found


def _many_to_many(
    imported: Imported, sources: Sequence[str], targets: Sequence[str]
) -> list[Direction]:
    """Return the directions from each language into each other one, restricted to the wanted ones."""
    place = imported.source.arrangement.place
    tokens: dict[str, int] = {}
    for code, piece in imported.languages.items():
        if tokens.setdefault(known := code_of(code), id := place[imported.source.ids[piece]]) != id:
            logger.info("%s is left out: another language already has the code %s", piece, known)
    froms, into = (
        _wanted(option, wanted, tokens)
        for option, wanted in (("--source", sources), ("--target", targets))
    )
    return [
        Direction(source=source, target=target, tag=tag, start_token=start)
        for source, tag in froms.items()
        for target, start in into.items()
        if tag != start
    ]


def _wanted(option: str, wanted: Sequence[str], tokens: Mapping[str, int]) -> Mapping[str, int]:
    """Return the tokens of the wanted languages by the user's codes, or all if none are wanted."""
    found = {code: languages.lookup(code, tokens) for code in wanted}
    for code, known in found.items():
        if known is None:
            raise SourceError(f"{option} {code}: the model has {', '.join(sorted(tokens))}")
    return {code: tokens[known or code] for code, known in found.items()} or tokens


def _targets(imported: Imported, wanted: Sequence[str]) -> dict[str, int | None]:
    """Return the target languages with their tags; a model without tags has one target."""
    tags: dict[str, int] = {}
    for code, piece in imported.tags.items():
        known = code_of(code)
        if not is_language(code):
            logger.info("%s is not a target: its code is not a language", piece)
            continue
        tags.setdefault(known, imported.source.arrangement.place[imported.source.ids[piece]])
    if tags and imported.source_start is not None:
        raise SourceError("a source cannot begin with both a tag and BOS; supported: one of them")
    if tags:
        picked = (
            {code: languages.lookup(code, tags) for code in wanted}
            if wanted
            else dict.fromkeys(tags)
        )
        for code, found in picked.items():
            if wanted and found is None:
                raise SourceError(f"--target {code}: the model has {', '.join(sorted(tags))}")
        return {code: tags[found or code] for code, found in picked.items()}
    spoken = [code for code in imported.target_languages if is_language(code)]
    into = list(wanted) or [code_of(code) for code in spoken]
    if len(into) != 1:
        raise SourceError(
            f"the model does not name its target language ({_listed(imported.target_languages)}): "
            "--target en"
            if not into
            else f"--target {','.join(into)}: the model has no tags, so it has only one target"
        )
    begin = imported.source_start
    return {into[0]: None if begin is None else imported.source.arrangement.place[begin]}


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
    known = code_of(code)
    base = known.split("-")[0]
    return base not in SEVERAL and languages.name(known) != known and base.islower()


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(codes) or "none given"
