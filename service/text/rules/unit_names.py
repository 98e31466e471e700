"""The names and signs of units, and how amounts are written with them (from CLDR)."""

from decimal import Decimal
from functools import lru_cache
from typing import Literal

import regex
from babel.core import Locale
from babel.units import format_unit

from service.text.languages import locale
from service.text.rules.figures import FRACTIONS, NOUN_COUNTS
from service.text.words import BLANKS, any_of

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
    **{"gal": "volume-gallon", "qt": "volume-quart", "oz": "mass-ounce"},
    **dict.fromkeys(["lb", "lbs"], "mass-pound"),
    **{"ft": "length-foot", "yd": "length-yard", "in": "length-inch"},
    **{"mph": "speed-mile-per-hour", "°C": "temperature-celsius", "°F": "temperature-fahrenheit"},
    **{'"': "length-inch", "″": "length-inch", "'": "length-foot", "′": "length-foot"},
}
"""CLDR's names of the most common units."""
_WORDS = {
    "area": "acre hectare square-centimeter square-foot square-inch square-kilometer square-meter"
    " square-mile square-yard",
    "angle": "degree",
    "concentr": "percent permille",
    "digital": "byte kilobyte megabyte gigabyte terabyte petabyte megabit gigabit",
    "electric": "ampere milliampere ohm volt",
    "energy": "calorie joule kilocalorie kilojoule kilowatt-hour",
    "frequency": "hertz kilohertz megahertz gigahertz",
    "graphics": "megapixel pixel",
    "length": "meter kilometer decimeter centimeter millimeter micrometer nanometer mile yard foot"
    " inch light-year nautical-mile",
    "light": "lumen lux",
    "mass": "gram kilogram milligram microgram tonne ton pound ounce",
    "power": "watt milliwatt kilowatt megawatt gigawatt horsepower",
    "pressure": "pascal hectopascal kilopascal megapascal millibar",
    "speed": "kilometer-per-hour meter-per-second mile-per-hour",
    "temperature": "celsius fahrenheit generic kelvin",
    "volume": "liter hectoliter deciliter centiliter milliliter gallon cubic-centimeter cubic-foot"
    " cubic-inch cubic-kilometer cubic-meter",
}
"""Units whose names are demanded.

Not those of time, which have many idioms, nor those that have the name of a thing, such as cups and points.
"""
_TIMES = "year month week day hour minute second"
_SAME = {"mass-ton": "mass-tonne", "temperature-generic": "angle-degree"}
"""Units that languages do not tell apart."""
IDIOMS = {
    "speed-kilometer-per-hour": "length-kilometer",
    "speed-meter-per-second": "length-meter",
    "speed-mile-per-hour": "length-mile",
}
"""Units that idioms name by another one: 50 miles an hour."""
_Length = Literal["long", "short", "narrow"]
_DIGITS = regex.compile(r"\p{Nd}+")
_NUMBER_AT_EDGE = regex.compile(rf"^[\p{{Nd}}.,٫{BLANKS}]+|[\p{{Nd}}.,٫{BLANKS}]+\Z")


def _all_units() -> list[str]:
    return [f"{kind}-{unit}" for kind, units in _WORDS.items() for unit in units.split()]


class UnitNames:
    """The names of units in one language."""

    def __init__(self, code: str) -> None:
        """Look up all forms; there are none if CLDR lacks the language."""
        self.words: dict[str, str] = {}
        """The unit of each name, by its lower case."""
        self.signs = dict(_UNITS)
        """The unit of each sign."""
        self.times: dict[str, str] = {}
        """The unit of time of each name or sign."""
        self._locale = locale(code)
        # spelling may differ between regions: metres
        for known in filter(None, (self._locale, locale(f"{code}-001"))):
            for unit in _all_units():
                for count in NOUN_COUNTS:
                    _add(self.words, count, unit, "long", known)
                _add(self.signs, 5, unit, "short", known)
                _add(self.signs, 5, unit, "narrow", known)
            for unit in _TIMES.split():
                for count in NOUN_COUNTS:
                    _add(self.times, count, f"duration-{unit}", "long", known)
                    _add(self.times, count, f"duration-{unit}", "short", known)
        self.units = frozenset(self.words.values())

    def written(self, number: str, value: Decimal, unit: str) -> str:
        """Write an amount; the value determines the form of the name, but is not written itself."""
        amount = format_unit(value, unit, "long", "0", self._locale)
        return _DIGITS.sub(lambda _: number, amount, count=1)


def _add(names: dict[str, str], count: float, unit: str, length: _Length, known: Locale) -> None:
    """Add the name of a unit, unless there is a number within it, as in 摂氏 5 度."""
    name = _NUMBER_AT_EDGE.sub("", format_unit(count, unit, length, locale=known))
    if name and not _DIGITS.search(name):
        names.setdefault(name.lower() if length == "long" else name, _SAME.get(unit, unit))


@lru_cache(maxsize=256)
def names_of_units(code: str) -> UnitNames:
    """Return the names of a language; looking them up takes tens of milliseconds."""
    return UnitNames(code)


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
        rf"(?<=[\p{{Nd}}{FRACTIONS}])[{BLANKS}-]?+(?:{any_of(names)})(?!\w{{4}})", regex.IGNORECASE
    )
