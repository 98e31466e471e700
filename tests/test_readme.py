"""The README says what is so."""

import re
from pathlib import Path

from service.settings import Settings

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_settings_table_is_complete_and_says_what_the_settings_say() -> None:
    rows = re.findall(r"^\| `ATTENDANT_(\w+)` \| (.*?) \| (.*) \|$", README, re.MULTILINE)
    assert [name.lower() for name, _, _ in rows] == list(Settings.model_fields)
    for name, default, description in rows:
        field = Settings.model_fields[name.lower()]
        assert description == field.description
        if name != "BUNDLE":
            assert default == shown(field.default)


def shown(default: object) -> str:
    """How the table writes a default."""
    if isinstance(default, tuple):
        return ", ".join(default)
    return str(default) if default not in (None, "") else "none"


def test_files_that_it_links_to_exist() -> None:
    root = Path(__file__).parents[1]
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert links
    for link in links:
        assert (root / link).exists(), link
