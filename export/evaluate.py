"""`attendant evaluate URL --data DIR`: BLEU and chrF of a running service, in all its directions.

`--record BUNDLE` writes the scores to the bundle's manifest, with sacreBLEU's signature.
`--out FOLDER` saves the translations for other metrics.
`--report` also measures numbers, placeholders, length, invented words, unusual case and quotes.
`--set` adds fields such as `length_penalty=1.2` to every request.
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
from export.client import ServiceError, languages, translations
from export.report import report, words_of
from model.data.text import DataError, read_aligned
from service.errors import BundleError
from service.models import bundle

LINES_A_REQUEST = 100
OnDirection = Callable[[str, str, Sequence[str], Sequence[str], Sequence[str]], None]
"""Called with source and target language, the lines, their translations and the references."""


def translate(
    url: str,
    lines: Sequence[str],
    source: str,
    target: str,
    fields: Mapping[str, Any] | None = None,
) -> list[str]:
    """Translate `lines`, and return the translations in order; `fields` are added to each request.

    Raises:
        ServiceError: a request failed.
    """
    translated: list[str] = []
    for start in tqdm(
        range(0, len(lines), LINES_A_REQUEST), desc=f"{source}-{target}", unit="request"
    ):
        chunk = list(lines[start : start + LINES_A_REQUEST])
        body = {**(fields or {}), "q": chunk, "source": source, "target": target}
        translated += translations(url, body).translatedText
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
    """Measure BLEU and chrF of a running service in all its directions.

    Args:
        url: the service's URL.
        data: folder with the aligned texts `<split>.<code>`.
        split: name of the test set.
        lowercase: ignore case; everything else is sacreBLEU's default.
        out: folder for the translations, saved as `<split>.<source>-<target>.<target>`.
        on_direction: called after each direction.
        fields: fields of every request besides the text and the languages.

    Returns:
        A line with the scores and their signatures for each direction.

    Raises:
        ServiceError, DataError: a request failed, or a text cannot be read or is not aligned.
    """
    if out:
        out.mkdir(parents=True, exist_ok=True)
    figures = {}
    for language in languages(url):
        for target in language.targets:
            source = language.code
            text = read_aligned(data, split, (source, target))
            hypotheses = translate(url, text[source], source, target, fields)
            if out:
                lines = "".join(f"{line}\n" for line in hypotheses)
                (out / f"{split}.{source}-{target}.{target}").write_text(lines, "utf-8")
            scores = []
            for metric in (
                sacrebleu.BLEU(lowercase=lowercase),
                sacrebleu.CHRF(lowercase=lowercase),
            ):
                score = metric.corpus_score(hypotheses, [text[target]])
                scores.append(f"{score.name} {score.score:.2f} ({metric.get_signature()})")
            figures[f"{source}-{target}"] = f"{split}, {len(hypotheses)} lines: {', '.join(scores)}"
            if on_direction:
                on_direction(source, target, text[source], hypotheses, text[target])
    return figures


def record(folder: Path, figures: dict[str, str]) -> None:
    """Write figures by direction to a bundle's manifest."""
    manifest = bundle.load(folder).manifest
    provenance = manifest.provenance.model_copy(update={"bleu": figures})
    write_manifest(folder, manifest.model_copy(update={"provenance": provenance}))


class Reports:
    """An `OnDirection` that makes a report of each direction."""

    def __init__(
        self, url: str, data: Path, words: Sequence[Path], fields: Mapping[str, Any]
    ) -> None:
        """Take the known words from the training text in `data`, if any, and from the files `words`."""
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
        """Report on a direction.

        Raises:
            ServiceError: a request failed.
            DataError: a file cannot be read.
        """
        trained_on = (self._data.glob(name) for name in (f"train.{target}", f"train.*.{target}"))
        known = words_of([*chain.from_iterable(trained_on), *self._words])
        ask = partial(translate, self._url, source=source, target=target, fields=self._fields)
        result = report(ask, lines, translated, references, known)
        self.by_direction[f"{source}-{target}"] = str(result)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line's options."""
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
        help="text files with known words, in addition to the training text in the folder",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_field,
        metavar="FIELD=VALUE",
        help="a field of every request, for example length_penalty=1.2; may be repeated",
    )
    options = parser.parse_args(arguments)
    if options.set and options.record:
        parser.error(
            "--record cannot be used with --set: it records scores of the bundle's defaults"
        )
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the command, and return the exit status."""
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
    """Parse `length_penalty=1.2`: a name and a JSON value; a value that is not valid JSON is a string."""
    name, is_given, value = text.partition("=")
    if not is_given:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form FIELD=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


if __name__ == "__main__":
    sys.exit(main())
