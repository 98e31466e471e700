"""Manifests of older versions, as they would be written now."""

from typing import Any

HAS_RULES = 8
"""The first format version whose manifest lists text rules."""


def updated(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest with the keys of the current format; it may be invalid."""
    return _with_memory(raw if raw["format_version"] >= HAS_RULES else _with_rules(raw))


def _with_rules(raw: dict[str, Any]) -> dict[str, Any]:
    """Add the list of rules to a manifest of an older format, in which every model had the same rules."""
    manifest = {key: value for key, value in raw.items() if key not in ("names", "abbreviations")}
    # the rule for abbreviations was removed: a table of them is reported as an unknown rule
    tables = {name: {"table": raw[name]} for name in ("names", "abbreviations") if raw.get(name)}
    rules: dict[str, dict[str, Any]] = {**tables, "quotes": {}, "case": {}}
    if isinstance(raw.get("decoding"), dict):
        manifest["decoding"] = dict(raw["decoding"])
        if max_words := manifest["decoding"].pop("most_words", 0):
            rules["clauses"] = {"max_words": max_words}
    return manifest | {"rules": rules, "format_version": HAS_RULES}


def _with_memory(raw: dict[str, Any]) -> dict[str, Any]:
    """Make the table of a former rule, a dictionary for sentences of one word, the memory."""
    rules = raw.get("rules")
    if "memory" in raw or not isinstance(rules, dict) or "single_words" not in rules:
        return raw
    others = {name: parameters for name, parameters in rules.items() if name != "single_words"}
    parameters = rules["single_words"]
    table = parameters.get("table", "") if isinstance(parameters, dict) else ""
    return raw | {"rules": others, "memory": table}
