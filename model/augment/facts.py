"""`python -m model.augment.facts DATA PATTERNS --count 60000 --out OUT`: sentences with facts that no text repeats.

Numbers, amounts, dates, codes and names are to come through a translation as they are. Text has too few of them to
learn that from, and the same ones again and again. This fills random ones into patterns, for which it makes the
corpus `train.facts.<code>`. Names and places are drawn from those of DATA, or made of two.

PATTERNS is a TOML file, or the name of one that comes along: `de-en`, whose head says how it is written.
"""

import random
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from model.augment import derived
from model.augment.lexicon import BETWEEN, PLACEHOLDER
from model.augment.names import Exchange, find_names
from model.data.pairs import Pair, find_pairs, iterate_pairs, write_pairs
from model.data.text import DataError

PATTERNS = Path(__file__).parent / "patterns"
MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "en": "January February March April May June July August September October November December",
}
Fact = Callable[[str], str]
"""What a fact is in a language, by its code."""
COMMA_LANGUAGES = ("de", "fr", "es", "it", "nl", "pl", "pt", "ru", "tr")
"""Those that write 1.234,5 or 1 234,5 for the English 1,234.5."""


def _decimal(value: str, code: str) -> str:
    """A number in the English way of writing, as a language writes it."""
    return value.translate(str.maketrans(",.", ".,")) if code in COMMA_LANGUAGES else value


def _same(text: str) -> Fact:
    return lambda code: text


def _written(text: str) -> Fact:
    return partial(_decimal, text)


class Facts:
    """Draws a fact of a kind; the same draws for the same seed."""

    def __init__(self, names: Sequence[str], seed: int) -> None:
        """Draw names from `names`."""
        self._random = random.Random(seed)
        self._exchange = Exchange(names, seed)

    def draw(self, kind: str) -> Fact:
        """Any fact of that kind.

        Raises:
            DataError: there is no such kind.
        """
        made: Callable[[], Fact] | None = getattr(self, f"_{kind}", None)
        if made is None:
            raise DataError(f"{{{kind}}} is no kind of fact")
        return made()

    def _digit(self, count: int) -> str:
        return "".join(self._random.choices("0123456789", k=count))

    def _number(self, low: int, high: int) -> str:
        return str(self._random.randint(low, high))

    def _small(self) -> Fact:
        return _same(self._number(2, 99))

    def _count(self) -> Fact:
        return _same(self._number(*self._random.choice(((2, 99), (100, 999), (1000, 9999)))))

    def _digits(self) -> Fact:
        return _same(self._number(1, 9) + self._digit(self._random.randint(2, 11)))

    def _year(self) -> Fact:
        return _same(self._number(*self._random.choice(((1000, 1899), (1900, 2035), (1950, 2030)))))

    def _track(self) -> Fact:
        return _same(self._number(1, 30) + self._random.choice(("", "", "a", "b")))

    def _time(self) -> Fact:
        return _same(f"{self._number(0, 23)}:{self._random.randint(0, 59):02}")

    def _clock(self) -> Fact:
        hour, minute = self._random.randint(1, 12), self._random.randint(0, 59)
        afternoon = self._random.random() < 0.5
        hour24 = hour % 12 + 12 * afternoon
        english = f"{hour}:{minute:02} {'pm' if afternoon else 'am'}"
        return lambda code: english if code == "en" else f"{hour24}:{minute:02} Uhr"

    def _date(self) -> Fact:
        day, month, year = (
            self._random.randint(1, 28),
            self._random.randrange(12),
            self._number(1900, 2035),
        )

        def written(code: str) -> str:
            name = MONTHS[code].split()[month]
            return f"{day} {name} {year}" if code == "en" else f"{day}. {name} {year}"

        return written

    def _numeric_date(self) -> Fact:
        day, month, year = (
            self._random.randint(1, 28),
            self._random.randint(1, 12),
            self._number(1950, 2035),
        )
        forms = (
            f"{day:02}.{month:02}.{year}",
            f"{day}.{month}.{year}",
            f"{year}-{month:02}-{day:02}",
        )
        return _same(self._random.choice(forms))

    def _expiry(self) -> Fact:
        return _same(f"{self._random.randint(1, 12):02}/{self._random.randint(24, 39)}")

    def _phone(self) -> Fact:
        blocks = [
            self._digit(self._random.randint(2, 5)) for _ in range(self._random.randint(1, 4))
        ]
        area = self._random.choice(
            (
                f"+{self._number(1, 99)}",
                f"0{self._number(30, 9999)}",
                f"+49 {self._number(30, 999)}",
            )
        )
        return _same(
            area
            + self._random.choice((" ", " ", "-", "/"))
            + self._random.choice((" ", " ", "-")).join(blocks)
        )

    def _iban(self) -> Fact:
        country = self._random.choice(("DE", "AT", "CH", "FR", "NL", "GB", "ES"))
        number = country + self._digit(self._random.choice((18, 20, 20)))
        spaced = " ".join(number[at : at + 4] for at in range(0, len(number), 4))
        return _same(spaced if self._random.random() < 0.7 else number)

    def _plain(self, *decimals: int) -> str:
        """A number in the English way of writing, with one of these counts of decimals."""
        value = self._random.choice((1, 10, 100, 1000, 100_000)) * self._random.random() * 9.99
        return f"{value:,.{self._random.choice(decimals)}f}"

    def _amount(self) -> Fact:
        value, sign = self._plain(0, 2, 2), self._random.choice("€€€$£")
        if self._random.random() < 0.2:
            currency = self._random.choice(("EUR", "USD", "CHF", "GBP"))
            return lambda code: f"{_decimal(value, code)} {currency}"
        return lambda code: f"{sign}{value}" if code == "en" else f"{_decimal(value, code)} {sign}"

    def _large(self) -> Fact:
        return _written(f"{int(self._number(1_000, 9_999_999)):,}")

    def _percent(self) -> Fact:
        value = self._plain(0, 1, 2)
        return lambda code: f"{value}%" if code == "en" else f"{_decimal(value, code)} %"

    def _code(self) -> Fact:
        letters = "".join(
            self._random.choices("ABCDEFGHKLMNPRSTVWXZ", k=self._random.randint(1, 3))
        )
        parts = [letters, self._digit(self._random.randint(2, 5)), self._digit(2) + self._random.choice("ABCX"),
                 self._digit(self._random.randint(1, 4))]  # fmt: skip
        self._random.shuffle(parts)
        return _same(self._random.choice("--/. ").join(parts[: self._random.randint(2, 4)]))

    def _hex(self) -> Fact:
        return _same(
            "0x"
            + "".join(self._random.choices("0123456789ABCDEF", k=self._random.choice((2, 4, 8))))
        )

    def _version(self) -> Fact:
        return _same(".".join(self._number(0, 40) for _ in range(self._random.randint(2, 4))))

    def _measure(self) -> Fact:
        unit = self._random.choice("kg kg g mg ml l km km m cm mm MB GB kWh".split())
        value = self._plain(0, 1, 2)
        return lambda code: f"{_decimal(value, code)} {unit}"

    def _sizes(self) -> Fact:
        numbers = [self._number(2, 400) for _ in range(self._random.choice((2, 3)))]
        return _same(
            self._random.choice((" x ", " × ", "x")).join(numbers)
            + self._random.choice((" cm", " mm", " m"))
        )

    def _degrees(self) -> Fact:
        return _same(f"{self._number(-20, 45)} °C")

    def _score(self) -> Fact:
        home, guest = self._number(0, 9), self._number(0, 9)
        return lambda code: f"{home}–{guest}" if code == "en" else f"{home}:{guest}"

    def _flight(self) -> Fact:
        return _same(
            f"{''.join(self._random.choices('ABDEFHKLNQRSUX', k=2))} {self._number(10, 9999)}"
        )

    def _postcode(self) -> Fact:
        return _same(self._digit(5))

    def _name(self) -> Fact:
        return _same(self._exchange.name())

    def _place(self) -> Fact:
        return self._name()

    def _street(self) -> Fact:
        return _same(
            self._exchange.name()
            + self._random.choice(("straße", "weg", "gasse", "allee", "platz"))
        )

    def _word(self) -> str:
        return re.sub(r"\W", "", self._exchange.name().lower())

    def _mail(self) -> Fact:
        return _same(
            f"{self._word()}.{self._word()}@{self._word()}.{self._random.choice(('de', 'com', 'org'))}"
        )

    def _url(self) -> Fact:
        start = self._random.choice(("https://", "http://", "www.", "https://www."))
        path = self._random.choice(
            ("", f"/{self._word()}", f"/{self._word()}/{self._digit(3)}", f"?id={self._digit(4)}")
        )
        return _same(
            f"{start}{self._word()}.{self._random.choice(('de', 'com', 'org', 'net'))}{path}"
        )


class _File(BaseModel):
    """What a file of patterns says."""

    model_config = ConfigDict(extra="forbid")
    languages: tuple[str, str]
    sentences: list[str]


def load_patterns(name_or_path: str) -> tuple[Pair, list[Pair]]:
    """The languages and the patterns of a file that comes along, by its name, or of a TOML file by its path.

    Raises:
        DataError: there is none, or it is not one.
    """
    path = Path(name_or_path)
    if not path.suffix:
        path = PATTERNS / f"{name_or_path}.toml"
    try:
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        known = ", ".join(sorted(one.stem for one in PATTERNS.glob("*.toml")))
        raise DataError(
            f"{name_or_path}: {error.strerror}; those that come along: {known}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise DataError(f"{path}: {error}") from None
    patterns = []
    for sentence in file.sentences:
        sides = sentence.split(BETWEEN)
        kinds = [sorted(PLACEHOLDER.findall(side)) for side in (sides[0], sides[-1])]
        if len(sides) > 2 or kinds[0] != kinds[1]:
            raise DataError(
                f"{path}: not FIRST{BETWEEN}SECOND with the same facts in both: {sentence!r}"
            )
        patterns.append((sides[0], sides[-1]))
    return file.languages, patterns


def filled(pattern: Pair, languages: Pair, facts: Facts) -> Pair:
    """A pattern with a fact of its kind in each place; of two of a kind, the first is the first on both sides."""
    drawn: dict[str, list[Fact]] = {}
    for kind in PLACEHOLDER.findall(pattern[0]):
        drawn.setdefault(kind, []).append(facts.draw(kind))

    def put(side: str, code: str) -> str:
        rest = {kind: iter(ones) for kind, ones in drawn.items()}
        return PLACEHOLDER.sub(lambda found: next(rest[found[1]])(code), side)

    return put(pattern[0], languages[0]), put(pattern[1], languages[1])


def main(arguments: list[str] | None = None) -> int:
    """Write the corpus; returns the exit status."""
    parser = derived.parser("model.augment.facts", __doc__)
    parser.add_argument("patterns", help="TOML file, or one that comes along: de-en")
    parser.add_argument("--count", type=int, default=60_000, help="of pairs (default 60000)")
    parser.add_argument("--seed", type=int, default=1, help="of the draws (default 1)")
    options = parser.parse_args(arguments)
    try:
        languages, patterns = load_patterns(options.patterns)
        corpora = find_pairs(options.data, languages)
        names = find_names(chain.from_iterable(map(iterate_pairs, corpora.values())))
        if not names:
            raise DataError(f"{options.data}: no name is on both sides of a pair")
        facts, draw = Facts(names, options.seed), random.Random(options.seed)
        options.out.mkdir(parents=True, exist_ok=True)
        made: Iterator[Pair] = (
            filled(draw.choice(patterns), languages, facts) for _ in range(options.count)
        )
        written = write_pairs(made, [options.out / f"train.facts.{code}" for code in languages])
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"facts: {written:,} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
