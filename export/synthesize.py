"""`python -m export.synthesize URL LINES --source en --target de --name back --out DATA`: text from a model.

A running service translates LINES. Both sides become the corpus `train.<name>.<code>`, for training beside
the original text:

- back-translation (Sennrich et al., 2016): LINES is text in the language to translate into. Train only the
  direction back to it, with `data.corpora.<name>.directions`;
- sequence-level distillation (Kim and Rush, 2016): LINES is the source side of the training text, and the
  service has a larger network. Train the same direction.

The same command continues after an interruption, or with lines that were added to LINES.
"""

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from export.client import ServiceError, translate_lines
from model.data.text import DataError, iterate_lines

UNUSABLE = ("length", "repetition", "copied")
"""Ways in which a search that ran away, or found nothing, has ended."""


def main(arguments: list[str] | None = None) -> int:
    """Translate; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m export.synthesize",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("url", help="URL of the service, for example http://127.0.0.1:8000")
    parser.add_argument("lines", type=Path, help="text file, one sentence per line")
    parser.add_argument("--source", required=True, help="language of LINES")
    parser.add_argument("--target", required=True, help="language to translate into")
    parser.add_argument("--name", required=True, help="name of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="the data folder")
    parser.add_argument("--beam-size", type=int, help="default: the service's")
    options = parser.parse_args(arguments)
    request = {"source": options.source, "target": options.target}
    if options.beam_size:
        request["beam_size"] = options.beam_size
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        files = Files(options.out, options.name, options.source, options.target)
        count = synthesize(options.url.rstrip("/"), options.lines, files, request)
    except (ServiceError, DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    dropped = ", ".join(f"{n:,} {why}" for why, n in count.most_common() if why != "kept")
    print(f"{files.source}, {files.target}: {count['kept']:,} pairs; dropped: {dropped or 'none'}")
    return 0


class Files:
    """The corpus as it grows, and how far it is."""

    def __init__(self, folder: Path, name: str, source: str, target: str) -> None:
        """Both sides' files of the corpus `name`."""
        self.codes = source, target
        self.source, self.target = (folder / f"train.{name}.{code}" for code in self.codes)
        self._progress = folder / f".train.{name}.progress.json"
        self._digest = hashlib.sha256()

    def resume(self, text: Path) -> tuple[int, Counter[str]]:
        """Lines of `text` that are done, and what became of them; whatever was written after is cut off.

        Raises:
            DataError: those done were of another text, or the files are not this command's.
        """
        done: dict[str, Any] = {"lines": 0, "digest": "", "sizes": [0, 0], "count": {}}
        if self._progress.exists():
            done = json.loads(self._progress.read_text(encoding="utf-8"))
        self._count_in(line for line, _ in islice(iterate_lines(text), done["lines"]))
        if done["lines"] and self._digest.hexdigest() != done.get("digest"):
            raise DataError(
                f"{text}: its first {done['lines']:,} lines are not those that {self.source.name} and "
                f"{self.target.name} were begun with; give a corpus of this text another --name"
            )
        for path, size in zip((self.source, self.target), done["sizes"], strict=True):
            if path.exists() and not self._progress.exists():
                raise DataError(f"{path} exists already; give this corpus another --name")
            if path.exists():
                os.truncate(path, size)
        return done["lines"], Counter(done["count"])

    def append(
        self,
        block: Sequence[str],
        pairs: Sequence[tuple[str, str]],
        lines: int,
        count: Mapping[str, int],
    ) -> None:
        """Add the pairs that the lines of `block` gave; `lines` and `count` are those so far."""
        if not self._progress.exists():  # from now on, the files are this command's
            self._note(0, {})
        self._count_in(block)
        for path, side in ((self.source, 0), (self.target, 1)):
            with path.open("a", encoding="utf-8") as file:
                file.writelines(f"{pair[side]}\n" for pair in pairs)
        self._note(lines, count)

    def _note(self, lines: int, count: Mapping[str, int]) -> None:
        """Write down how far it is."""
        files = (self.source, self.target)
        sizes = [path.stat().st_size if path.exists() else 0 for path in files]
        partial = self._progress.with_suffix(".partial")
        done = {
            "lines": lines,
            "digest": self._digest.hexdigest(),
            "sizes": sizes,
            "count": count,
        }
        partial.write_text(json.dumps(done))
        partial.rename(self._progress)

    def _count_in(self, lines: Iterable[str]) -> None:
        """What the digest of the lines that are done is made of."""
        for line in lines:
            self._digest.update(f"{line}\n".encode())


def synthesize(url: str, text: Path, files: Files, request: Mapping[str, Any]) -> Counter[str]:
    """Translate every line that is not done yet; returns how many pairs were kept, or dropped and why.

    `request` is what every request says beside its text.
    """
    total = sum(1 for _ in iterate_lines(text))
    done, count = files.resume(text)
    lines = (line for line, _ in islice(iterate_lines(text), done, None))
    with tqdm(total=total, initial=done, unit="line") as progress:
        for block, translations in translate_lines(url, request, lines):
            outcomes = [judge(one.candidates[0], one.finishes) for one in translations]
            count.update(outcomes)
            pairs = [
                (line, one.candidates[0])
                for line, one, outcome in zip(block, translations, outcomes, strict=True)
                if outcome == "kept"
            ]
            done += len(block)
            files.append(block, pairs, done, count)
            progress.update(len(block))
    return count


def judge(translation: str, finishes: Sequence[str]) -> str:
    """`kept`, or why it would teach nothing good."""
    if not translation.strip():
        return "empty"
    bad = [finish for finish in finishes if finish in UNUSABLE]
    return bad[0] if bad else "kept"


if __name__ == "__main__":
    sys.exit(main())
