"""Writing of bundles: graphs, verification and manifest.

A bundle is written into a temporary folder beside its place, which is renamed once everything succeeded.
"""

import argparse
import json
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from export.alignment import AlignmentHead, choose_heads
from export.decoder import build_decoder
from export.encoder import build_encoder
from export.graph import GraphBuilder
from export.int8 import ActivationRange
from export.material import ExportOptions, Material, VocabularyFiles, material_of
from export.parallel import in_parallel, one_thread_an_operation
from export.quantize import calibrate
from export.scorer import build_scorer
from export.stand_ins import copied_kinds
from export.verify import (
    engine_translations,
    reference_translations,
    scored_pairs,
    verify,
    verify_scorer,
)
from export.weights import WEIGHTS, WeightsFile
from model.checkpoint import Checkpoint
from model.data.batches import batches_of
from model.search import Found
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from service.engine.runner import OnnxModelRunner
from service.engine.types import SpecialIds, StopRule
from service.models.bundle import (
    FORMAT_VERSION,
    GOLDEN,
    MANIFEST,
    Bundle,
    Graphs,
    Manifest,
    Precision,
    SpecialTokens,
    sha256,
)
from service.text.memory import Memory

logger = logging.getLogger(__name__)

SCORER, MEMORY = "scorer.int8.onnx", "memory.tsv"
MIN_ALIGNED = 0.5
"""Minimum share of the tokens common to a sentence and its translation that the chosen heads must align;
below it, attention is no usable word alignment."""
SPECIAL = SpecialIds(pad=PAD_ID, bos=BOS_ID, eos=EOS_ID)


def add_memory(parser: argparse.ArgumentParser) -> None:
    """Add the option for a translation memory to a command."""
    parser.add_argument(
        "--memory",
        type=Path,
        metavar="FILE",
        help="a translation memory: a table with tabs, whose first line has language codes",
    )


def write_bundle(
    checkpoint: Checkpoint, text: dict[str, list[str]], out: Path, options: ExportOptions
) -> Manifest:
    """Export, verify and publish a checkpoint; see `publish`.

    Args:
        checkpoint: weights, configuration and vocabulary.
        text: held-out lines by language, aligned; for calibration and verification.
        out: the bundle's folder.
        options: precisions, name and so on.

    Raises:
        VerificationError, FileExistsError: see `publish`.
    """
    return publish(partial(material_of, checkpoint, text, options), out, options)


def publish(
    make: Callable[[], Material],
    out: Path,
    options: ExportOptions,
    finish: Callable[[Path, Manifest], Manifest] = lambda _, manifest: manifest,
) -> Manifest:
    """Export, verify and publish a network as the folder `out`, replacing a bundle that is there.

    `finish` may change the complete bundle, and returns its manifest, before it takes its place.

    Nothing is written to `out` unless everything succeeds. The network is freed before the graphs are run, if
    only the result of `make` refers to it.

    Raises:
        VerificationError: a graph does not compute what the network computes.
        FileExistsError: `out` exists and is not a bundle.
    """
    with replacing(out) as folder, one_thread_an_operation():
        manifest = finish(folder, _write(make, folder, options))
        keep_documents(out, folder)
    return manifest


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Provide a temporary folder, which replaces the bundle `out` if the body succeeds.

    Yields:
        The folder to fill.

    Raises:
        FileExistsError: `out` exists and is not a bundle.
    """
    check_place(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        yield unfinished
        unfinished.chmod(0o755)
        if out.exists():
            shutil.rmtree(out)
        unfinished.rename(out)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def check_place(out: Path) -> None:
    """Check that a bundle may be written to `out`.

    Raises:
        FileExistsError: `out` exists and is not a bundle, or is a link.
        OSError: libraries cannot write there, as the path is not UTF-8.
    """
    if out.is_symlink():
        raise FileExistsError(f"{out} is a link, which a bundle cannot replace")
    if out.exists() and not (out / MANIFEST).is_file():
        raise FileExistsError(f"{out} exists and is not a bundle")
    try:
        str(out.absolute()).encode()
    except UnicodeEncodeError:
        raise OSError(f"{out}: is not UTF-8") from None


def _write(make: Callable[[], Material], folder: Path, options: ExportOptions) -> Manifest:
    material = make()
    network, held_out = material.network, material.pairs
    batches = islice(batches_of(held_out, batch_tokens=2048), options.calibration_batches)
    ranges = calibrate(network, batches)
    vocabulary = material.save_vocabulary(folder)
    rules = _copy_rules(options.like, folder) if options.like else dict(material.rules)
    memory = _copy_memory(options, folder)

    interval = max(1, len(held_out) // options.golden_sentences)
    pairs = held_out[::interval][: options.golden_sentences]
    sources = [pair.source.tolist() for pair in pairs]
    directions = [material.direction_of(pair) for pair in pairs]
    starts = [direction.start_tokens for direction in directions]
    reference = _references(material, sources, starts)
    _write_golden(
        folder / GOLDEN, sources, reference, [direction.target for direction in directions]
    )
    heads = _heads(material, options)
    scored = scored_pairs(network, heads, pairs) if heads else []

    graphs = _write_graphs(material, ranges, heads, folder, options.precisions)
    manifest_without_rules = _describe(material, graphs, vocabulary, folder, options)
    piece, has_text = material.pieces[1], material.has_text
    del material, network  # saves memory: the graphs are loaded next
    for precision, files in graphs.items():
        encoder, decoder = folder / files.encoder, folder / files.decoder
        hypotheses = engine_translations(encoder, decoder, SPECIAL, sources, starts)
        logger.info(verify(precision, reference, hypotheses, piece, has_text))
    if heads:
        runner = OnnxModelRunner(encoder, decoder, scorer=folder / SCORER)
        logger.info(verify_scorer(scored, runner))
    if "tokens" not in (stand_ins := rules.get("placeholders", {})):
        kinds = copied_kinds(Bundle(folder, manifest_without_rules), sources, SPECIAL)
        if kinds:
            rules["placeholders"] = {**stand_ins, "kinds": kinds}
    manifest = manifest_without_rules.model_copy(update={"rules": rules, "memory": memory})
    write_manifest(folder, manifest)
    return manifest


def _references(
    material: Material, sources: Sequence[list[int]], starts: Sequence[tuple[int, ...]]
) -> list[list[Found]]:
    """Return the reference search's n-best list of every source."""

    def search(source: list[int], start: tuple[int, ...]) -> list[Found]:
        return reference_translations(material.network, [source], material.suppressed, start)[0]

    found = in_parallel(search, sources, starts)
    return list(tqdm(found, "reference search", len(sources), unit="sentence"))


def _heads(material: Material, options: ExportOptions) -> list[AlignmentHead]:
    """Choose the heads that the scorer reads alignments from.

    Returns an empty list, so that no scorer is written, if no head aligns well and reranking cannot use one.
    """
    held_out = material.pairs
    aligned = held_out[:: max(1, len(held_out) // options.aligned_pairs)]
    heads, share = choose_heads(
        material.network, aligned, material.pieces, material.before, material.after
    )
    logger.info("%d heads align %.0f %% of shared tokens", len(heads), 100 * share)
    if share >= MIN_ALIGNED or material.has_opposites:
        return heads
    logger.warning("no head aligns well enough: words are aligned by word order")
    return []


def _describe(
    material: Material,
    graphs: dict[Precision, Graphs],
    vocabulary: VocabularyFiles,
    folder: Path,
    options: ExportOptions,
) -> Manifest:
    """Return the manifest for the files in `folder`."""
    network = material.network
    return Manifest(
        format_version=FORMAT_VERSION,
        name=options.name,
        directions=material.directions,
        vocabulary=vocabulary.source,
        target_vocabulary=vocabulary.target,
        pieces=vocabulary.pieces,
        target_pieces=vocabulary.target_pieces,
        moses=material.moses,
        vocab_size=network.config.vocab_size,
        special_tokens=SpecialTokens(
            pad=PAD_ID, unk=UNK_ID, bos=BOS_ID, eos=EOS_ID, ends_source=material.ends_source
        ),
        limits=material.limits,
        decoding=material.decoding,
        graphs=graphs,
        scorer=SCORER if (folder / SCORER).exists() else None,
        weights=WEIGHTS,
        files={
            path.relative_to(folder).as_posix(): sha256(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
        provenance=material.provenance,
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `manifest.json` atomically."""
    unfinished = folder / f".{MANIFEST}.partial"
    unfinished.write_text(
        manifest.model_dump_json(indent=2, exclude_none=True) + "\n", encoding="utf-8"
    )
    unfinished.rename(folder / MANIFEST)


def _write_graphs(
    material: Material,
    ranges: dict[str, ActivationRange],
    heads: Sequence[AlignmentHead],
    folder: Path,
    precisions: Sequence[Precision],
) -> dict[Precision, Graphs]:
    """Write the graphs of each precision, and the scorer if there are `heads`."""
    file, sizes = WeightsFile(folder), material.network.config
    weights = {name: tensor.numpy() for name, tensor in material.network.state_dict().items()}
    narrowing = material.decoding.stop_rule is StopRule.NARROW

    def builder(precision: Precision, prefix: str = "") -> GraphBuilder:
        return GraphBuilder(precision, weights, ranges, prefix, file)

    graphs = {}
    for precision in precisions:
        graphs[precision] = graph_files(precision)
        file.save(build_encoder(builder(precision), sizes), graphs[precision].encoder)
        decoder = build_decoder(
            builder(precision),
            builder(precision, "step."),
            sizes,
            material.suppressed,
            narrowing=narrowing,
        )
        file.save(decoder, graphs[precision].decoder)
    if heads:
        file.save(build_scorer(builder("int8"), sizes, heads), SCORER)
    return graphs


def graph_files(precision: Precision) -> Graphs:
    """Return the names of a precision's graph files."""
    return Graphs(encoder=f"encoder.{precision}.onnx", decoder=f"decoder.{precision}.onnx")


def _write_golden(
    path: Path,
    sources: Sequence[list[int]],
    reference: Sequence[list[Found]],
    targets: Sequence[str],
) -> None:
    """Write the golden sentences: the best translations of the reference search.

    Translations that were cut off are left out; if all were, no file is written.
    """
    lines = [
        {
            "source_ids": source,
            "ids": hypotheses[0].ids,
            "score": round(hypotheses[0].score, 4),
            "target": target,
        }
        for source, hypotheses, target in zip(sources, reference, targets, strict=True)
        if hypotheses[0].ended
    ]
    if lines:
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def _copy_rules(like: Bundle, folder: Path) -> dict[str, dict[str, Any]]:
    """Return another bundle's rules, and copy their tables into a folder."""
    rules = {}
    for name, parameters in like.manifest.rules.items():
        rules[name] = dict(parameters)
        if table := parameters.get("table"):
            (folder / table).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(like.folder / table, folder / table)
    return rules


def _copy_memory(options: ExportOptions, folder: Path) -> str | None:
    """Copy the translation memory, if there is one, into a folder; return its name there.

    Raises:
        BundleError: the table is invalid.
    """
    if options.memory:
        table, name = options.memory, MEMORY
        Memory.read(table, "", "")
    elif options.like and options.like.manifest.memory:
        name = options.like.manifest.memory
        table = options.like.folder / name
    else:
        return None
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(table, folder / name)
    return name


def keep_documents(old: Path, new: Path) -> None:
    """Copy a bundle's Markdown documents into the folder of its next version; `old` need not exist."""
    for document in old.glob("*.md"):
        shutil.copy2(document, new / document.name)
