"""`python -m model.augment.facts DATA LEXICON --count 60000 --out OUT`: sentences with facts of all kinds.

Numbers, amounts, times, codes and names must not be changed by a translation. Most text has too few of them,
and repeats the same ones, so a model does not learn this. Nor does it have the addresses, the heads of mails
and the labels that people translate. Here, the class `sentence` of a lexicon is filled with random facts and
becomes the corpus `train.facts.<code>`, without duplicates. New names are made from those of DATA.

LEXICON is a TOML file, or the name of an included one: `de-en`, which explains its format. No side of a pair
is a line of the files after `--without`, the test sets of the model, whatever its case and punctuation.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from model.augment import derived
from model.augment.fact_kinds import Draw
from model.augment.invented import find_names
from model.augment.lexicon import Lexicon, load_lexicon
from model.data.pairs import TextPair, find_pairs, iterate_pairs, write_pairs
from model.data.text import DataError, iterate_lines

SENTENCE = "sentence"
"""The class of a lexicon that is drawn."""
TRIES = 20
"""Draws for each pair that is wanted, after which there are probably no more different ones."""
NOT_WORDS = re.compile(r"[\W_]+")


def main(arguments: list[str] | None = None) -> int:
    """Write the corpus and return the exit status."""
    parser = derived.parser("model.augment.facts", __doc__)
    parser.add_argument("lexicon", help="TOML file, or the name of an included one: de-en")
    parser.add_argument("--count", type=int, default=60_000, help="number of pairs (default 60000)")
    parser.add_argument("--without", type=Path, nargs="+", default=[], help="files of test sets")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    options = parser.parse_args(arguments)
    try:
        lexicon = load_lexicon(options.lexicon)
        if SENTENCE not in lexicon:
            raise DataError(f"{options.lexicon}: has no class {SENTENCE}")
        corpora = find_pairs(options.data, lexicon.languages)
        names = find_names(chain.from_iterable(map(iterate_pairs, corpora.values())))
        if not names:
            raise DataError(f"{options.data}: no pair has the same name on both sides")
        unwanted = {_words(line) for path in options.without for line, _ in iterate_lines(path)}
        pairs = generated(lexicon, Draw(names, options.seed), options.count, unwanted)
        options.out.mkdir(parents=True, exist_ok=True)
        targets = [options.out / f"train.facts.{code}" for code in lexicon.languages]
        written = write_pairs(pairs, targets)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"facts: {written:,} pairs")
    return 0


def generated(
    lexicon: Lexicon, draw: Draw, count: int, unwanted: Iterable[str] = ()
) -> Iterator[TextPair]:
    """Draw `count` different sentences, or fewer if the lexicon has no more, without `unwanted` ones."""
    seen, unwanted = set[TextPair](), frozenset(unwanted) - {""}
    for _ in range(TRIES * count):
        pair = lexicon.draw(SENTENCE, (True, True), draw)
        if pair not in seen and unwanted.isdisjoint(map(_words, pair)):
            seen.add(pair)
            yield pair
        if len(seen) == count:
            return


def _words(text: str) -> str:
    """Return a text without case and punctuation."""
    return NOT_WORDS.sub(" ", text.casefold()).strip()


if __name__ == "__main__":
    sys.exit(main())
