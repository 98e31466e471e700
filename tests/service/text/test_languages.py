"""Codes of languages as people write them."""

import pytest

from service.text.languages import lookup

KNOWN = ["de", "en", "pt", "pt-BR", "zh-Hant"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("de", "de"),
        ("DE", "de"),
        ("de-AT", "de"),
        ("de_CH", "de"),
        ("en-Latn-US", "en"),
        ("pt-PT", "pt"),
        ("pt-br", "pt-BR"),
        ("zh-Hant-TW", "zh-Hant"),
        ("zh", None),
        ("d", None),
        ("den", None),
        ("", None),
        ("-", None),
        ("-de", None),
        ("de" + "-x" * 100, "de"),
        ("zh-hant" + "-" * 100, "zh-Hant"),
    ],
)
def test_a_region_that_has_no_model_of_its_own_falls_back(wanted: str, found: str | None) -> None:
    assert lookup(wanted, KNOWN) == found
