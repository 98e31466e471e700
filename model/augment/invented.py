"""Names of the text, and new ones made from them, so that a model learns to copy names it has never seen."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from model.data.pairs import TextPair
from model.data.text import DataError

WORD = re.compile(r"\w+")
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


class Names:
    """Draws names; the draws are the same for the same seed."""

    def __init__(self, names: Sequence[str], seed: int) -> None:
        """New names are drawn or made from `names`."""
        self._names, self._followers = names, _followers(names)
        self._random = random.Random(seed)

    def draw(self) -> str:
        """Draw a known name, compose one from two of them, or invent one.

        Raises:
            DataError: there are no names.
        """
        if not self._names:
            raise DataError("no pair has the same name on both sides")
        draw = self._random
        kind = draw.random()
        if kind < INVENTED and len(name := self._invented()) >= SHORTEST:
            return name
        name, other_name = draw.choices(self._names, k=2)
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
