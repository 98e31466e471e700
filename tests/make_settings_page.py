"""`python -m tests.make_settings_page`: generate the table of docs/settings.md from the settings' code."""

from typing import Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from service.settings import PREFIX, Settings, default_of
from tests.documents import ROOT, renew

PAGE = ROOT / "docs" / "settings.md"
MARK = "settings"


def settings_table() -> str:
    """Return a table of all settings with their variables, defaults, values and descriptions."""
    rows = [["variable", "default", "values", "what it does"], ["---"] * 4]
    for name, field in Settings.model_fields.items():
        variable = f"`{PREFIX}{name.upper()}`"
        rows.append([variable, default_of(name, field), values_of(field), field.description or ""])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def values_of(field: FieldInfo) -> str:
    """Return the choices or the range of a setting, or an empty string if it has neither."""
    if get_origin(field.annotation) is Literal:
        return ", ".join(map(str, get_args(field.annotation)))
    if field.annotation is bool:
        return "true, false"
    least = next((f"{bound.ge:,}" for bound in field.metadata if isinstance(bound, Ge)), "")
    least = next((f"over {bound.gt:,}" for bound in field.metadata if isinstance(bound, Gt)), least)
    most = next((f"{bound.le:,}" for bound in field.metadata if isinstance(bound, Le)), "")
    return f"{least} to {most}" if least and most else ""


def main() -> None:
    """Write the table."""
    renew(PAGE, MARK, settings_table())


if __name__ == "__main__":
    main()
