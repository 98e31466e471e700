"""`python -m model.augment.names DATA --languages de en --out OUT`: pairs with other names.

Small corpora have few names. A model learns these by heart, and turns a name that it has never seen into one
that it has. Every corpus of DATA (`train.<code>` or `train.<name>.<code>`) gets a new one,
`train.names.<code>` (`train.<name>-names.<code>`), of its pairs with a name on both sides. The name is
replaced by one from elsewhere in the text, by the beginning of one and the end of another, or by an invented
one whose letters follow each other as those of the names do, so that a model learns to copy names
(replacement on both sides: Fadaee et al., 2017; copied text: Currey et al., 2017).

A word counts as a name if it begins with a capital and is the same in both languages. Numbers of two or more
digits are replaced, too.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from model.augment import derived
from model.data.pairs import TextPair, find_pairs, iterate_pairs
from model.data.text import DataError

WORD = re.compile(r"\w+")
NUMBER = re.compile(r"(?<![\w.,:])\d{2,}(?![.,:]?\w)")
"""Two or more digits without separators, which differ between languages."""
EDGE = "\n"
"""Marks the beginning and the end of a name."""
SHORTEST = 3
"""Minimum number of letters of a name."""
COPIED = 0.8
"""Minimum share of the pairs with a word that have it on both sides, for the word to count as a name."""
COMPOSED = 0.25
"""Share of new names that are composed of two."""
INVENTED = 0.5
"""Share of new names that are invented letter by letter."""
LONGEST = 12
"""Maximum number of letters of an invented name."""


def main(arguments: list[str] | None = None) -> int:
    """Write the new corpora and return the exit status."""
    parser = derived.parser("model.augment.names", __doc__)
    parser.add_argument("--languages", nargs=2, required=True, metavar="CODE")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    options = parser.parse_args(arguments)
    try:
        _exchange_all(options.data, tuple(options.languages), options.out, options.seed)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def find_names(pairs: Iterable[TextPair]) -> list[str]:
    """Return the capitalized words that are nearly always the same on both sides, sorted."""
    on_both: Counter[str] = Counter()
    on_one: Counter[str] = Counter()
    in_lower_case: Counter[str] = Counter()
    for pair in pairs:
        first, second = (set(WORD.findall(side)) for side in pair)
        for word in first | second:
            if word[0].isupper() and word.isalpha() and len(word) >= SHORTEST:
                (on_both if word in first and word in second else on_one)[word] += 1
            elif word.islower():
                in_lower_case[word] += 1
    return sorted(
        word
        for word, count in on_both.items()
        if count >= COPIED * (count + on_one[word]) and count >= 2 * in_lower_case[word.lower()]
    )


class Exchange:
    """Replaces the names and numbers that both sides share; the draws are the same for the same seed."""

    def __init__(self, names: Sequence[str], seed: int) -> None:
        """`names` are replaced, and replacements are drawn or made from them."""
        self.names, self._known = names, frozenset(names)
        self._followers = _followers(names)
        self._random = random.Random(seed)

    def __call__(self, pair: TextPair) -> TextPair | None:
        """Replace the names and numbers of a pair; return None if its sides share none.

        Names may have a final `s`, which is kept.
        """
        words = [set(WORD.findall(side)) for side in pair]
        new_names = {}
        for name in sorted({word.removesuffix("s") for word in words[0] | words[1]} | words[0]):
            if name in self._known and all({name, f"{name}s"} & side for side in words):
                new_names[name] = self.name()
                new_names[f"{name}s"] = f"{new_names[name]}s"
        numbers = [set(NUMBER.findall(side)) for side in pair]
        new_names |= {number: self._digits(number) for number in sorted(numbers[0] & numbers[1])}
        if not new_names:
            return None
        first, second = (
            WORD.sub(lambda match: new_names.get(match[0], match[0]), side) for side in pair
        )
        return first, second

    def name(self) -> str:
        """Draw a known name, compose one from two of them, or invent one."""
        draw = self._random
        kind = draw.random()
        if kind < INVENTED and len(name := self._invented()) >= SHORTEST:
            return name
        name, other_name = draw.choices(self.names, k=2)
        if kind < INVENTED + COMPOSED and name.istitle() and other_name.istitle():
            name = (
                name[: draw.randint(2, len(name) - 1)]
                + other_name[draw.randint(1, len(other_name) - 2) :]
            )
        return name

    def _invented(self) -> str:
        """Draw letter after letter, each given the two before it, until an end is drawn."""
        name = ""
        while len(name) < LONGEST:
            letter = self._random.choice(self._followers[f"{EDGE}{EDGE}{name}"[-2:]])
            if letter == EDGE:
                break
            name += letter
        return name.capitalize()

    def _digits(self, number: str) -> str:
        """Draw the same number of digits; the first is not 0 unless it was."""
        first_digit = self._random.randrange(number[0] != "0", 10)
        return str(first_digit) + "".join(str(self._random.randrange(10)) for _ in number[1:])


def _followers(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the letters that follow each two letters in the names, in lower case, with repetition."""
    followers: dict[str, list[str]] = {}
    for name in names:
        # lower() turns the Turkish İ into i and a combining dot, which is no letter
        letters = "".join(filter(str.isalpha, name.lower()))
        padded = f"{EDGE}{EDGE}{letters}{EDGE}"
        for start in range(len(letters) + 1):
            followers.setdefault(padded[start : start + 2], []).append(padded[start + 2])
    return followers


def _exchange_all(data: Path, languages: tuple[str, str], out: Path, seed: int) -> None:
    """Find the names in all corpora, write the new corpora, and print their sizes.

    Raises:
        DataError: the text is unusable, or has no names.
    """
    corpora = find_pairs(data, languages)
    names = find_names(chain.from_iterable(map(iterate_pairs, corpora.values())))
    if not names:
        raise DataError(f"{data}: no pair has the same name on both sides")
    print(f"{len(names):,} names")
    for line in derived.derive(corpora, languages, out, "names", Exchange(names, seed)):
        print(line)


if __name__ == "__main__":
    sys.exit(main())
