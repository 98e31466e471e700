"""`python -m export.candidates URL --data DATA --source en --target de`: candidates for risk training.

A running service returns its five best translations of every line of `train.<source>` (with `--corpus hard`,
of `train.hard.<source>`). Each is scored against the reference and written to
`candidates.<source>-<target>.jsonl` (`candidates.hard.…`), which `training.risk` uses. Serve the model that
will be trained, so that it learns from its own mistakes.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sacrebleu
from tqdm import tqdm

from export.client import ServiceError, Translation, translate_lines
from model.data.candidates import COUNT
from model.data.text import DataError, check_aligned, read_lines, written_whole

MIN_RANGE = 0.06
"""Minimum difference between the best and the worst gain of a list: equally good candidates teach nothing."""
MIN_CHRF = 25.0
"""Minimum chrF of a list's best candidate: below it, the reference is probably no translation of the line, or
the model does not know the words."""
MAX_CHARACTERS = 110
"""Maximum length of a candidate: candidates for long sentences differ little, and cost much."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m export.candidates",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("url", help="URL of the service, for example http://127.0.0.1:8000")
    parser.add_argument("--data", type=Path, required=True, help="the data folder")
    parser.add_argument(
        "--corpus",
        help="name of the corpus, for example hard for train.hard.<code>; default: train.<code>",
    )
    parser.add_argument("--source", required=True, help="language to translate from")
    parser.add_argument("--target", required=True, help="language to translate into")
    options = parser.parse_args(arguments)
    corpus = f"{options.corpus}." if options.corpus else ""
    texts = [options.data / f"train.{corpus}{code}" for code in (options.source, options.target)]
    name = f"candidates.{corpus}{options.source}-{options.target}.jsonl"
    request = {"source": options.source, "target": options.target}
    try:
        count = find(options.url.rstrip("/"), texts, options.data / name, request)
    except (ServiceError, DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    dropped = ", ".join(
        f"{number:,} {outcome}" for outcome, number in count.most_common() if outcome != "kept"
    )
    print(f"{options.data / name}: {count['kept']:,} lists; dropped: {dropped or 'none'}")
    return 0


def find(url: str, texts: Sequence[Path], out: Path, request: dict[str, Any]) -> Counter[str]:
    """Translate the first of two aligned texts, score the candidates against the second, and write them.

    Returns:
        The number of lines by outcome, as `compare` names it.
    """
    lines, references = (read_lines(path) for path in texts)
    check_aligned({path: len(side) for path, side in zip(texts, (lines, references), strict=True)})
    request = {**request, "beam_size": COUNT, "alternatives": COUNT - 1, "rerank": False}
    count: Counter[str] = Counter()
    remaining = iter(references)
    with (
        written_whole([out]) as [file],
        tqdm(total=len(lines), unit="line") as progress,
    ):
        for block, translations in translate_lines(url, request, lines):
            for line, translation in zip(block, translations, strict=True):
                outcome, gains = compare(translation, next(remaining))
                count[outcome] += 1
                if outcome == "kept":
                    row = {"source": line, "candidates": translation.candidates, "gains": gains}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            progress.update(len(block))
    return count


def compare(translation: Translation, reference: str) -> tuple[str, list[float]]:
    """Score the candidates for a line against its reference.

    Returns:
        `kept`, or the reason why the list is not used; and each candidate's gain, the mean of BLEU and chrF,
        from 0 to 1. The gains are empty if the list was rejected before scoring.
    """
    candidates = translation.candidates
    if len(translation.finishes) != 1 or len(set(candidates)) < COUNT:
        return "several sentences, or too few candidates", []
    if max(map(len, candidates)) > MAX_CHARACTERS:
        return "long", []
    chrf = [sacrebleu.sentence_chrf(candidate, [reference]).score for candidate in candidates]
    bleu = [sacrebleu.sentence_bleu(candidate, [reference]).score for candidate in candidates]
    gains = [
        round((chrf_score + bleu_score) / 200, 4)
        for chrf_score, bleu_score in zip(chrf, bleu, strict=True)
    ]
    if max(chrf) < MIN_CHRF:
        return "far from the reference", gains
    if max(gains) - min(gains) < MIN_RANGE:
        return "alike", gains
    return "kept", gains


if __name__ == "__main__":
    sys.exit(main())
