"""The kinds of facts that fill the placeholders of a lexicon: numbers, dates, codes, names.

Each fact is drawn once and written as each language writes it.
"""

import random
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from model.augment.invented import Names
from model.augment.writing import Writing

UNITS = ("kg", "kg", "g", "mg", "ml", "l", "km", "km", "m", "cm", "mm", "MB", "GB", "kWh")
Fact = Callable[[Writing], str]
"""Returns the fact as a language writes it."""
Choice = TypeVar("Choice")


class Draw:
    """Random parts of facts; the draws are the same for the same seed."""

    def __init__(self, names: Sequence[str], seed: int) -> None:
        """Names are drawn or made from `names`."""
        self._random = random.Random(seed)
        self.name = Names(names, seed).draw
        self.chance, self.integer = self._random.random, self._random.randint

    def one_of(self, *choices: Choice) -> Choice:
        """Draw one of these choices."""
        return self._random.choice(choices)

    def some_of(self, characters: str, count: int) -> str:
        """Draw `count` of these characters, with repetition."""
        return "".join(self._random.choices(characters, k=count))

    def digits(self, low: int, high: int | None = None) -> str:
        """Draw `low` to `high` digits, or exactly `low` without `high`."""
        return self.some_of("0123456789", self.integer(low, high or low))

    def number(self, *ranges: tuple[int, int]) -> str:
        """Draw a whole number from one of these ranges, which include their ends."""
        return str(self.integer(*self._random.choice(ranges)))

    def decimal(self, *decimals: int) -> str:
        """Draw a number below a million, in English notation, with one of these numbers of decimals."""
        value = self._random.choice((1, 10, 100, 1000, 100_000)) * self.chance() * 9.99
        return f"{value:,.{self._random.choice(decimals)}f}"

    def shuffled(self, parts: Sequence[str]) -> list[str]:
        """Return the parts in random order."""
        return self._random.sample(parts, len(parts))

    def word(self) -> str:
        """Draw a name as part of an e-mail or web address."""
        return re.sub(r"\W", "", self.name().lower())


KINDS: dict[str, Callable[[Draw], Fact]] = {}
"""All kinds by their names in patterns."""


def kind(make: Callable[[Draw], Fact]) -> Callable[[Draw], Fact]:
    """Register a kind of fact under its function's name."""
    KINDS[make.__name__] = make
    return make


def same(make: Callable[[Draw], str]) -> Callable[[Draw], Fact]:
    """Register a kind of fact that all languages write in the same way."""

    def fact(draw: Draw) -> Fact:
        text = make(draw)
        return lambda _: text

    KINDS[make.__name__] = fact
    return fact


@same
def small(draw: Draw) -> str:
    """Draw a small number, at least 2."""
    return draw.number((2, 99))


@same
def count(draw: Draw) -> str:
    """Draw a whole number without separators."""
    return draw.number((2, 99), (100, 999), (1000, 9999))


@same
def digits(draw: Draw) -> str:
    """Draw an identification number."""
    return draw.number((1, 9)) + draw.digits(2, 11)


@same
def year(draw: Draw) -> str:
    """Draw a year; recent ones are more likely."""
    return draw.number((1000, 1899), (1900, 2035), (1950, 2030))


@same
def track(draw: Draw) -> str:
    """Draw a track of a station: 7, 12a."""
    return draw.number((1, 30)) + draw.one_of("", "", "a", "b")


@same
def time(draw: Draw) -> str:
    """Draw a time of day in 24 hours: 9:05, 17:30."""
    return f"{draw.integer(0, 23)}:{draw.integer(0, 59):02}"


@kind
def clock(draw: Draw) -> Fact:
    """Draw a time of day as each language writes it: 17:30 Uhr, 5:30 pm."""
    hour, minute = draw.integer(0, 23), f"{draw.integer(0, 59):02}"
    half_of_day = "am" if hour < 12 else "pm"
    parts = {"hour24": hour, "hour": (hour - 1) % 12 + 1, "minute": minute, "half": half_of_day}
    return lambda language: language.clock.format(**parts)


@kind
def date(draw: Draw) -> Fact:
    """Draw a date with the name of the month."""
    day, month, year = draw.integer(1, 28), draw.integer(0, 11), draw.integer(1900, 2035)
    return lambda language: language.date.format(day=day, month=language.months[month], year=year)


@same
def numeric_date(draw: Draw) -> str:
    """Draw a date in digits, which is the same in all languages."""
    day, month, year = draw.integer(1, 28), draw.integer(1, 12), draw.integer(1950, 2035)
    return draw.one_of(
        f"{day:02}.{month:02}.{year}", f"{day}.{month}.{year}", f"{year}-{month:02}-{day:02}"
    )


@same
def expiry(draw: Draw) -> str:
    """Draw an expiry date of a card: 09/27."""
    return f"{draw.integer(1, 12):02}/{draw.integer(24, 39)}"


@same
def phone(draw: Draw) -> str:
    """Draw a phone number in blocks: +49 30 1234-567."""
    area = draw.one_of(
        f"+{draw.number((1, 99))}", f"0{draw.number((30, 9999))}", f"+49 {draw.number((30, 999))}"
    )
    blocks = [draw.digits(2, 5) for _ in range(draw.integer(1, 4))]
    return area + draw.one_of(" ", " ", "-", "/") + draw.one_of(" ", " ", "-").join(blocks)


@same
def iban(draw: Draw) -> str:
    """Draw an IBAN, mostly in blocks of four."""
    country = draw.one_of("DE", "AT", "CH", "FR", "NL", "GB", "ES")
    number = country + draw.digits(int(draw.one_of("18", "20", "20")))
    blocks = [number[start : start + 4] for start in range(0, len(number), 4)]
    return (" " if draw.chance() < 0.7 else "").join(blocks)


@kind
def amount(draw: Draw) -> Fact:
    """Draw an amount of money: 1.234,50 €, £12, 99 CHF."""
    value, sign = draw.decimal(0, 2, 2), draw.one_of("€", "€", "€", "$", "£")
    if draw.chance() < 0.2:
        currency = draw.one_of("EUR", "USD", "CHF", "GBP")
        return lambda language: f"{language.number(value)} {currency}"
    return lambda language: language.amount.format(number=language.number(value), sign=sign)


@kind
def large(draw: Draw) -> Fact:
    """Draw a whole number with digits in groups of three."""
    value = f"{draw.integer(1_000, 9_999_999):,}"
    return lambda language: language.number(value)


@kind
def percent(draw: Draw) -> Fact:
    """Draw a percentage: 12,5 %, 12.5%."""
    value = draw.decimal(0, 1, 2)
    return lambda language: language.percent.format(number=language.number(value))


@kind
def measure(draw: Draw) -> Fact:
    """Draw a weight, volume, length, size of data or energy."""
    unit = draw.one_of(*UNITS)
    value = draw.decimal(0, 1, 2)
    return lambda language: f"{language.number(value)} {unit}"


@same
def sizes(draw: Draw) -> str:
    """Draw the dimensions of a flat object or a box: 20 x 30 cm."""
    numbers = [draw.number((2, 400)) for _ in range(draw.integer(2, 3))]
    return draw.one_of(" x ", " × ", "x").join(numbers) + draw.one_of(" cm", " mm", " m")


@same
def degrees(draw: Draw) -> str:
    """Draw an air temperature."""
    return f"{draw.integer(-20, 45)} °C"


@kind
def score(draw: Draw) -> Fact:
    """Draw the score of a match: 2:1, 2–1."""
    home, guest = draw.integer(0, 9), draw.integer(0, 9)
    return lambda language: language.score.format(home=home, guest=guest)


@same
def code(draw: Draw) -> str:
    """Draw an article number with letters and digits: KB-4711-07A."""
    letters = draw.some_of("ABCDEFGHKLMNPRSTVWXZ", draw.integer(1, 3))
    code_with_letter = draw.digits(2) + draw.one_of("A", "B", "C", "X")
    parts = draw.shuffled([letters, draw.digits(2, 5), code_with_letter, draw.digits(1, 4)])
    return draw.one_of("-", "-", "/", ".", " ").join(parts[: draw.integer(2, 4)])


@same
def hex(draw: Draw) -> str:
    """Draw an error code in hexadecimal: 0x80070005."""
    return "0x" + draw.some_of("0123456789ABCDEF", int(draw.one_of("2", "4", "8")))


@same
def version(draw: Draw) -> str:
    """Draw a version of a program: 2.10.3."""
    return ".".join(draw.number((0, 40)) for _ in range(draw.integer(2, 4)))


@same
def flight(draw: Draw) -> str:
    """Draw a flight number: LH 2034."""
    return f"{draw.some_of('ABDEFHKLNQRSUX', 2)} {draw.integer(10, 9999)}"


@same
def postcode(draw: Draw) -> str:
    """Draw a postcode of five digits."""
    return draw.digits(5)


@same
def house(draw: Draw) -> str:
    """Draw the number of a house: 7, 12a."""
    return draw.number((1, 30), (1, 30), (31, 250)) + draw.one_of("", "", "", "", "a", "b", "c")


@same
def postcode_gb(draw: Draw) -> str:
    """Draw a British postcode: LS6 2AB."""
    area = draw.some_of("BCDEGHLMNPRSTWY", draw.integer(1, 2))
    return (
        f"{area}{draw.integer(1, 29)} {draw.integer(1, 9)}{draw.some_of('ABDEFGHJLNPQRSTUWXYZ', 2)}"
    )


@same
def name(draw: Draw) -> str:
    """Draw a name of a person or anything else."""
    return draw.name()


@same
def mail(draw: Draw) -> str:
    """Draw an e-mail address."""
    return f"{draw.word()}.{draw.word()}@{draw.word()}.{draw.one_of('de', 'com', 'org')}"


@same
def url(draw: Draw) -> str:
    """Draw the address of a web page, with or without a path."""
    start = draw.one_of("https://", "http://", "www.", "https://www.")
    path = draw.one_of(
        "", f"/{draw.word()}", f"/{draw.word()}/{draw.digits(3)}", f"?id={draw.digits(4)}"
    )
    return f"{start}{draw.word()}.{draw.one_of('de', 'com', 'org', 'net')}{path}"
