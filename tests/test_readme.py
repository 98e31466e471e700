"""The README says what is so."""

import re
from pathlib import Path

import pytest

from service.settings import Settings
from tests.bench import report

ROOT = Path(__file__).parents[1]
ROOMS = ("service", "model", "export", "docker", "docs", "tests")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.md"))]


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


def test_every_setting_that_is_recommended_for_security_exists() -> None:
    named = re.findall(r"ATTENDANT_(\w+)", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert named
    assert {name.lower() for name in named} <= Settings.model_fields.keys()


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + PAGES, ids=lambda path: str(path.relative_to(ROOT))
)
def test_files_that_a_page_links_to_exist(page: Path) -> None:
    links = re.findall(r"""(?:\]\(|src=")(?!http)([^)#"]+)""", page.read_text(encoding="utf-8"))
    for link in links:
        assert (page.parent / link).exists(), link


def test_its_figures_are_those_of_the_last_benchmark() -> None:
    results = report.read(ROOT)
    assert report.overview(results) in README
    assert report.details(results) in (ROOT / "tests/bench/README.md").read_text(encoding="utf-8")
