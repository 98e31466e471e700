"""Make `service/text/common_words.txt.xz`: the commonest words of many languages, with their frequencies.

Usage: `python -m export.common_words`. It needs `pip install wordfreq==3.1.1`, whose data are licensed under
CC BY-SA 4.0; so is the file.
"""

import gzip
import importlib.util
import lzma
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgpack

TABLE = Path(__file__).parents[1] / "service" / "text" / "common_words.txt.xz"
MAX_WORDS = 5_000
UNSEGMENTED = {"ja", "ko", "zh"}
"""Languages whose words are not separated by spaces, or have too many forms."""
LABELS = {"nb": ["no"], "fil": ["tl"], "sh": ["bs", "hr", "sh", "sr"]}
"""The languages that a list is used for, if they differ from its name."""
_PARTS = re.compile(r"[^\W\d_]++")


def _lists() -> Iterator[tuple[str, Path]]:
    """Yield the code and the file of every list."""
    spec = importlib.util.find_spec("wordfreq")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    for path in sorted(Path(spec.submodule_search_locations[0], "data").glob("small_*")):
        code = path.name.removeprefix("small_").split(".")[0]
        if code not in UNSEGMENTED:
            yield code, path


def _frequencies(path: Path) -> list[tuple[str, float]]:
    """Return the commonest words with their shares of all text; compounds count for their parts."""
    frequencies: dict[str, float] = defaultdict(float)
    with gzip.open(path, "rb") as file:
        # after a header, the words with frequencies of 10^(-0/100), 10^(-1/100), 10^(-2/100) ...
        buckets = msgpack.load(file, raw=False)[1:]
    for hundredths, words in enumerate(buckets):
        for word in words:
            for part in _PARTS.findall(word):
                frequencies[part] += 10 ** (-hundredths / 100)
    return sorted(frequencies.items(), key=lambda item: -item[1])[:MAX_WORDS]


def main() -> None:
    """Write the table: each line has languages, tenths of a decade above 1e-6, and words so frequent."""
    lines = []
    for code, path in _lists():
        by_weight: dict[int, list[str]] = defaultdict(list)
        for word, frequency in _frequencies(path):
            by_weight[max(1, round(10 * (6 + math.log10(frequency))))].append(word)
        labels = ",".join(LABELS.get(code, [code]))
        for weight, words in sorted(by_weight.items(), reverse=True):
            lines.append(f"{labels}\t{weight}\t{' '.join(sorted(words))}\n")
    TABLE.write_bytes(lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
