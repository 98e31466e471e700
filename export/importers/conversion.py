"""Conversion of a model in any format to a published bundle."""

import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from export.bundle_writer import check_place, publish
from export.importers.archive import unpacked
from export.importers.formats import format_of
from export.importers.held_out import drawn_sources, pairs_of, read_lines
from export.importers.imported import Imported, SourceError
from export.importers.languages import directions_of
from export.importers.proof import check_log_probs, check_texts, problem_with_language_tokens
from export.importers.rule_choice import CheckSet, read_check_sets, with_chosen_rules
from export.importers.vocabulary import save_vocabulary, tokenizers_of
from export.material import ExportOptions, Material
from model.network_config import ModelConfig
from model.tokenizer import PAD_ID
from model.transformer import PositionalEncoding, Transformer
from service.models.bundle import Direction, Limits, Manifest, Origin, Precision, Provenance, sha256

MAX_GRAPH_BYTES = 2_100_000_000
"""A little less than 2 GiB, the limit of a protocol buffer."""
logger = logging.getLogger("export")


def import_model(
    source: Path,
    out: Path,
    options: ExportOptions,
    source_languages: Sequence[str] = (),
    target_languages: Sequence[str] = (),
    data: Path | None = None,
    *,
    punctuation: bool | None = None,
    rules: Mapping[str, dict[str, Any]] | None = None,
    check: Path | None = None,
) -> Manifest:
    """Read a model of another project and publish it as a bundle; `out` is changed only if all succeeds.

    Args:
        source: the model's folder, or a zip archive around it.
        out: the bundle's folder.
        options: name, precisions, licences.
        source_languages: codes, if the model does not name them.
        target_languages: codes, if the model does not name them; or the ones to keep.
        data: text in the source language, for calibration.
        punctuation: whether to normalise punctuation as Moses does; by default, if the model's files do so.
        rules: further text rules for the manifest, with their parameters.
        check: a folder with aligned texts; rules that improve their translations are added.

    Raises:
        SourceError: the model cannot be imported, or its library computes something else.
        DataError: a text in `check` is unusable, or two texts are not aligned.
        VerificationError: a graph does not compute what the network computes.
        FileExistsError: `out` exists and is not a bundle.
    """
    check_place(out)
    texts = read_lines(data) if data else []
    with unpacked(source) as folder:
        model_format = format_of(folder)
        logger.info("%s has the format %s", source, model_format.name)

        check_sets: list[CheckSet] = []

        def make() -> Material:
            imported = model_format.read(folder)
            if punctuation is not None:
                imported = replace(imported, rules={"punctuation": {}} if punctuation else {})
            imported = replace(imported, rules={**imported.rules, **(rules or {})})
            check_sizes(imported.config, options.precisions)
            directions = directions_of(imported, source_languages, target_languages)
            if check is not None:
                check_sets.extend(read_check_sets(check, directions))
            provenance = _provenance(imported, source, options.licences)
            return _material(imported, directions, texts, provenance)

        def finish(unfinished: Path, manifest: Manifest) -> Manifest:
            excluded = ["punctuation"] if punctuation is False else []
            return (
                with_chosen_rules(unfinished, manifest, check_sets, excluded) if check else manifest
            )

        return publish(make, out, options, finish)


def check_sizes(config: ModelConfig, precisions: Sequence[Precision]) -> None:
    """Check that the decoder's graph fits into a file, in each of the precisions.

    Raises:
        SourceError: it is too large in one of them.
    """
    table = config.vocab_size * config.d_model
    layers = config.num_decoder_layers * (8 * config.d_model + 2 * config.d_ff) * config.d_model
    sizes = {
        "fp32": 4 * (2 * table + layers),
        "fp16": 2 * (2 * table + layers),
        "int8": 2 * table + table + layers,
    }
    fitting = [precision for precision, size in sizes.items() if size < MAX_GRAPH_BYTES]
    for precision in precisions:
        if precision not in fitting:
            raise SourceError(
                f"--precisions: in {precision}, the decoder's graph would have {sizes[precision] / 1e9:.1f} "
                f"GB, and an ONNX file has at most 2; supported: {', '.join(fitting) or 'none'}"
            )


def network_of(imported: Imported) -> Transformer:
    """Build the network in torch; it shares the memory of the imported weights."""
    with torch.device("meta"):
        network = Transformer(imported.config, PAD_ID)
    network.load_state_dict(dict(imported.weights), assign=True)
    if imported.config.positions == "sinusoids":
        network.source_positions = PositionalEncoding(imported.config)
        network.target_positions = PositionalEncoding(imported.config)
    return network.requires_grad_(False).eval()


def _material(
    imported: Imported,
    directions: list[Direction],
    texts: Sequence[str],
    provenance: Provenance,
) -> Material:
    """Build the network, compare it with its library, and translate text for calibration."""
    network = network_of(imported)
    with tempfile.TemporaryDirectory() as folder:
        tokenizers = tokenizers_of(imported, Path(folder), directions)
    sources = tokenizers.source.encode(texts) if texts else drawn_sources(imported)
    oracle = imported.oracle()
    if oracle is not None:
        texts_to_compare = texts or tokenizers.source.decode(sources)
        logger.info(check_texts(oracle, imported, directions, texts_to_compare, tokenizers))
    pairs = pairs_of(network, imported, directions, sources)
    if oracle is not None:
        logger.info(check_log_probs(oracle, imported, network, pairs))
    else:
        logger.warning("not compared with the format's own library, which is not installed")
    if problem := problem_with_language_tokens(imported, network, pairs):
        logger.warning(problem)
    return Material(
        network=network,
        pairs=pairs,
        suppressed=imported.suppressed_ids,
        pieces=(tokenizers.source.piece, tokenizers.target.piece),
        save_vocabulary=partial(save_vocabulary, replace(imported, weights={})),
        directions=directions,
        limits=Limits(max_source_length=imported.max_length, max_target_length=imported.max_length),
        decoding=imported.decoding,
        provenance=provenance,
        ends_source=imported.ends_source,
        has_text=bool(texts),
        moses=imported.moses,
        rules=imported.rules,
    )


def _provenance(imported: Imported, source: Path, licences: Sequence[str]) -> Provenance:
    archive = [source] if source.is_file() else []
    files = {path.name: sha256(path) for path in (*archive, *imported.files)}
    licences_of_model = [imported.licence] if imported.licence else []
    return Provenance(
        config={"model": asdict(imported.config)},
        step=0,
        parameters=sum(tensor.numel() for tensor in imported.weights.values()),
        licences=list(licences) or licences_of_model,
        origin=Origin(format=imported.format, name=source.resolve().name, files=files),
    )
