"""`python -m model.clean RAW --languages de en --out CLEAN`: drop pairs that do not help training.

Every corpus of RAW (`train.<code>` or `train.<name>.<code>`) is read line by line, so it may be of any size;
a hash of each kept pair is remembered to find duplicates. Dropped pairs are counted by reason. With
--rejected, they are written to a file with their reasons.
"""

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from py3langid.langid import MODEL_FILE, LanguageIdentifier
from tqdm import tqdm

from model.data.text import DataError, find_corpora, written_whole

Detect = Callable[[str], tuple[str, float]]
"""A function that returns the language of a text and its probability."""
CERTAIN = 0.95
"""Minimum probability at which a detected language counts."""
LOST = "\ufffd"
"""What programs write for characters that they could not read."""
LONG_ENOUGH = 40
"""Minimum length in characters for language detection, which is often wrong for shorter text."""


@dataclass
class Rules:
    """The rules that a pair must satisfy to be kept. The first that it breaks is reported as the reason."""

    languages: tuple[str, str]
    max_words: int = 200
    max_ratio: float = 3.0
    """Maximum ratio of the longer side to the shorter in characters, if the longer has at least 30."""
    detect: Detect | None = None
    """If None, languages are not checked."""
    _seen: set[bytes] = field(default_factory=set)

    def reason(self, pair: tuple[str, str]) -> str | None:
        """Return why a pair is dropped, or None if it is kept. Remembers kept pairs to find duplicates."""
        if not all(pair):
            return "empty"
        if any(LOST in side for side in pair):
            return "lost characters"
        if max(len(side.split()) for side in pair) > self.max_words:
            return "too long"
        short, long = sorted(map(len, pair))
        if long >= 30 and long / short > self.max_ratio:
            return "ratio"
        if pair[0] == pair[1] and len(pair[0].split()) > 2:  # names and numbers may be equal
            return "copied"
        if self._in_another_language(pair):
            return "wrong language"
        digest = hashlib.blake2b("\t".join(pair).casefold().encode(), digest_size=8).digest()
        if digest in self._seen:
            return "duplicate"
        self._seen.add(digest)
        return None

    def _in_another_language(self, pair: tuple[str, str]) -> bool:
        if self.detect is None:
            return False
        for side, code in zip(pair, self.languages, strict=True):
            if len(side) >= LONG_ENOUGH:
                detected, probability = self.detect(side)
                if detected != code and probability >= CERTAIN:
                    return True
        return False


def main(arguments: list[str] | None = None) -> int:
    """Clean the corpora and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m model.clean", description=__doc__)
    parser.add_argument("raw", type=Path, help="folder with train.<code> or train.<name>.<code>")
    parser.add_argument("--languages", nargs=2, required=True, metavar="CODE")
    parser.add_argument("--out", type=Path, required=True, help="folder for the kept pairs")
    parser.add_argument(
        "--max-words",
        type=int,
        default=Rules.max_words,
        help="maximum words of a side (default 200)",
    )
    parser.add_argument(
        "--max-ratio",
        type=float,
        default=Rules.max_ratio,
        help="maximum length of the longer side over the shorter one (default 3)",
    )
    parser.add_argument(
        "--any-language", action="store_true", help="do not check the language of each side"
    )
    parser.add_argument("--rejected", type=Path, help="file for the dropped pairs, with reasons")
    options = parser.parse_args(arguments)
    try:
        detect = None if options.any_language else _detector()
        rules = Rules(tuple(options.languages), options.max_words, options.max_ratio, detect)
        _clean(options.raw, options.out, rules, options.rejected)
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _detector() -> Detect:
    """Load an n-gram model for 97 languages."""
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return lambda text: tuple(identifier.classify(text))


def _clean(raw: Path, out: Path, rules: Rules, rejected: Path | None) -> None:
    """Clean every corpus. The counts are printed and written to `clean.json`."""
    if os.path.realpath(out) == os.path.realpath(raw):
        raise DataError(f"{out}: --out must not be the folder of the text")
    out.mkdir(parents=True, exist_ok=True)
    counts: dict[str, dict[str, int]] = {}
    rejected_file = rejected.open("w", encoding="utf-8") if rejected else None
    try:
        for name, files in find_corpora(raw, rules.languages).items():
            sources = (files[rules.languages[0]], files[rules.languages[1]])
            count: Counter[str] = Counter()
            with written_whole([out / path.name for path in sources]) as (first, second):
                for pair, reason in tqdm(
                    _judged(sources, rules), desc=name or "train", unit="pair", unit_scale=True
                ):
                    count[reason or "kept"] += 1
                    if reason is None:
                        first.write(f"{pair[0]}\n")
                        second.write(f"{pair[1]}\n")
                    elif rejected_file:
                        rejected_file.write("\t".join((reason, *pair)) + "\n")
            counts[name or "train"] = dict(count)
            print(_line(name or "train", count))
    finally:
        if rejected_file:
            rejected_file.close()
    (out / "clean.json").write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")


def _judged(paths: tuple[Path, Path], rules: Rules) -> Iterator[tuple[tuple[str, str], str | None]]:
    """Yield every pair with the reason for dropping it, or None.

    Raises:
        DataError: one file has more lines than the other.
    """
    with paths[0].open("rb") as first, paths[1].open("rb") as second:
        for number, lines in enumerate(zip_longest(first, second), start=1):
            if None in lines:
                short = paths[lines.index(None)]
                raise DataError(f"{short}: ends at line {number - 1}, but the other side continues")
            try:
                pair = (lines[0].decode("utf-8").strip(), lines[1].decode("utf-8").strip())
            except UnicodeDecodeError:
                yield ("", ""), "not UTF-8"
                continue
            yield pair, rules.reason(pair)


def _line(name: str, count: Counter[str]) -> str:
    """Return a line such as `news: 10,000 pairs, 9,500 kept (95.0%); dropped: 300 duplicate, 200 ratio`."""
    total = max(1, count.total())
    dropped = [f"{number:,} {reason}" for reason, number in count.most_common() if reason != "kept"]
    text = f"{name}: {count.total():,} pairs, {count['kept']:,} kept ({count['kept'] / total:.1%})"
    return f"{text}; dropped: {', '.join(dropped)}" if dropped else text


if __name__ == "__main__":
    sys.exit(main())
