"""The models under test, with the same weights as this project's graphs and as CTranslate2 models.

`default` is the bundled model on generated everyday German. `small` and `base` are the presets with random
weights on random ids; their cost does not depend on the translations, as long as the lengths are realistic.
"""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from export.decoder import build_decoder
from export.encoder import build_encoder
from export.graph import GraphBuilder
from export.quantize import calibrate
from export.weights import WeightsFile
from model import bundle
from model.config import ModelConfig, load_config
from model.data.batches import Batch
from model.evaluate import suppressed_ids
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from model.transformer import Transformer
from service.models.bundle import DEFAULT_BUNDLE
from tests.bench import ending, peer
from tests.bench.ending import ending_network, random_sources
from tests.bench.text import everyday_german

ModelName = Literal["default", "small", "base", "opus", "student"]
Precision = Literal["int8", "fp32"]
ROOT = Path(__file__).parents[2]
MAX_LENGTH = 64
"""Maximum number of tokens of a translation, for all models and both sides."""


@dataclass(frozen=True)
class BenchModel:
    """A model on disk for both sides."""

    name: ModelName
    folder: Path
    sizes: ModelConfig
    sources: list[list[int]]
    """Ids from the tag to EOS."""
    suppressed: list[int]
    tag: int = 0
    """The id before every source, or 0 without a tag."""

    def graphs(self, precision: Precision) -> tuple[Path, Path]:
        """Return this project's encoder and decoder."""
        return self.folder / f"encoder.{precision}.onnx", self.folder / f"decoder.{precision}.onnx"

    def peer(self, precision: Precision) -> Path:
        """Return the folder of CTranslate2's model."""
        return self.folder / f"ctranslate2.{precision}"

    @property
    def names(self) -> list[str]:
        """CTranslate2's names of the tokens."""
        return peer.pieces(self.sizes.vocab_size)


def build(name: ModelName, folder: Path, sentences: int) -> BenchModel:
    """Make a model, unless an earlier run did so."""
    if name == "default":
        checkpoint = bundle.load(DEFAULT_BUNDLE)
        network, tokenizer = checkpoint.network(), checkpoint.vocabularies.source
        tag = tokenizer.tag_id("en")
        sources = [[tag, *ids, EOS_ID] for ids in tokenizer.encode(everyday_german(sentences))]
        suppressed = list(suppressed_ids(checkpoint.vocabularies, checkpoint.config))
    else:
        # weights whose translations end need post-norm, which costs the same as pre-norm
        sizes = replace(load_config(name).model, norm="post")
        tag, sources = 0, random_sources(sentences, sizes.vocab_size)
        suppressed = [PAD_ID, BOS_ID]
        network = ending_network(sizes, sources[:24])
    model = BenchModel(name, folder / name, network.config, sources, suppressed, tag)
    version_file, version = model.folder / "version", _version()
    if not version_file.exists() or version_file.read_text() != version:
        _write(model, network)
        version_file.write_text(version)
    return model


def _version() -> str:
    """Hash everything that a written model depends on."""
    digest = hashlib.sha256((DEFAULT_BUNDLE / "manifest.json").read_bytes())
    code = [path for folder in ("export", "model") for path in (ROOT / folder).rglob("*.[pt]*")]
    for path in [*sorted(code), Path(__file__), Path(ending.__file__), Path(peer.__file__)]:
        if path.suffix in (".py", ".toml"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _write(model: BenchModel, network: Transformer) -> None:
    model.folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    ranges = calibrate(network, _calibration(model.sources[:64]))
    file = WeightsFile(model.folder)
    for precision in ("int8", "fp32"):
        encoder, decoder = model.graphs(precision)
        file.save(
            build_encoder(GraphBuilder(precision, weights, ranges), model.sizes), encoder.name
        )
        graph_builder = GraphBuilder(precision, weights, ranges)
        body = GraphBuilder(precision, weights, ranges, prefix="step.")
        graph = build_decoder(graph_builder, body, model.sizes, tuple(model.suppressed))
        file.save(graph, decoder.name)
    peer.convert(network, model.peer("fp32"))
    peer.convert(network, model.peer("int8"), quantization="int8")


def _calibration(sources: list[list[int]]) -> list[Batch]:
    """Return batches with the sources as targets, since only the ranges of the layers' inputs matter."""
    batches = []
    for source in sources:
        ids = torch.tensor([source])
        batches.append(Batch(ids, torch.cat((torch.tensor([[BOS_ID]]), ids[:, 1:]), 1), ids))
    return batches
