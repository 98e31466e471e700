"""Language codes of several standards, as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.languages import lookup, lookup_source, standard
from tests.growth import beyond_linear

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
def test_an_unknown_region_falls_back_to_the_language(wanted: str, found: str | None) -> None:
    assert lookup(wanted, KNOWN) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("de", "deu_Latn"),
        ("de", "ger"),
        ("en", "eng"),
        ("zh-Hant", "zt"),
        ("zh", "zho_Hans"),
        ("zh-Hans", "zho_Hans"),
        ("cmn", "zh"),
        ("pt-BR", "pb"),
        ("ar", "arb_Arab"),
        ("fa", "pes_Arab"),
        ("nb", "nob_Latn"),
        ("nb", "no"),
        ("he", "iw"),
        ("sr-Latn", "srp_Latn"),
        ("uz", "uzn_Latn"),
        ("et", "ekk"),
        ("tl", "fil"),
        ("tl", "tgl_Latn"),
    ],
)
def test_codes_match_across_standards(one: str, other: str) -> None:
    assert lookup(one, ["xx", other]) == other
    assert lookup(other, ["xx", one]) == one
    assert lookup(other.upper(), ["xx", one]) == one
    assert standard(one) == standard(other)


@pytest.mark.parametrize(
    ("wanted", "known", "found"),
    [
        ("zh-TW", ["zh", "zt"], "zt"),
        ("zh-TW", ["zho_Hant"], "zho_Hant"),
        ("zh-CN", ["zh-Hans"], "zh-Hans"),
        ("zh-HK", ["zho_Hans", "zho_Hant"], "zho_Hant"),
        ("zt", ["zh"], "zh"),  # as in RFC 4647
        ("zt", ["zho_Hans"], None),
        ("zh", ["zho_Hant"], None),
        ("pb", ["por_Latn"], "por_Latn"),
        ("pt", ["pb"], "pb"),  # as in LibreTranslate
        ("pt-PT", ["pb"], None),
        ("en", ["en-GB", "en-US"], "en-GB"),
        ("sr-Latn", ["sr"], "sr"),
        ("sr", ["srp_Latn"], None),
        ("no", ["nb", "no"], "no"),
        ("nn", ["nb"], None),
        ("de-CH-1996", ["de-CH", "de"], "de-CH"),
        ("DEU_latn_at", ["de"], "de"),
    ],
)
def test_the_closest_code_is_found(wanted: str, known: list[str], found: str | None) -> None:
    assert lookup(wanted, known) == found


@pytest.mark.parametrize(
    ("wanted", "known", "found"),
    [
        ("zh", ["zt"], "zt"),
        ("zh-CN", ["zho_Hant"], "zho_Hant"),
        ("zh-TW", ["zh", "zt"], "zt"),
        ("pt-PT", ["pb"], "pb"),
        ("sr", ["srp_Latn"], "srp_Latn"),
        ("nn", ["nb"], None),
        ("auto", ["de", "auto"], "auto"),
    ],
)
def test_a_source_may_be_another_variant(wanted: str, known: list[str], found: str | None) -> None:
    assert lookup_source(wanted, known) == found


@pytest.mark.parametrize(
    ("code", "shortest"),
    [
        *(("de", "de"), ("deu_Latn", "de"), ("zt", "zh-Hant"), ("zho_Hans", "zh"), ("pb", "pt-BR")),
        *(("no", "nb"), ("tl", "tl"), ("fil", "tl"), ("srp_Latn", "sr-Latn"), ("zh-TW", "zh-TW")),
    ],
)
def test_a_standard_code_is_the_shortest_form(code: str, shortest: str) -> None:
    assert standard(code) == shortest


@given(st.text("aAdDeEzhnt-_ 01İ\x00日", max_size=30))
def test_any_string_can_be_parsed(text: str) -> None:
    assert lookup(text, KNOWN) in [*KNOWN, None]
    assert lookup(text, [text]) == text
    assert standard(standard(text)) == standard(text)


@pytest.mark.parametrize("unit", ["-", "a-", "x", "_zt"])
def test_a_long_code_is_parsed_in_linear_time(unit: str) -> None:
    def looked_up(text: str) -> None:
        assert lookup(text, KNOWN) is None

    assert beyond_linear(looked_up, lambda times: unit * times * 10_000) == ""
