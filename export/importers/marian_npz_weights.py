"""Conversion of the parameters of Marian's models; its matrices are [in, out], its vectors [1, n]."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from export.importers.imported import Side, SourceError
from export.importers.settings import Settings, shown
from export.importers.tensors import Tensors
from model.network_config import ModelConfig

OUTPUT = "decoder_ff_logit_out"


@dataclass(frozen=True)
class Tables:
    """The names of the embedding tables, and whether the target's table is also the projection."""

    source: str
    target: str
    tied: bool

    @classmethod
    def of(cls, settings: Settings) -> "Tables":
        """Derive the names from Marian's configuration."""
        is_all_tied, is_source_tied, is_output_tied = (
            settings.get(key, bool, False)
            for key in ("tied-embeddings-all", "tied-embeddings-src", "tied-embeddings")
        )
        names = (
            ("Wemb", "Wemb") if is_all_tied or is_source_tied else ("encoder_Wemb", "decoder_Wemb")
        )
        return cls(*names, tied=is_all_tied or is_output_tied)

    @property
    def embeddings(self) -> str:
        """The `embeddings` of the network's configuration."""
        if not self.tied:
            return "separate"
        return "shared" if self.source == self.target else "target"


def read_weights(
    tensors: Tensors, config: ModelConfig, settings: Settings, sides: Sequence[Side]
) -> dict[str, Tensor]:
    """Return the network's parameters by name.

    Raises:
        SourceError: a tensor is missing, has a wrong shape, or is not used.
    """
    reader = _Reader(tensors, config)
    for index in range(config.num_encoder_layers):
        theirs, ours = f"encoder_l{index + 1}", f"encoder.{index}"
        reader.attention(f"{theirs}_self", f"{ours}.self_attention", f"{ours}.norm_1")
        reader.feed_forward(f"{theirs}_ffn", f"{ours}.feed_forward", f"{ours}.norm_2")
    for index, number in enumerate(_decoder_layers(settings, config)):
        theirs, ours = f"decoder_l{number}", f"decoder.{index}"
        if config.decoder_cell == "ssru":
            reader.recurrence(f"{theirs}_rnn", f"{ours}.recurrence", f"{ours}.norm_1")
        else:
            reader.attention(f"{theirs}_self", f"{ours}.self_attention", f"{ours}.norm_1")
        reader.attention(f"{theirs}_context", f"{ours}.cross_attention", f"{ours}.norm_2")
        reader.feed_forward(f"{theirs}_ffn", f"{ours}.feed_forward", f"{ours}.norm_3")
    if config.has_final_norm:
        for stack in ("encoder", "decoder"):
            reader.norm(f"{stack}_top", f"{stack}_norm")
    weights = reader.weights | _tables(tensors, config, settings, sides)
    tensors.check_all_taken()
    return weights


def _decoder_layers(settings: Settings, config: ModelConfig) -> list[int]:
    """Return the stored number of each of the decoder's layers; tied layers share one."""
    count = config.num_decoder_layers
    tied = settings.get("transformer-tied-layers", list, [])
    if tied and not (len(tied) == count and all(number in range(1, count + 1) for number in tied)):
        raise SourceError(
            f"{settings.path}: transformer-tied-layers = {shown(tied)}; supported: {count} numbers of layers"
        )
    return tied or list(range(1, count + 1))


class _Reader:
    """Collects the parameters, module by module."""

    def __init__(self, tensors: Tensors, config: ModelConfig) -> None:
        self.tensors, self.config = tensors, config
        self.weights: dict[str, Tensor] = {}
        self.kind = "_pre" if config.norm == "pre" else ""

    def attention(self, theirs: str, ours: str, norm: str) -> None:
        width = self.config.d_model
        for part in "qkvo":
            self.linear(f"{theirs}_{{}}{part}", f"{ours}.w_{part}", width, width)
        self.norm(f"{theirs}_Wo", norm, self.kind)

    def recurrence(self, theirs: str, ours: str, norm: str) -> None:
        width = self.config.d_model
        self.weights[f"{ours}.w.weight"] = self.tensors.take(f"{theirs}_W", width, width).T
        self.linear(f"{theirs}_{{}}f", f"{ours}.w_f", width, width)
        # its norm has two names, by where it is
        self.norm(theirs if self.kind else f"{theirs}_ffn", norm, self.kind)

    def feed_forward(self, theirs: str, ours: str, norm: str) -> None:
        narrow, wide = self.config.d_model, self.config.d_ff
        self.linear(f"{theirs}_{{}}1", f"{ours}.w_1", narrow, wide)
        self.linear(f"{theirs}_{{}}2", f"{ours}.w_2", wide, narrow)
        self.norm(f"{theirs}_ffn", norm, self.kind)

    def linear(self, theirs: str, ours: str, inputs: int, outputs: int) -> None:
        """Add a linear module; W or b replaces the braces in `theirs`."""
        self.weights[f"{ours}.weight"] = self.tensors.take(theirs.format("W"), inputs, outputs).T
        self.weights[f"{ours}.bias"] = self.tensors.take(theirs.format("b"), 1, outputs)[0]

    def norm(self, theirs: str, ours: str, kind: str = "") -> None:
        for part, name in (("scale", "weight"), ("bias", "bias")):
            parameter = self.tensors.take(f"{theirs}_ln_{part}{kind}", 1, self.config.d_model)
            self.weights[f"{ours}.{name}"] = parameter[0]


def _tables(
    tensors: Tensors, config: ModelConfig, settings: Settings, sides: Sequence[Side]
) -> dict[str, Tensor]:
    """Return embeddings and projection in the bundle's order of ids."""
    tables, (source, target) = Tables.of(settings), (side.arrangement for side in sides)
    source_size, target_size = settings.get("dim-vocabs", list)
    width = config.d_model
    target_table = tensors.take(tables.target, target_size, width)
    weights = {"embedding.weight": target.table(target_table)}
    if config.embeddings != "shared":
        source_table = tensors.take(tables.source, source_size, width)
        weights["source_embedding.weight"] = source.table(source_table)
    if not tables.tied:
        if f"{OUTPUT}_W" in tensors:  # in older versions
            projection = tensors.take(f"{OUTPUT}_W", width, target_size).T
        else:
            projection = tensors.take(f"{OUTPUT}_Wt", target_size, width)
        weights["projection.weight"] = target.table(projection)
    bias = torch.zeros(target_size)
    if not settings.get("output-omit-bias", bool, False):
        bias = tensors.take(f"{OUTPUT}_b", 1, target_size)[0]
    weights["projection_bias"] = target.bias(bias)
    return weights
