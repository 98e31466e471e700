"""`python -m export.evaluate URL --data DIR`: BLEU and chrF of a running service, in all its directions.

With `--record BUNDLE`, the scores are written to the bundle's manifest, with sacreBLEU's signature.
With `--out FOLDER`, the translations are kept for other metrics.
With `--report`, more is measured: numbers, placeholders, length, invented words, unusual case and quotes.
With `--set`, every request has further fields, such as `length_penalty=1.2`.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import sacrebleu
from tqdm import tqdm

from export.bundle_writer import write_manifest
from export.client import ServiceError, fetch
from export.report import report, words_of
from model.data.text import DataError, read_aligned
from service.errors import BundleError
from service.models import bundle

LINES_A_REQUEST = 100
OnDirection = Callable[[str, str, Sequence[str], Sequence[str], Sequence[str]], None]
"""Told source and target, and the lines, their translations and the references."""


def translate(
    url: str,
    lines: Sequence[str],
    source: str,
    target: str,
    fields: Mapping[str, Any] | None = None,
) -> list[str]:
    """Translations of `lines` in their order; `fields` are what each request says beside its text."""
    translated: list[str] = []
    for start in tqdm(
        range(0, len(lines), LINES_A_REQUEST), desc=f"{source}-{target}", unit="request"
    ):
        chunk = list(lines[start : start + LINES_A_REQUEST])
        body = {**(fields or {}), "q": chunk, "source": source, "target": target}
        translated += fetch(f"{url}/translate", body)["translatedText"]
    return translated


def evaluate(
    url: str,
    data: Path,
    split: str,
    lowercase: bool = False,
    out: Path | None = None,
    on_direction: OnDirection | None = None,
    fields: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """By direction: BLEU and chrF with their signatures, sacreBLEU's defaults but for `lowercase`.

    The translations are kept in the folder `out`, if there is one, as `<split>.<source>-<target>.<target>`;
    `on_direction` is told of them. `fields` are what each request says beside its text.
    """
    if out:
        out.mkdir(parents=True, exist_ok=True)
    figures = {}
    for language in fetch(f"{url}/languages"):
        for target in language["targets"]:
            source = language["code"]
            text = read_aligned(data, split, (source, target))
            hypotheses = translate(url, text[source], source, target, fields)
            if out:
                lines = "".join(f"{line}\n" for line in hypotheses)
                (out / f"{split}.{source}-{target}.{target}").write_text(lines, "utf-8")
            described = []
            for metric in (
                sacrebleu.BLEU(lowercase=lowercase),
                sacrebleu.CHRF(lowercase=lowercase),
            ):
                score = metric.corpus_score(hypotheses, [text[target]])
                described.append(f"{score.name} {score.score:.2f} ({metric.get_signature()})")
            figures[f"{source}-{target}"] = (
                f"{split}, {len(hypotheses)} lines: {', '.join(described)}"
            )
            if on_direction:
                on_direction(source, target, text[source], hypotheses, text[target])
    return figures


def record(folder: Path, figures: dict[str, str]) -> None:
    """Write the figures into a bundle's manifest."""
    manifest = bundle.load(folder).manifest
    provenance = manifest.provenance.model_copy(update={"bleu": figures})
    write_manifest(folder, manifest.model_copy(update={"provenance": provenance}))


class Reports:
    """Makes a report of each direction."""

    def __init__(
        self, url: str, data: Path, words: Sequence[Path], fields: Mapping[str, Any]
    ) -> None:
        """Words are known from the training text in the folder, if any, and from the files `words`."""
        self._url, self._data, self._words, self._fields = url, data, words, fields
        self.by_direction: dict[str, str] = {}

    def __call__(
        self,
        source: str,
        target: str,
        lines: Sequence[str],
        translated: Sequence[str],
        references: Sequence[str],
    ) -> None:
        """Take in a direction.

        Raises:
            ServiceError, DataError: the service refuses, a file cannot be read.
        """
        trained_on = (self._data.glob(name) for name in (f"train.{target}", f"train.*.{target}"))
        known = words_of([*chain.from_iterable(trained_on), *self._words])
        ask = partial(translate, self._url, source=source, target=target, fields=self._fields)
        found = report(ask, lines, translated, references, known)
        self.by_direction[f"{source}-{target}"] = str(found)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(prog="attendant evaluate", description=__doc__)
    parser.add_argument("url", help="URL of the service, for example http://127.0.0.1:8000")
    parser.add_argument("--data", type=Path, required=True, help="folder with SPLIT.<code> files")
    parser.add_argument("--split", default="test", help="name of the split (default test)")
    parser.add_argument("--lowercase", action="store_true", help="ignore case")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write the translations there")
    parser.add_argument(
        "--record", type=Path, metavar="BUNDLE", help="write the scores to its manifest"
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="measure more than BLEU and chrF; takes five times as long",
    )
    parser.add_argument(
        "--words",
        type=Path,
        nargs="+",
        default=(),
        metavar="FILE",
        help="text files of known words, beside the training text in the folder",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_field,
        metavar="FIELD=VALUE",
        help="a field of every request, for example length_penalty=1.2; repeat it for more",
    )
    options = parser.parse_args(arguments)
    if options.set and options.record:
        parser.error("--record is for the bundle's own search: it does not go with --set")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Evaluate; returns the exit status."""
    options = _parse(arguments)
    fields = dict(options.set)
    try:
        url = options.url.rstrip("/")
        reports = Reports(url, options.data, options.words, fields)
        figures = evaluate(
            url,
            options.data,
            options.split,
            options.lowercase,
            options.out,
            reports if options.report else None,
            fields,
        )
        for direction, line in figures.items():
            print(f"{direction}: {line}")
            if options.report:
                print(reports.by_direction[direction])
        if options.record:
            record(options.record, figures)
    except (ServiceError, DataError, BundleError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _field(text: str) -> tuple[str, Any]:
    """`length_penalty=1.2`: a name and a value as in JSON; what is none is a string."""
    name, is_given, value = text.partition("=")
    if not is_given:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form FIELD=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


if __name__ == "__main__":
    sys.exit(main())
