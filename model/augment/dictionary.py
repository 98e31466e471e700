"""`python -m model.augment.dictionary DATA --dictionary FILE --languages de en --out OUT`: rare words.

Small corpora lack most words of a language; a dictionary has them. FILE has the format of the program Ding
(for German and English, TU Chemnitz and Debian's package trans-de-en have one). It becomes three corpora:

- `examples`: its whole sentences;
- `from-<first>`: each word or phrase of the first language with its most frequent translation. Train only
  this direction on it, so that the model understands rare words, but does not write them;
- `from-<second>`: the same from the second language.

Entries of one or two words that are not abbreviations are left out of the last two corpora if the text of
DATA already has all their words, because sentences teach their meaning better.
"""

import re
import sys
from collections.abc import Iterable, Iterator

from model.augment import derived, ding
from model.augment.derived import WORD, Known
from model.augment.ding import Entry
from model.data.pairs import TextPair, write_pairs
from model.data.text import DataError

NOT_TEXT = re.compile(r"[][{}<>|~()=/+]|\.\.\.|…")
"""Remains of remarks that could not be removed."""
NOT_ALTERNATIVES = re.compile(r" / |\d/|/\d")
"""Slashes that do not separate alternative words: between phrases, or next to digits."""
SENTENCE = re.compile(r"""[^\W\d_a-zß-ÿ].*\s.*[.!?]["“”']?""")
PHRASE = 3
"""Minimum number of words at which a phrase is kept even if all its words are known."""


def main(arguments: list[str] | None = None) -> int:
    """Write the corpora and return the exit status."""
    parser = derived.parser("model.augment.dictionary", __doc__)
    ding.add_arguments(parser)
    parser.add_argument("--languages", nargs=2, required=True, metavar="CODE")
    options = parser.parse_args(arguments)
    languages = options.languages[0], options.languages[1]
    try:
        known = derived.known_words(options.data, languages)
        entries = ding.read_entries(options.dictionary, frozenset(options.without))
        corpora = divide(entries, languages, known)
        options.out.mkdir(parents=True, exist_ok=True)
        for name, pairs in corpora.items():
            write_pairs(pairs, [options.out / f"train.{name}.{code}" for code in languages])
            print(f"{name}: {len(pairs):,} pairs")
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def divide(
    entries: Iterable[Entry], languages: TextPair, known: Known
) -> dict[str, list[TextPair]]:
    """Divide the entries into the three corpora, by name, without duplicates."""
    corpora: dict[str, dict[TextPair, None]] = {"examples": {}}
    corpora |= {f"from-{code}": {} for code in languages}
    for entry in entries:
        for source, code in enumerate(languages):
            for first, second in ding.candidates(entry, source):
                texts = ding.write_out(first, languages[0]), ding.write_out(second, languages[1])
                for pair in unfold(texts):
                    if all(SENTENCE.fullmatch(side) for side in pair):
                        corpora["examples"][pair] = None
                    elif _teaches(pair[source], known[source]):
                        corpora[f"from-{code}"][pair] = None
    return {name: list(pairs) for name, pairs in corpora.items()}


def unfold(pair: TextPair) -> Iterator[TextPair]:
    """Yield a pair for each alternative that both sides have (`er/sie`, `he/she`), or only for the first.

    Nothing is yielded if a side is empty, or for pairs with symbols that are not text.
    """
    if not all(pair) or any(NOT_ALTERNATIVES.search(side) for side in pair):
        return
    words = [[word.split("/") for word in side.split()] for side in pair]
    for index in range(min(max(map(len, side)) for side in words)):
        first, second = (
            " ".join(word[min(index, len(word) - 1)] for word in side) for side in words
        )
        if not NOT_TEXT.search(f"{first} {second}"):
            yield first, second


def _teaches(text: str, known: frozenset[str]) -> bool:
    """Check whether the source is a phrase or an abbreviation, or has a word that is rare in the text."""
    words = WORD.findall(text)
    return len(words) >= PHRASE or text.endswith(".") or not known.issuperset(map(str.lower, words))


if __name__ == "__main__":
    sys.exit(main())
