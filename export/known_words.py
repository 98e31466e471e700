"""`python -m export.known_words DATA --languages de en --out FILE`: the table for the rule `unknown_names`.

It has all words of the training text. With `--wordfreq`, it also has those that wordfreq knows to be words of
one of the languages rather than names: they are far commoner there than in the others. That needs
`pip install wordfreq==3.1.1`, whose data are licensed CC BY-SA 4.0: so is the table then.
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
"""Of wordfreq's words: rarer ones are mostly errors and names."""
MIN_RATIO = 20
"""How much commoner a word must be in its language than in each of the others."""
MIN_COUNT = 2
"""In the training text, of a part of compounds."""
MAX_NAME_COUNT, MIN_NAME_SHARE = 4, 1 / 3
"""A word is taken for a name, and left out, if the training text has it so seldom, and another language's has
it, too, this often for each time."""
_WORD = re.compile(r"[^\W\d_]{2,}")

Table = dict[str, dict[str, set[str]]]
"""By language and kind: the parts of compounds, and other words."""


def main(arguments: list[str] | None = None) -> int:
    """Write the table; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m export.known_words",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, help="folder with train.<code>, train.<name>.<code>")
    parser.add_argument("--languages", nargs="+", required=True, help="codes, as de en")
    parser.add_argument("--wordfreq", action="store_true", help="add words that wordfreq has")
    parser.add_argument("--out", type=Path, required=True, help="the table, as known_words.tsv.xz")
    options = parser.parse_args(arguments)
    codes = tuple(options.languages)
    try:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        more = _from_wordfreq(codes) if options.wordfreq else {}
        table = known_words({code: _counts(options.data, code) for code in codes}, more)
        options.out.write_bytes(compressed(table))
    except (DataError, ImportError, LookupError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for code, kinds in table.items():
        print(f"{code}: {', '.join(f'{len(words):,} {kind}s' for kind, words in kinds.items())}")
    return 0


def known_words(counts: Mapping[str, Counter[str]], more: Mapping[str, Iterable[str]]) -> Table:
    """The table's words: those of the training text, and more, without those that others stand for.

    Args:
        counts: how often a language's words are in the training text, in the form of `str.casefold`.
        more: other words of the languages, in that form.
    """
    table: Table = {}
    for code, found in counts.items():
        sure = set(more.get(code, ()))
        others = [other for key, other in counts.items() if key != code]
        seen = {word for word in found if word in sure or not _is_name(word, found[word], others)}
        parts = {word for word in seen if found[word] >= MIN_COUNT and len(word) >= MIN_PART}
        known = KnownWords((), parts, profile(code).compound_links)
        rest = (seen | sure) - parts
        table[code] = {
            "part": parts,
            "word": {one for one in rest if len(one) <= MAX_LETTERS and one not in known},
        }
    return table


def _is_name(word: str, count: int, others: Iterable[Counter[str]]) -> bool:
    return count <= MAX_NAME_COUNT and any(
        other[word] >= MIN_NAME_SHARE * count for other in others
    )


def compressed(table: Table) -> bytes:
    """The table as the service reads it, compressed by xz; a line for each beginning of words."""
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
