"""`python -m export.known_words DATA --languages de en --out FILE`: the table for the rule `unknown_names`.

The table has the words of the training text, except likely names. With `--wordfreq`, it also has words from
wordfreq that are far commoner in one of the languages than in the others, and so are probably not names. This
needs `pip install wordfreq==3.1.1`, whose data are licensed under CC BY-SA 4.0; so is the table then.
"""

import argparse
import importlib
import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from tqdm import tqdm

from model.data.text import DataError, iterate_lines
from service.text.known_words import MAX_LETTERS, MIN_PART, KnownWords
from service.text.languages import profile

MIN_FREQUENCY = 3e-8
"""Minimum frequency of wordfreq's words: rarer ones are mostly errors and names."""
MIN_RATIO = 20
"""How many times commoner than in each other language wordfreq's words must be."""
MIN_COUNT = 2
"""Minimum count in the training text of words that may be parts of compounds."""
MAX_NAME_COUNT, MIN_NAME_SHARE = 4, 1 / 3
"""A word is considered a name, and left out, if the training text has it at most `MAX_NAME_COUNT` times, and
another language's text has it at least `MIN_NAME_SHARE` times as often."""
_WORD = re.compile(r"[^\W\d_]{2,}")

Table = dict[str, dict[str, set[str]]]
"""Words by language and kind: `part` for parts of compounds, `word` for others."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m export.known_words",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, help="folder with train.<code>, train.<name>.<code>")
    parser.add_argument("--languages", nargs="+", required=True, help="codes, such as de en")
    parser.add_argument("--wordfreq", action="store_true", help="add words from wordfreq")
    parser.add_argument(
        "--out", type=Path, required=True, help="the table, such as known_words.tsv.xz"
    )
    options = parser.parse_args(arguments)
    codes = tuple(options.languages)
    try:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        more_words = _from_wordfreq(codes) if options.wordfreq else {}
        table = known_words({code: _counts(options.data, code) for code in codes}, more_words)
        options.out.write_bytes(compressed(table))
    except (DataError, ImportError, LookupError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for code, kinds in table.items():
        print(f"{code}: {', '.join(f'{len(words):,} {kind}s' for kind, words in kinds.items())}")
    return 0


def known_words(
    counts: Mapping[str, Counter[str]], more_words: Mapping[str, Iterable[str]]
) -> Table:
    """Collect the table's words, without forms and compounds that the service derives from other words.

    Args:
        counts: counts of the case-folded words of the training text, by language.
        more_words: further case-folded words, by language.
    """
    table: Table = {}
    for code, counts_of_words in counts.items():
        known_as_words = set(more_words.get(code, ()))
        others = [other for key, other in counts.items() if key != code]
        words = {
            word
            for word in counts_of_words
            if word in known_as_words or not _is_name(word, counts_of_words[word], others)
        }
        parts = {
            word for word in words if counts_of_words[word] >= MIN_COUNT and len(word) >= MIN_PART
        }
        language = profile(code)
        known = KnownWords((), parts, language.compound_links, language.noun_endings)
        other_words = (words | known_as_words) - parts
        table[code] = {
            "part": parts,
            "word": {
                word for word in other_words if len(word) <= MAX_LETTERS and word not in known
            },
        }
    return table


def _is_name(word: str, count: int, others: Iterable[Counter[str]]) -> bool:
    return count <= MAX_NAME_COUNT and any(
        other[word] >= MIN_NAME_SHARE * count for other in others
    )


def compressed(table: Table) -> bytes:
    """Return the table as the service reads it, xz-compressed.

    Each line has the words of a language and a kind that start with the same two letters.
    """
    lines: dict[tuple[str, str, str], list[str]] = {}
    for code, kinds in table.items():
        for kind, words in kinds.items():
            for word in sorted(words):
                lines.setdefault((code, kind, word[:2]), []).append(word)
    text = "".join(
        f"{code}\t{kind}\t{' '.join(words)}\n" for (code, kind, _), words in lines.items()
    )
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def _counts(data: Path, code: str) -> Counter[str]:
    paths = sorted({*data.glob(f"train.{code}"), *data.glob(f"train.*.{code}")})
    if not paths:
        raise DataError(f"{data}: has no training text in {code}, train.{code}")
    lines = tqdm(
        chain.from_iterable(map(iterate_lines, paths)), desc=code, unit="line", unit_scale=True
    )
    return Counter(word for line, _ in lines for word in _WORD.findall(line.casefold()))


def _from_wordfreq(codes: tuple[str, ...]) -> dict[str, set[str]]:
    wordfreq = importlib.import_module("wordfreq")
    lists = {code: wordfreq.get_frequency_dict(code, "best") for code in codes}
    return {
        code: {
            word.casefold()
            for word, frequency in lists[code].items()
            if frequency >= MIN_FREQUENCY
            and _WORD.fullmatch(word)
            and all(
                frequency > MIN_RATIO * others.get(word, 0)
                for other, others in lists.items()
                if other != code
            )
        }
        for code in codes
    }


if __name__ == "__main__":
    sys.exit(main())
