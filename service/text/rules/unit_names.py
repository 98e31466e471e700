"""The names of units, which a translation may have in place of their symbols: 5 litres (from CLDR)."""

from functools import lru_cache

import regex
from babel.units import format_unit

from service.text.languages import locale
from service.text.rules.figures import BLANKS, NOUN_COUNTS, any_of

_UNITS = {
    **{"g": "mass-gram", "kg": "mass-kilogram", "mg": "mass-milligram", "t": "mass-tonne"},
    **{"m": "length-meter", "km": "length-kilometer", "cm": "length-centimeter"},
    **{"mm": "length-millimeter", "km/h": "speed-kilometer-per-hour"},
    **{"l": "volume-liter", "L": "volume-liter", "ml": "volume-milliliter"},
    **{"mL": "volume-milliliter", "m²": "area-square-meter", "m³": "volume-cubic-meter"},
    **{"km²": "area-square-kilometer", "W": "power-watt", "kW": "power-kilowatt"},
    **{"MW": "power-megawatt", "kWh": "energy-kilowatt-hour", "V": "electric-volt"},
    **{"Hz": "frequency-hertz", "KB": "digital-kilobyte", "MB": "digital-megabyte"},
    **{"GB": "digital-gigabyte", "TB": "digital-terabyte"},
    **{'"': "length-inch", "″": "length-inch", "'": "length-foot", "′": "length-foot"},
}
"""CLDR's names of the most common units."""


@lru_cache(maxsize=1_000)
def spelled_out(symbol: str, code: str) -> regex.Pattern[str]:
    """Return a pattern for a number with the name of a unit in a language, in any form."""
    codes = (code, "en-GB") if code == "en" else (code,)
    unit = _UNITS.get(symbol)
    names = {
        format_unit(count, unit, "long", locale=known).lstrip(f"0123456789.,{BLANKS}")
        for known in map(locale, codes)
        if known and unit
        for count in NOUN_COUNTS
    }
    return regex.compile(
        rf"(?<=\p{{Nd}})[{BLANKS}-]?+(?:{any_of(names)})(?!\w{{4}})", regex.IGNORECASE
    )
