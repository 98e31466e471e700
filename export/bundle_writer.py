"""Checkpoint to bundle: graphs, proof, manifest, in a folder beside its place that is renamed at the end."""

import json
import logging
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from tqdm import tqdm

from export.alignment import choose_heads
from export.decoder import build_decoder
from export.encoder import build_encoder
from export.graph import ActivationRange, GraphBuilder
from export.quantize import calibrate
from export.scorer import build_scorer
from export.verify import (
    engine_translations,
    reference_translations,
    verify,
    verify_scorer,
)
from model.checkpoint import Checkpoint
from model.data.batches import batches_of
from model.data.corpus import encode_pairs
from model.evaluate import suppressed_ids
from model.search import Found
from model.tokenizer import BOS_ID, EOS_ID, FILE_NAME, PAD_ID, TARGET_FILE_NAME, UNK_ID
from service.bundle import (
    FORMAT_VERSION,
    GOLDEN,
    MANIFEST,
    Bundle,
    DecodingDefaults,
    Direction,
    Graphs,
    Limits,
    Manifest,
    Precision,
    Provenance,
    SpecialTokens,
    sha256,
)
from service.engine.runner import OnnxModelRunner
from service.engine.types import SpecialIds

logger = logging.getLogger(__name__)

SCORER = "scorer.int8.onnx"
SPECIAL = SpecialIds(pad=PAD_ID, bos=BOS_ID, eos=EOS_ID)


@dataclass(frozen=True)
class ExportOptions:
    """What to make of a checkpoint."""

    name: str
    precisions: tuple[Precision, ...] = ("int8", "fp16")
    licences: tuple[str, ...] = ()
    calibration_batches: int = 40
    """Batches of held-out text whose activations set the int8 scales."""
    golden_sentences: int = 40
    """Held-out sentences that the reference search translates for the proof."""
    aligned_pairs: int = 400
    """Held-out pairs by which the heads that align are chosen."""
    like: Bundle | None = None
    """A bundle whose decoding defaults and rules are taken over."""


def write_bundle(
    checkpoint: Checkpoint, text: dict[str, list[str]], out: Path, options: ExportOptions
) -> Manifest:
    """Export, verify and publish a checkpoint as the folder `out`, replacing a bundle that is there.

    Args:
        checkpoint: weights, configuration and vocabulary.
        text: held-out lines by language, aligned; for calibration and proof.
        out: the bundle's folder; nothing is written to it unless all went well.
        options: precisions, name and so on.

    Raises:
        VerificationError: a graph does not compute what the network does.
        FileExistsError: `out` is there and is no bundle.
    """
    if out.exists() and not (out / MANIFEST).is_file():
        raise FileExistsError(f"{out} exists and is not a bundle")
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        manifest = _write(checkpoint, text, partial, options)
        partial.chmod(0o755)
        if out.exists():
            _keep_documents(out, partial)
            shutil.rmtree(out)
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return manifest


def _write(
    checkpoint: Checkpoint, text: dict[str, list[str]], folder: Path, options: ExportOptions
) -> Manifest:
    config, vocabularies = checkpoint.config, checkpoint.vocabularies
    network = checkpoint.network()
    suppressed = suppressed_ids(vocabularies, config)
    held_out = encode_pairs(text, config.data, vocabularies)
    batches = islice(batches_of(held_out, batch_tokens=2048), options.calibration_batches)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    ranges = calibrate(network, batches)
    vocabularies.save(folder)
    rules = _copy_tables(options.like, folder) if options.like else {}

    every = max(1, len(held_out) // options.golden_sentences)
    pairs = held_out[::every][: options.golden_sentences]
    sources = [pair.source.tolist() for pair in pairs]
    reference = []
    for source in tqdm(sources, desc="reference search", unit="sentence"):
        reference += reference_translations(network, [source], suppressed)
    targets = {direction.split("-")[1] for direction in config.data.directions}
    languages = {vocabularies.source.tag_id(target): target for target in targets}
    _write_golden(folder / GOLDEN, sources, reference, languages)

    graphs: dict[Precision, Graphs] = {}
    for precision in options.precisions:
        graphs[precision] = _write_graphs(
            checkpoint, weights, ranges, suppressed, folder, precision
        )
        encoder, decoder = folder / graphs[precision].encoder, folder / graphs[precision].decoder
        logger.info(
            verify(precision, reference, engine_translations(encoder, decoder, SPECIAL, sources))
        )

    aligned = held_out[:: max(1, len(held_out) // options.aligned_pairs)]
    heads, share = choose_heads(network, aligned, vocabularies)
    logger.info("%d heads align %.0f %% of shared tokens", len(heads), 100 * share)
    scorer = build_scorer(GraphBuilder("int8", weights, ranges), config.model, heads)
    onnx.save(scorer, folder / SCORER)
    runner = OnnxModelRunner(encoder, decoder, scorer=folder / SCORER)
    logger.info(verify_scorer(network, heads, runner, pairs))

    decoding = options.like.manifest.decoding if options.like else DecodingDefaults()
    described = _describe(checkpoint, graphs, folder, decoding, options)
    manifest = described.model_copy(update={"rules": rules})
    write_manifest(folder, manifest)
    return manifest


def _describe(
    checkpoint: Checkpoint,
    graphs: dict[Precision, Graphs],
    folder: Path,
    decoding: DecodingDefaults,
    options: ExportOptions,
) -> Manifest:
    """The manifest of the files that are in `folder`."""
    config = checkpoint.config
    return Manifest(
        format_version=FORMAT_VERSION,
        name=options.name,
        directions=[
            Direction(
                source=source, target=target, tag=checkpoint.vocabularies.source.tag_id(target)
            )
            for source, target in (direction.split("-") for direction in config.data.directions)
        ],
        vocabulary=FILE_NAME,
        target_vocabulary=None if checkpoint.vocabularies.is_joint else TARGET_FILE_NAME,
        vocab_size=config.model.vocab_size,
        special_tokens=SpecialTokens(pad=PAD_ID, unk=UNK_ID, bos=BOS_ID, eos=EOS_ID),
        limits=Limits(
            max_source_length=config.model.max_positions // 2,
            max_target_length=config.model.max_positions,
        ),
        decoding=decoding,
        graphs=graphs,
        scorer=SCORER,
        files={path.name: sha256(path) for path in sorted(folder.iterdir())},
        provenance=Provenance(
            config=config.to_mapping(),
            step=checkpoint.step,
            parameters=sum(tensor.numel() for tensor in checkpoint.weights.values()),
            licences=list(options.licences),
        ),
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `manifest.json`, whole or not at all."""
    partial = folder / f".{MANIFEST}.partial"
    partial.write_text(
        manifest.model_dump_json(indent=2, exclude_none=True) + "\n", encoding="utf-8"
    )
    partial.rename(folder / MANIFEST)


def _write_graphs(
    checkpoint: Checkpoint,
    weights: dict[str, np.ndarray],
    ranges: dict[str, ActivationRange],
    suppressed: tuple[int, ...],
    folder: Path,
    precision: Precision,
) -> Graphs:
    def builder(prefix: str = "") -> GraphBuilder:
        return GraphBuilder(precision, weights, ranges, prefix)

    sizes = checkpoint.config.model
    graphs = Graphs(encoder=f"encoder.{precision}.onnx", decoder=f"decoder.{precision}.onnx")
    onnx.save(build_encoder(builder(), sizes), folder / graphs.encoder)
    onnx.save(
        build_decoder(builder(), builder("step."), sizes, suppressed), folder / graphs.decoder
    )
    return graphs


def _write_golden(
    path: Path,
    sources: Sequence[list[int]],
    reference: Sequence[list[Found]],
    languages: Mapping[int, str],
) -> None:
    """What the reference search found, for whoever checks the bundle again; `languages` are by tag."""
    with path.open("w", encoding="utf-8") as file:
        for source, found in zip(sources, reference, strict=True):
            line = {"source_ids": source, "ids": found[0].ids, "score": round(found[0].score, 4)}
            line["target"] = languages[source[0]]
            file.write(json.dumps(line) + "\n")


def _copy_tables(like: Bundle, folder: Path) -> dict[str, dict[str, Any]]:
    """The tables of another bundle's rules; returns the rules with the new files' names."""
    rules = {}
    for name, parameters in like.manifest.rules.items():
        rules[name] = dict(parameters)
        if table := parameters.get("table"):
            rules[name]["table"] = f"{name}.tsv"
            shutil.copy2(like.folder / table, folder / f"{name}.tsv")
    return rules


def _keep_documents(old: Path, new: Path) -> None:
    """A bundle's own documents outlive its next version."""
    for document in old.glob("*.md"):
        shutil.copy2(document, new / document.name)
