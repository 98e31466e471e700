"""`python -m export.synthesize URL LINES --source en --target de --name back --out DATA`: synthetic text.

A running service translates LINES. Both sides become the corpus `train.<name>.<code>`, which is used for
training in addition to the original text:

- back-translation (Sennrich et al., 2016): LINES is monolingual text in the target language of the direction
  to be trained. Train only that direction, with `data.corpora.<name>.directions`. With `--tag "<bt>"`, which
  `data.symbols` makes a token, the model knows which sources are synthetic (Caswell et al., 2019);
- sequence-level distillation (Kim and Rush, 2016): LINES is the source side of the training text, and the
  service has a larger network. Train the same direction.

After an interruption, or when lines were added to LINES, run the same command again to continue.
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
"""Finish reasons of searches whose translations are not used."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command, and return the exit status."""
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
    parser.add_argument("--tag", help="token to put before each translation and a blank")
    parser.add_argument("--beam-size", type=int, help="default: the service's")
    options = parser.parse_args(arguments)
    request = {"source": options.source, "target": options.target}
    if options.beam_size:
        request["beam_size"] = options.beam_size
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        files = Files(options.out, options.name, options.source, options.target)
        tag = f"{options.tag} " if options.tag else ""
        count = synthesize(options.url.rstrip("/"), options.lines, files, request, tag)
    except (ServiceError, DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    dropped = ", ".join(
        f"{number:,} {outcome}" for outcome, number in count.most_common() if outcome != "kept"
    )
    print(f"{files.source}, {files.target}: {count['kept']:,} pairs; dropped: {dropped or 'none'}")
    return 0


class Files:
    """The growing files of the corpus, and a file with their progress."""

    def __init__(self, folder: Path, name: str, source: str, target: str) -> None:
        """Name the files of the corpus `name` for both languages."""
        self.codes = source, target
        self.source, self.target = (folder / f"train.{name}.{code}" for code in self.codes)
        self._progress = folder / f".train.{name}.progress.json"
        self._digest = hashlib.sha256()

    def resume(self, text: Path) -> tuple[int, Counter[str]]:
        """Return the number of lines of `text` that are done, and their outcomes.

        The corpus files are truncated to the recorded progress.

        Raises:
            DataError: the lines done are not the first lines of `text`, or the corpus files exist but were
                not written by this command.
        """
        progress: dict[str, Any] = {"lines": 0, "digest": "", "sizes": [0, 0], "count": {}}
        if self._progress.exists():
            progress = json.loads(self._progress.read_text(encoding="utf-8"))
        self._add_to_digest(line for line, _ in islice(iterate_lines(text), progress["lines"]))
        if progress["lines"] and self._digest.hexdigest() != progress.get("digest"):
            raise DataError(
                f"{text}: its first {progress['lines']:,} lines are not those that {self.source.name} and "
                f"{self.target.name} were started with; give a corpus of this text another --name"
            )
        for path, size in zip((self.source, self.target), progress["sizes"], strict=True):
            if path.exists() and not self._progress.exists():
                raise DataError(f"{path} exists already; give this corpus another --name")
            if path.exists():
                os.truncate(path, size)
        return progress["lines"], Counter(progress["count"])

    def append(
        self,
        block: Sequence[str],
        pairs: Sequence[tuple[str, str]],
        lines: int,
        count: Mapping[str, int],
    ) -> None:
        """Add the pairs made from the lines of `block`.

        `lines` is the number of lines done, and `count` the outcomes so far, both including this block.
        """
        if not self._progress.exists():  # marks the files as written by this command
            self._save_progress(0, {})
        self._add_to_digest(block)
        for path, side in ((self.source, 0), (self.target, 1)):
            with path.open("a", encoding="utf-8") as file:
                file.writelines(f"{pair[side]}\n" for pair in pairs)
        self._save_progress(lines, count)

    def _save_progress(self, lines: int, count: Mapping[str, int]) -> None:
        """Write the progress file atomically."""
        files = (self.source, self.target)
        sizes = [path.stat().st_size if path.exists() else 0 for path in files]
        partial = self._progress.with_suffix(".partial")
        progress = {
            "lines": lines,
            "digest": self._digest.hexdigest(),
            "sizes": sizes,
            "count": count,
        }
        partial.write_text(json.dumps(progress))
        partial.rename(self._progress)

    def _add_to_digest(self, lines: Iterable[str]) -> None:
        """Add lines to the digest of the lines that are done."""
        for line in lines:
            self._digest.update(f"{line}\n".encode())


def synthesize(
    url: str, text: Path, files: Files, request: Mapping[str, Any], tag: str = ""
) -> Counter[str]:
    """Translate every line that is not done yet; return the number of pairs by outcome, as `judge` names it.

    `request` has the fields of every request besides the text. `tag` is put before each translation.
    """
    total = sum(1 for _ in iterate_lines(text))
    done, count = files.resume(text)
    lines = (line for line, _ in islice(iterate_lines(text), done, None))
    with tqdm(total=total, initial=done, unit="line") as progress:
        for block, translations in translate_lines(url, request, lines):
            outcomes = [
                judge(translation.candidates[0], translation.finishes)
                for translation in translations
            ]
            count.update(outcomes)
            pairs = [
                (line, f"{tag}{translation.candidates[0]}")
                for line, translation, outcome in zip(block, translations, outcomes, strict=True)
                if outcome == "kept"
            ]
            done += len(block)
            files.append(block, pairs, done, count)
            progress.update(len(block))
    return count


def judge(translation: str, finishes: Sequence[str]) -> str:
    """Return `kept`, or the reason why a translation is not used for training."""
    if not translation.strip():
        return "empty"
    bad = [finish for finish in finishes if finish in UNUSABLE]
    return bad[0] if bad else "kept"


if __name__ == "__main__":
    sys.exit(main())
