"""`python -m export.synthesize BUNDLE LINES --source en --target de --name back --out DATA`: text by a model.

Writes the corpus `train.<name>.<code>` of both languages, to train on beside what people wrote:

- back-translation (Sennrich et al., 2016): LINES are text in the language to be translated into; train on it
  with `data.corpora.<name>.directions` from the language made here to that of LINES;
- sequence-level distillation (Kim and Rush, 2016): LINES are the training text's source and BUNDLE is of a
  larger network; train on it in the same direction.

The same command again goes on where it was interrupted.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from model.data.text import DataError, iterate_lines
from service.bundle import load
from service.errors import AttendantError
from service.metrics import Metrics
from service.model_set import ModelSet
from service.searcher import Finish
from service.serving import start_model
from service.settings import Settings
from service.translation import Translation, TranslationOptions

LINES_AT_ONCE = 500
UNUSABLE: tuple[Finish, ...] = ("length", "repetition", "copied")
SECONDS = 3600.0
"""In which so many lines must be done."""


def main(arguments: list[str] | None = None) -> int:
    """Translate; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m export.synthesize",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("lines", type=Path, help="text, one sentence a line")
    parser.add_argument("--source", required=True, help="language of LINES")
    parser.add_argument("--target", required=True, help="language to be made")
    parser.add_argument("--name", required=True, help="of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="the data folder")
    parser.add_argument("--beam-size", type=int, help="default: the bundle's")
    options = parser.parse_args(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        settings = Settings(max_waiting=10**6, max_waiting_tokens=10**9)
        model = start_model(load(options.bundle), settings, Metrics())
        try:
            how = replace(TranslationOptions(), beam_size=options.beam_size)
            models = ModelSet([model], max_characters=10**9)
            files = Files(options.out, options.name, options.source, options.target)
            count = synthesize(models, options.lines, files, how)
        finally:
            model.engine.close()
    except (AttendantError, DataError, OSError) as error:
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

    def resume(self) -> tuple[int, Counter[str]]:
        """Lines that are done, and what became of them; whatever was written after is cut off."""
        done: dict[str, Any] = {"lines": 0, "sizes": [0, 0], "count": {}}
        if self._progress.exists():
            done = json.loads(self._progress.read_text(encoding="utf-8"))
        for path, size in zip((self.source, self.target), done["sizes"], strict=True):
            with path.open("ab") as file:
                file.truncate(size)
        return done["lines"], Counter(done["count"])

    def append(
        self, pairs: Sequence[tuple[str, str]], lines: int, count: Mapping[str, int]
    ) -> None:
        """Add pairs; `lines` and `count` are those so far."""
        for path, side in ((self.source, 0), (self.target, 1)):
            with path.open("a", encoding="utf-8") as file:
                file.writelines(f"{pair[side]}\n" for pair in pairs)
        sizes = [self.source.stat().st_size, self.target.stat().st_size]
        partial = self._progress.with_suffix(".partial")
        partial.write_text(json.dumps({"lines": lines, "sizes": sizes, "count": count}))
        partial.rename(self._progress)


def synthesize(
    models: ModelSet, text: Path, files: Files, options: TranslationOptions
) -> Counter[str]:
    """Translate every line that is not done yet; returns how many pairs were kept, or dropped and why."""
    total = sum(1 for _ in iterate_lines(text))
    done, count = files.resume()
    lines = (line for line, _ in islice(iterate_lines(text), done, None))
    with tqdm(total=total, initial=done, unit="line") as progress:
        while chunk := list(islice(lines, LINES_AT_ONCE)):
            work = models.translate(chunk, *files.codes, options, SECONDS)
            pairs = []
            for line, translation in zip(chunk, asyncio.run(work), strict=True):
                outcome = judge(translation)
                count[outcome] += 1
                if outcome == "kept":
                    pairs.append((line, translation.text))
            done += len(chunk)
            files.append(pairs, done, count)
            progress.update(len(chunk))
    return count


def judge(translation: Translation) -> str:
    """`kept`, or why it would teach nothing good: a search that ran away, or found nothing."""
    if not translation.text.strip():
        return "empty"
    bad = [one.finish for one in translation.sentences if one.finish in UNUSABLE]
    return bad[0] if bad else "kept"


if __name__ == "__main__":
    sys.exit(main())
