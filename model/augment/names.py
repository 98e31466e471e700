"""`python -m model.augment.names DATA --languages de en --out OUT`: pairs with other names.

Small corpora have few names. A model learns these by heart, and turns a name that it has never seen into one
that it has. Every corpus of DATA (`train.<code>` or `train.<name>.<code>`) gets a new one,
`train.names.<code>` (`train.<name>-names.<code>`), of its pairs with a name on both sides. The name is
replaced by one from elsewhere in the text, by the beginning of one and the end of another, or by an invented
one whose letters follow each other as those of the names do, so that a model learns to copy names
(replacement on both sides: Fadaee et al., 2017; copied text: Currey et al., 2017).

With `--lexicon de-en`, some names are replaced by names of several words, which may be words of the language:
its class `whole_name` has people, firms and addresses.

A word counts as a name if it begins with a capital and is the same in both languages. Numbers of two or more
digits are replaced, too.
"""

import random
import re
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from model.augment import derived
from model.augment.fact_kinds import Draw
from model.augment.invented import WORD, Names, find_names
from model.augment.lexicon import Lexicon, load_lexicon
from model.data.pairs import TextPair, find_pairs, iterate_pairs
from model.data.text import DataError

NUMBER = re.compile(r"(?<![\w.,:])\d{2,}(?![.,:]?\w)")
"""Two or more digits without separators, which differ between languages."""
WHOLE_NAME = "whole_name"
"""The class of a lexicon whose entries replace names."""
WHOLE = 0.3
"""Share of names that are replaced by an entry of this class, if there is a lexicon."""


def main(arguments: list[str] | None = None) -> int:
    """Write the new corpora and return the exit status."""
    parser = derived.parser("model.augment.names", __doc__)
    parser.add_argument("--languages", nargs=2, required=True, metavar="CODE")
    parser.add_argument("--lexicon", help="TOML file, or the name of an included one: de-en")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    options = parser.parse_args(arguments)
    try:
        lexicon = load_lexicon(options.lexicon) if options.lexicon else None
        _exchange_all(
            options.data, tuple(options.languages), options.out, lexicon, options.seed
        )  # fmt: skip
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


class Exchange:
    """Replaces the names and numbers that both sides share; the draws are the same for the same seed."""

    def __init__(self, names: Sequence[str], seed: int, lexicon: Lexicon | None = None) -> None:
        """`names` are replaced. Replacements are drawn or made from them, or from `whole_name` of `lexicon`.

        Raises:
            DataError: the lexicon has no such class.
        """
        if lexicon and WHOLE_NAME not in lexicon:
            raise DataError(f"the lexicon has no class {WHOLE_NAME}")
        self._known, self._lexicon = frozenset(names), lexicon
        self._name = Names(names, seed).draw
        self._draw = Draw(names, seed)
        self._random = random.Random(seed)

    def __call__(self, pair: TextPair) -> TextPair | None:
        """Replace the names and numbers of a pair; return None if its sides share none.

        Names may have a final `s`, which is kept.
        """
        words = [set(WORD.findall(side)) for side in pair]
        new: dict[str, TextPair] = {}
        for name in sorted({word.removesuffix("s") for word in words[0] | words[1]} | words[0]):
            if name in self._known and all({name, f"{name}s"} & side for side in words):
                is_part = f"{name}s" in words[0] | words[1] or _is_in_compound(name, pair)
                new[name] = self._replacement(may_be_whole=not is_part)
                new[f"{name}s"] = f"{new[name][0]}s", f"{new[name][1]}s"
        numbers = [set(NUMBER.findall(side)) for side in pair]
        for number in sorted(numbers[0] & numbers[1]):
            digits = self._digits(number)
            new[number] = digits, digits
        if not new:
            return None

        def replaced(side: int) -> str:
            return WORD.sub(
                lambda word: new[word[0]][side] if word[0] in new else word[0], pair[side]
            )

        return replaced(0), replaced(1)

    def _replacement(self, *, may_be_whole: bool) -> TextPair:
        """Draw a name in both languages."""
        if self._lexicon and may_be_whole and self._random.random() < WHOLE:
            return self._lexicon.draw(WHOLE_NAME, (False, False), self._draw)
        name = self._name()
        return name, name

    def _digits(self, number: str) -> str:
        """Draw the same number of digits; the first is not 0 unless it was."""
        first_digit = self._random.randrange(number[0] != "0", 10)
        return str(first_digit) + "".join(str(self._random.randrange(10)) for _ in number[1:])


def _is_in_compound(name: str, pair: TextPair) -> bool:
    """Check whether a name is joined to another word by a hyphen."""
    return any(f"{name}-" in side or f"-{name}" in side for side in pair)


def _exchange_all(
    data: Path, languages: TextPair, out: Path, lexicon: Lexicon | None, seed: int
) -> None:
    """Find the names in all corpora, write the new corpora, and print their sizes.

    Raises:
        DataError: the text is unusable, or has no names.
    """
    if lexicon and lexicon.languages != languages:
        raise DataError(
            f"--lexicon: is for {' '.join(lexicon.languages)}, not {' '.join(languages)}"
        )
    corpora = find_pairs(data, languages)
    names = find_names(chain.from_iterable(map(iterate_pairs, corpora.values())))
    if not names:
        raise DataError(f"{data}: no pair has the same name on both sides")
    print(f"{len(names):,} names")
    exchange = Exchange(names, seed, lexicon)
    for line in derived.derive(corpora, languages, out, "names", exchange):
        print(line)


if __name__ == "__main__":
    sys.exit(main())
