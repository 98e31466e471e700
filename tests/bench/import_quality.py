"""`python -m tests.bench.import_quality --data DIR`: measure the quality loss of int8 for imported models.

The bundled model is written in the layout of each format, imported in fp32 and int8 with the default
calibration, and translates `DIR/SPLIT.de`. Prints BLEU and chrF against `DIR/SPLIT.en` and the chrF of int8
translations against those in fp32, also for CTranslate2 itself.
"""

import argparse
import logging
import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest import mock

import ctranslate2
import onnxruntime
import sacrebleu
from sentencepiece import SentencePieceProcessor

from export.importers.conversion import import_model
from export.material import ExportOptions
from export.verify import TOLERANCES_WITHOUT_TEXT, Tolerance
from model import bundle
from model.data.corpus import encode_pairs
from model.data.text import read_aligned
from service import Translator
from service.models.bundle import DEFAULT_BUNDLE, Precision
from tests.bench import report
from tests.bench.import_layouts import FOLDER, LAYOUTS, SOURCE, TARGET, Trained
from tests.bench.measure import Row

BEAM_SIZE, LENGTH_PENALTY = 4, 1.0
PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")
SPREAD_PAIRS = 100
"""Pairs of the text that are used for the conversion to post-norm."""
EXACT = "int8, exact sums"


def translated(folder: Path, precision: Precision, texts: Sequence[str]) -> list[str]:
    """Translate whole lines, each as a single sentence."""
    with Translator.load(folder, device="cpu", precision=precision) as translator:
        translations = translator.translate(
            texts, source=SOURCE, target=TARGET, beam_size=BEAM_SIZE, splitting="none"
        )
    return [translation.text for translation in translations]


def by_ctranslate2(folder: Path, texts: Sequence[str]) -> dict[str, list[str]]:
    """Translate with CTranslate2 from its own folder, by precision."""
    tokenizer = SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    pieces = tokenizer.encode(list(texts), out_type=str)
    texts_by_precision = {}
    for precision, compute_type in (("fp32", "float32"), ("int8", "int8")):
        peer = ctranslate2.Translator(str(folder), compute_type=compute_type)
        results = peer.translate_batch(
            pieces, beam_size=BEAM_SIZE, length_penalty=LENGTH_PENALTY, max_batch_size=16
        )
        texts_by_precision[precision] = tokenizer.decode(
            [result.hypotheses[0] for result in results]
        )
    return texts_by_precision


@contextmanager
def exact_sums() -> Iterator[None]:
    """Make ONNX Runtime multiply as with VNNI: slower, but no sum of two products saturates."""

    def options() -> onnxruntime.SessionOptions:
        session_options = plain()
        session_options.add_session_config_entry("session.x64quantprecision", "1")
        return session_options

    plain = onnxruntime.SessionOptions
    with mock.patch.object(onnxruntime, "SessionOptions", options):
        yield


def row(name: str, translations: dict[str, list[str]], references: Sequence[str]) -> Row:
    """Return the scores against the references, and those of int8 against fp32."""
    chrf, bleu = sacrebleu.corpus_chrf, sacrebleu.corpus_bleu
    scores: Row = {"format": name}
    for metric, score in (("BLEU", bleu), ("chrF", chrf)):
        for kind, lines in translations.items():
            scores[f"{metric}, {kind}"] = round(score(lines, [references]).score, 2)
    for kind, lines in translations.items():
        if kind != "fp32":
            scores[f"chrF, {kind} against fp32"] = round(
                chrf(lines, [translations["fp32"]]).score, 1
            )
    return scores


def main() -> None:
    """Import, translate and print."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.import_quality", description=__doc__
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with SPLIT.de and SPLIT.en"
    )
    parser.add_argument("--split", default="test", help="comma-separated (default test)")
    parser.add_argument(
        "--lines", type=int, default=500, help="of all splits together (default 500)"
    )
    parser.add_argument(
        "--formats", default=",".join(LAYOUTS), help="comma-separated (default all)"
    )
    options = parser.parse_args()
    if unknown := set(options.formats.split(",")) - LAYOUTS.keys():
        parser.error(f"--formats: {min(unknown)} must be one of {', '.join(LAYOUTS)}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    text: dict[str, list[str]] = {SOURCE: [], TARGET: []}
    for split in options.split.split(","):
        for code, lines in read_aligned(options.data, split, (SOURCE, TARGET)).items():
            text[code] = [*text[code], *lines][: options.lines]
    checkpoint = bundle.load(DEFAULT_BUNDLE)
    sample = {code: lines[:SPREAD_PAIRS] for code, lines in text.items()}
    trained = Trained.of(
        checkpoint, encode_pairs(sample, checkpoint.config.data, checkpoint.vocabularies)
    )
    # the loss of int8 is measured here and must not stop the import
    TOLERANCES_WITHOUT_TEXT["int8"] = Tolerance(math.inf, chrf=0.0)
    rows = []
    for name in options.formats.split(","):
        with tempfile.TemporaryDirectory() as temporary:
            source, out = LAYOUTS[name](Path(temporary, FOLDER), trained), Path(temporary, "bundle")
            export_options = ExportOptions(name, PRECISIONS, golden_sentences=8)
            import_model(source, out, export_options, [SOURCE], [TARGET])
            translate = partial(translated, out, texts=text[SOURCE])
            translations: dict[str, list[str]] = {
                precision: translate(precision) for precision in PRECISIONS
            }
            with exact_sums():
                translations[EXACT] = translate("int8")
            rows.append(row(name, translations, text[TARGET]))
            if name == "CTranslate2":
                rows.append(
                    row(f"{name} itself", by_ctranslate2(source, text[SOURCE]), text[TARGET])
                )
        logging.info(rows[-1])
    print(f"{len(text[SOURCE])} lines; {report.machine()}\n\n{report.table(rows)}")


if __name__ == "__main__":
    main()
