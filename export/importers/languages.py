"""Directions of an imported model: which codes it translates from and into, as people write them."""

import logging
from collections.abc import Mapping, Sequence

from export.importers.imported import Imported, SourceError
from service.models.bundle import Direction
from service.text import languages

logger = logging.getLogger(__name__)

OTHERS = {"pob": "pt-BR"}
"""Codes of OPUS-MT that no standard has, or has otherwise."""
SEVERAL = {"mul", "und", "zxx", "mis"}
"""Codes that have a name, and are no language."""


def directions_of(
    imported: Imported, sources: Sequence[str], targets: Sequence[str]
) -> list[Direction]:
    """All directions; `sources` and `targets` are what the user says, if anything.

    Raises:
        SourceError: which languages they are stands nowhere.
    """
    if imported.languages:
        return _among(imported, sources, targets)
    spoken = [code for code in imported.source_languages if is_language(code)]
    froms = list(sources) or [code_of(code) for code in spoken]
    if not froms:
        raise SourceError(
            f"the model does not name its source languages ({_said(imported.source_languages)}): "
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


def _among(imported: Imported, sources: Sequence[str], targets: Sequence[str]) -> list[Direction]:
    """Each of a model's languages, or of those that are wanted, into each other one."""
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
    """Languages by the codes that the user wants, or all."""
    found = {code: languages.lookup(code, tokens) for code in wanted}
    for code, known in found.items():
        if known is None:
            raise SourceError(f"{option} {code}: the model has {', '.join(sorted(tokens))}")
    return {code: tokens[known or code] for code, known in found.items()} or tokens


def _targets(imported: Imported, wanted: Sequence[str]) -> dict[str, int | None]:
    """The targets with their tags; a model that has no tags has one target."""
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
            f"the model does not name its target language ({_said(imported.target_languages)}): "
            "--target en"
            if not into
            else f"--target {','.join(into)}: the model has no tags, and so one target"
        )
    begin = imported.source_start
    return {into[0]: None if begin is None else imported.source.arrangement.place[begin]}


def code_of(code: str) -> str:
    """A code as people write it.

    >>> [code_of(code) for code in ("deu", "pob", "zh_Hant", "cmn_Hans")]
    ['de', 'pt-BR', 'zh-Hant', 'zh']
    """
    return OTHERS.get(code) or languages.standard(code)


def is_language(code: str) -> bool:
    """Whether a code is a language's, not a group's, as "gmw" and "mul" are.

    >>> is_language("deu"), is_language("gmw"), is_language("ROMANCE")
    (True, False, False)
    """
    known = code_of(code)
    base = known.split("-")[0]
    return base not in SEVERAL and languages.name(known) != known and base.islower()


def _said(codes: Sequence[str]) -> str:
    return ", ".join(codes) or "nothing is said"
