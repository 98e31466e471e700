r"""`python -m tests.check_numbers URL`: check the numbers in a service's translations of generated sentences.

The generator of a sentence knows its numbers and how each may be written in the other language: unchanged,
or by that language's conventions (1.234,56 as 1,234.56; 2:30 pm as 14:30). A translation must have each of
them once and no other digits. This code is independent of the service's own comparison. Takes a few
minutes.
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from export.evaluate import translate

_MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "en": "January February March April May June July August September October November December",
}


class Number(NamedTuple):
    """A number in a sentence."""

    text: str
    """The number as written in the source."""
    accepted: Sequence[str] = ()
    """Regular expressions for its forms in the translation; if empty, only `text`."""


class Case(NamedTuple):
    """A sentence with its numbers, which the translation must have."""

    kind: str
    text: str
    numbers: Sequence[Number]


def _exactly(*texts: str) -> list[str]:
    return [re.escape(text) for text in texts]


def _grouped(value: int, mark: str) -> str:
    return f"{value:,}".replace(",", mark)


def _amount(value: int, decimals: str, source: str, *, grouped: bool = True) -> Number:
    """Return a number as the source language writes it, with the forms of both languages."""
    ways = [
        _grouped(value, group) + (f"{point}{decimals}" if decimals else "")
        for group, point in ((".", ","), (",", "."), ("", ","), ("", "."), (" ", ","), ("’", "."))
    ]
    group, point = (".", ",") if source == "de" else (",", ".")
    written = _grouped(value, group if grouped else "")
    return Number(written + (f"{point}{decimals}" if decimals else ""), _exactly(*ways))


def _time(rng: random.Random, source: str) -> Number:
    hour, minute = rng.randrange(24), rng.choice(["00", "05", "15", "30", "48", "59"])
    of_twelve, half = (hour - 1) % 12 + 1, "ap"[hour >= 12]
    day = rf"0?{hour}[:.]{minute}(?!\d|[ ]?[ap]\.?m)"
    halved = rf"0?{of_twelve}[:.]{minute}[ ]?{half}\.?m\b"
    ways = [day, halved]
    if minute == "00":
        ways += [rf"0?{hour}(?![:.]?\d|[ ]?[ap]\.?m)", rf"{of_twelve}[ ]?{half}\.?m\b"]
        ways += [r"24(?:[:.]00)?"] if hour == 0 else []
    text = f"{hour}:{minute}" if source == "de" else f"{of_twelve}:{minute} {half}m"
    return Number(text, ways)


def _hour(rng: random.Random, source: str) -> Number:
    hour = rng.randrange(1, 23)
    of_twelve, half = (hour - 1) % 12 + 1, "ap"[hour >= 12]
    text = str(hour) if source == "de" else f"{of_twelve} {half}m"
    return Number(
        text, [rf"{hour}(?:[:.]00)?(?!\d|[ ]?[ap]\.?m)", rf"{of_twelve}(?::00)?[ ]?{half}\.?m\b"]
    )


def _date(rng: random.Random, source: str) -> Number:
    day, month, year = rng.randrange(1, 29), rng.randrange(1, 13), rng.randrange(1890, 2040)
    ways = [rf"0?{a}[./-][ ]?0?{b}[./-][ ]?{year}" for a, b in ((day, month), (month, day))]
    ways.append(rf"{year}-0?{month}-0?{day}")
    for names in _MONTHS.values():
        name = names.split()[month - 1]
        ways += [rf"{day}(?:\.|st|nd|rd|th)?(?: of)? {name},? {year}"]
        ways += [rf"{name} {day}(?:st|nd|rd|th)?,? {year}"]
    text = f"{day:02}.{month:02}.{year}" if source == "de" else f"{month}/{day}/{year}"
    return Number(rng.choice([text, f"{year}-{month:02}-{day:02}"]), ways)


def _phone(rng: random.Random, source: str) -> Number:
    ways = ["+49 30 #######", "0### / ## ## ###", "0###-######", "+43 1 ##### #", "0## ####-##"]
    if source == "en":
        ways = ["(###) ###-####", "+1 ###-###-####", "###-####", "+44 20 #### ####"]
    return Number(_filled(rng, rng.choice(ways)))


def _filled(rng: random.Random, pattern: str) -> str:
    """Replace each `#` of a pattern with a digit and each `@` with a capital; the first digit is not 0."""
    filled = re.sub("#", lambda _: rng.choice("123456789"), pattern, count=1)
    filled = re.sub("#", lambda _: rng.choice("0123456789"), filled)
    return re.sub("@", lambda _: rng.choice("ABCEFHKLMNPRTUXZ"), filled)


def _of(*patterns: str) -> Callable[[random.Random, str], Number]:
    """Return a kind of number that all languages write in the same way."""
    return lambda rng, _: Number(_filled(rng, rng.choice(patterns)))


def _integer(rng: random.Random, source: str) -> Number:
    value = rng.choice(
        [rng.randrange(2, 100), rng.randrange(100, 1000), rng.randrange(1000, 10**7)]
    )
    return _amount(value, "", source, grouped=value > 9999)


def _decimal(rng: random.Random, source: str) -> Number:
    return _amount(rng.randrange(0, 100), str(rng.randrange(1, 99)), source)


def _price(rng: random.Random, source: str) -> Number:
    return _amount(
        rng.choice([5, 49, 870, 1299, 23990, 1250000]), f"{rng.randrange(100):02}", source
    )


def _negative(rng: random.Random, source: str) -> Number:
    value = rng.randrange(2, 50)
    ways = [
        rf"[-−–]{value}",
        rf"minus {value}",
        rf"{value} (?:degrees )?below",
        rf"{value} Grad unter",
    ]
    return Number(f"-{value}", ways)


def _score(rng: random.Random, source: str) -> Number:
    one, other = rng.randrange(6), rng.randrange(6)
    return Number(f"{one}{':' if source == 'de' else '-'}{other}", [rf"{one}\s?[:–-]\s?{other}"])


def _range(rng: random.Random, source: str) -> Number:
    first = rng.randrange(2, 300)
    last = first + rng.randrange(2, 40)
    return Number(f"{first}-{last}", [rf"{first}\s?(?:[-–]|to|bis|and|und|through|until)\s?{last}"])


def _ordinal(rng: random.Random, source: str) -> Number:
    value = rng.randrange(2, 30)
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if 10 < value < 20 else ends.get(value % 10, "th")
    return Number(
        f"{value}." if source == "de" else f"{value}{end}", [rf"{value}(?:\.|st|nd|rd|th)?"]
    )


def _year(rng: random.Random, _: str) -> Number:
    return Number(str(rng.randrange(1100, 2050)))


def _decade(rng: random.Random, source: str) -> Number:
    value = rng.choice([1920, 1950, 1970, 1990])
    return Number(
        f"{value}{'er' if source == 'de' else 's'}", [rf"{value}(?:er|s|'s)?(?:[ -]?Jahren?)?"]
    )


_KINDS: dict[str, Callable[[random.Random, str], Number]] = {
    "I": _integer, "D": _decimal, "P": _price, "T": _time, "H": _hour, "DATE": _date, "PHONE": _phone,
    "IBAN": _of("DE## #### #### #### #### ##", "AT## #### #### #### ####"),
    "VERSION": _of("#.#.##", "##.#.#-rc.#", "v#.#"),
    "PART": _of("AX-####-##B/#", "@@-####", "####-###", "@##.###", "#@##@", "@#####"),
    "FLIGHT": _of("LH ####", "OS ###", "U2 ####", "@@###"),
    "PLATE": _of("HH-@@ ####", "M-@ ###", "B-@@ ###"),
    "ISBN": _of("978-3-16-######-#", "978-#-##-######-#"),
    "NEG": _negative, "SCORE": _score, "RANGE": _range, "ORD": _ordinal, "YEAR": _year, "DECADE": _decade,
    "FRACTION": _of("1/#", "3/#"), "CODE": _of("0x#######", "E-####", "#####", "00##", "########"),
    "IP": _of("10.#.#.##", "192.168.#.###"), "SIZE": _of("####x###", "## x ##", "# x # x #"),
    "CHEMICAL": _of("H2O", "CO2", "C6H12O6", "B12"), "ROOM": _of("#", "##", "###", "##b", "@###", "@.##"),
}  # fmt: skip
_TEMPLATES = {
    "de": """
Rufen Sie bitte {PHONE} an.|Meine Nummer ist {PHONE}, ab {H} Uhr.|Unter {PHONE} erreichen Sie uns.
Bitte überweisen Sie {P} € auf das Konto {IBAN}.|Die IBAN lautet {IBAN}.
Das Auto kostet {P} Euro.|Der Preis fiel von {P} € auf {P} €.|Er verdient {P} CHF im Monat.|Das macht $ {D}.
Der Zug fährt um {T} Uhr von Gleis {ROOM} ab.|Um {H} Uhr essen wir.|Von {T} bis {T} Uhr ist geschlossen.
Wir treffen uns am {DATE} um {T} Uhr.|Er wurde am {DATE} geboren.|Der Vertrag läuft vom {DATE} bis zum {DATE}.
Am {ORD} Mai {YEAR} kam sie zurück.|Das {ORD} Kapitel hat {I} Seiten.|Er wohnt im {ORD} Stock.
Zimmer {ROOM} ist frei.|Der Bus {ROOM} kommt gleich.|Sie wohnt in der Hauptstraße {ROOM}, {CODE} Berlin.
Version {VERSION} behebt den Fehler {CODE}.|Bitte installieren Sie zuerst {VERSION}.|Der Server ist {IP}.
Die Seriennummer lautet {PART}.|Artikel {PART} ist ausverkauft.|Teil {PART} passt zu {PART}.
Flug {FLIGHT} landet um {T} Uhr.|Das Kennzeichen ist {PLATE}.|Die ISBN ist {ISBN}.
Das Paket wiegt {D} kg und misst {SIZE} cm.|Der Tisch ist {D} m lang.|Nur {D} % der Leute kamen.
Es sind {I} km.
Die Temperatur sinkt auf {NEG} °C.|Es waren {NEG} Grad in der Nacht.|Das Spiel endete {SCORE}.
Wir haben {SCORE} verloren.
Lesen Sie die Seiten {RANGE}.|Es dauert {RANGE} Minuten.|In den {DECADE} Jahren war alles anders.
In den Jahren {YEAR}, {YEAR} und {YEAR} geschah viel.|Von {YEAR} bis {YEAR} war Krieg.|Das war {YEAR} in Rom.
Nimm {FRACTION} Liter Milch und {I} g Zucker.|Die Formel ist {CHEMICAL}.|Der Code ist {CODE}.|Wähle {CODE}!
Es waren {I} Menschen auf der Straße.|{I} Kinder spielen im Garten.|Er hat {I} Bücher und {I} Hefte.
Der Bildschirm hat {SIZE} Punkte.|{I} + {I} ist nicht {I}.|Haben Sie {I} Euro?|Kostet das wirklich {P} €?
""",
    "en": """
Please call {PHONE}.|My number is {PHONE}, after {H}.|You can reach us at {PHONE}.
Please send {P} euros to the account {IBAN}.|The account is {IBAN}.
The car costs ${P}.|The price fell from £{P} to £{P}.|He earns {P} dollars a month.|That is €{D}.
The train leaves at {T} from platform {ROOM}.|We eat at {H}.|It is closed from {T} to {T}.|I got up at {T}.
We meet on {DATE} at {T}.|He was born on {DATE}.|The contract runs from {DATE} to {DATE}.
On May {ORD}, {YEAR}, she came back.|The {ORD} chapter has {I} pages.|He lives on the {ORD} floor.
Room {ROOM} is free.|Bus {ROOM} is coming.|She lives at {ROOM} Main Street, {CODE} Boston.
Version {VERSION} fixes the error {CODE}.|Please install {VERSION} first.|The server is {IP}.
The serial number is {PART}.|Item {PART} is sold out.|Part {PART} fits {PART}.
Flight {FLIGHT} lands at {T}.|The licence plate is {PLATE}.|The ISBN is {ISBN}.
The box weighs {D} kg and measures {SIZE} cm.|The table is {D} m long.|Only {D}% of the people came.
It is {I} miles.
The temperature falls to {NEG} degrees.|It was {NEG} °C last night.|The game ended {SCORE}.|We lost {SCORE}.
Read pages {RANGE}.|It takes {RANGE} minutes.|Everything was different in the {DECADE}.
A lot happened in {YEAR}, {YEAR} and {YEAR}.|There was war from {YEAR} to {YEAR}.|That was in Rome in {YEAR}.
Take {FRACTION} of a litre of milk and {I} g of sugar.|The formula is {CHEMICAL}.|The code is {CODE}.
Dial {CODE}!
There were {I} people in the street.|{I} children are playing in the garden.|He has {I} books and {I} pens.
The screen has {SIZE} pixels.|{I} + {I} is not {I}.|Do you have {I} dollars?|Does it really cost ${P}?
""",
}


def cases(source: str, count: int, seed: int) -> Iterator[Case]:
    """Yield `count` sentences in `source`, from each template in turn."""
    rng = random.Random(seed)
    templates = _TEMPLATES[source].strip().replace("\n", "|").split("|")
    for number in range(count):
        template = templates[number % len(templates)]
        parts = re.split(r"\{([A-Z]+)\}", template)
        numbers = [_KINDS[kind](rng, source) for kind in parts[1::2]]
        parts[1::2] = [one.text for one in numbers]
        yield Case("+".join(re.findall(r"\{([A-Z]+)\}", template)), "".join(parts), numbers)


def fault(case: Case, translation: str) -> str:
    """Describe the first wrong number of a translation; return an empty string if all are right."""
    rest = translation
    for number in sorted(case.numbers, key=lambda one: -len(one.text)):
        ways = number.accepted or _exactly(number.text)
        for way in ways:
            found = re.search(rf"(?<![\w.,])(?:{way})(?![.,:]?\d)(?!\w)", rest) or re.search(
                rf"(?<!\d)(?<!\d[.,:])(?:{way})(?![.,:]?\d)", rest
            )
            if found:
                rest = f"{rest[: found.start()]} ~ {rest[found.end() :]}"
                break
        else:
            return f"no {number.text}"
    left = re.findall(r"\d+", rest)
    return f"{' '.join(left)} besides" if left else ""


def check(url: str, source: str, target: str, count: int, seed: int) -> Counter[str]:
    """Print all sentences with faults, and count them by kind."""
    asked = list(cases(source, count, seed))
    found: Counter[str] = Counter()
    answers = translate(url, [case.text for case in asked], source, target)
    for case, text in zip(asked, answers, strict=True):
        if wrong := fault(case, text):
            found[case.kind] += 1
            print(f"{case.text}\n  {text}\n  {wrong}")
    return found


def main() -> int:
    """Check both directions; return 0 if all numbers are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="URL of the service, such as http://127.0.0.1:8000")
    parser.add_argument("--count", type=int, default=1000, help="sentences per direction")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total = 0
    for source, target in (("de", "en"), ("en", "de")):
        found = check(options.url, source, target, options.count, options.seed)
        total += found.total()
        print(f"{source}-{target}: {found.total()} of {options.count} have a fault: {dict(found)}")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
