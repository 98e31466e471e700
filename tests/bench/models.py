"""The models under test, for both sides: the same weights as our graphs and as CTranslate2 models.

`default` is the bundle that ships, on made-up everyday German. `small` and `base` are the presets with random
weights, on random ids: what they cost does not depend on what they say, as long as they end like real ones.
"""

import hashlib
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import onnx
import torch

from export.decoder import build_decoder
from export.encoder import build_encoder
from export.graph import GraphBuilder
from export.quantize import calibrate
from model import bundle
from model.config import ModelConfig, load_config
from model.data import Batch
from model.evaluate import suppressed_ids
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from model.transformer import DecoderLayer, EncoderLayer, Transformer
from service.settings import DEFAULT_BUNDLE
from tests.bench import peer
from tests.bench.text import everyday_german

ModelName = Literal["default", "small", "base"]
Precision = Literal["int8", "fp32"]
ROOT = Path(__file__).parents[2]
MAX_LENGTH = 64
"""Most tokens of a translation, for all models and both sides."""
EOS_OVERTAKES = {"small": 39, "base": 33}
"""Greedy step at which EOS beats every other token in random weights: beams of 4 then end after 17 or so."""


@dataclass(frozen=True)
class BenchModel:
    """One model on disk, ready for both sides."""

    name: ModelName
    folder: Path
    sizes: ModelConfig
    sources: list[list[int]]
    """Tag ... EOS, in the order of a text."""
    suppressed: list[int]
    tag: int = 0
    """In front of every source; 0 where there is none."""

    def graphs(self, precision: Precision) -> tuple[Path, Path]:
        """Our encoder and decoder."""
        return self.folder / f"encoder.{precision}.onnx", self.folder / f"decoder.{precision}.onnx"

    def peer(self, precision: Precision) -> Path:
        """CTranslate2's model."""
        return self.folder / f"ctranslate2.{precision}"


def build(name: ModelName, folder: Path, sentences: int) -> BenchModel:
    """Make a model, or find it where an earlier run left it."""
    if name == "default":
        checkpoint = bundle.load(DEFAULT_BUNDLE)
        network, tokenizer = checkpoint.network(), checkpoint.tokenizer
        tag = tokenizer.tag_id("en")
        sources = [[tag, *ids, EOS_ID] for ids in tokenizer.encode(everyday_german(sentences))]
        suppressed = list(suppressed_ids(tokenizer, checkpoint.config))
    else:
        sizes = load_config(name, []).model
        tag, sources = 0, _random_sources(sentences, sizes.vocab_size)
        suppressed = [PAD_ID, BOS_ID]
        network = _ending(sizes, sources[:24], suppressed, EOS_OVERTAKES[name])
    model = BenchModel(name, folder / name, network.config, sources, suppressed, tag)
    stamp, version = model.folder / "version", _version()
    if not stamp.exists() or stamp.read_text() != version:
        _write(model, network)
        stamp.write_text(version)
    return model


def _version() -> str:
    """Of all that a written model depends on."""
    digest = hashlib.sha256((DEFAULT_BUNDLE / "manifest.json").read_bytes())
    for folder in (
        ROOT / "export",
        ROOT / "model",
        ROOT / "model" / "configs",
        Path(__file__).parent,
    ):
        for path in sorted(folder.glob("*.*")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _write(model: BenchModel, network: Transformer) -> None:
    model.folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    ranges = calibrate(network, _calibration(model.sources[:64]))
    for precision in ("int8", "fp32"):
        encoder, decoder = model.graphs(precision)
        onnx.save(build_encoder(GraphBuilder(precision, weights, ranges), model.sizes), encoder)
        outer = GraphBuilder(precision, weights, ranges)
        body = GraphBuilder(precision, weights, ranges, prefix="step.")
        onnx.save(build_decoder(outer, body, model.sizes, tuple(model.suppressed)), decoder)
    peer.convert(network, model.peer("fp32"))
    peer.convert(network, model.peer("int8"), quantization="int8")


def _calibration(sources: list[list[int]]) -> list[Batch]:
    """Sources stand for targets too: only the range of what the layers see matters."""
    batches = []
    for source in sources:
        ids = torch.tensor([source])
        batches.append(Batch(ids, torch.cat((torch.tensor([[BOS_ID]]), ids[:, 1:]), 1), ids))
    return batches


def _random_sources(count: int, vocab_size: int) -> list[list[int]]:
    """Ids at random; lengths as in everyday text, 17 tokens on average and 60 at most."""
    rng = random.Random(0)
    lengths = [min(60, max(3, round(rng.gammavariate(2.5, 7)))) for _ in range(count)]
    return [[*(rng.randrange(4, vocab_size) for _ in range(size)), EOS_ID] for size in lengths]


@torch.inference_mode()
def _ending(
    sizes: ModelConfig, sources: list[list[int]], suppressed: list[int], overtakes: int
) -> Transformer:
    """Random weights that neither repeat a token nor babble on.

    Feed-forward layers become linear maps, their units in pairs of opposite sign: with ReLU as it is, all
    states share a direction, and with it a favourite token. The last one is large, and attention small, so
    that a token leads to another one and not to itself. Wide embeddings make the choice sharp. The embedding
    of EOS is fitted to states along greedy paths: better than the best other token from step `overtakes` on.
    """
    torch.manual_seed(0)
    network = Transformer(sizes, PAD_ID).eval()
    network.embedding.weight.mul_(4)
    half = sizes.d_ff // 2
    for layer in (*network.encoder, *network.decoder):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        layer.feed_forward.w_1.weight[half:] = -layer.feed_forward.w_1.weight[:half]
        layer.feed_forward.w_2.weight[:, half:] = -layer.feed_forward.w_2.weight[:, :half]
        if isinstance(layer, DecoderLayer):
            layer.self_attention.w_o.weight.mul_(0.3)
            layer.cross_attention.w_o.weight.mul_(0.3)
            last = layer
    last.feed_forward.w_2.weight.mul_(30)

    mask = torch.zeros(sizes.vocab_size)
    mask[[*suppressed, EOS_ID]] = -torch.inf
    states, wanted = [], []
    for source in sources:
        row = torch.tensor([source])
        memory, prefix = network.encode(row), torch.tensor([[BOS_ID]])
        for step in range(MAX_LENGTH):
            state = network.decode(prefix, memory, row)[0, -1]
            logits = network.project(state) + mask
            states.append(state)
            wanted.append(float(logits.max()) * (step + 3) / overtakes)
            prefix = torch.cat((prefix, logits.argmax()[None, None]), dim=1)
    x, y = torch.stack(states), torch.tensor(wanted)
    ridge = x.T @ x + 0.3 * len(x) * torch.eye(sizes.d_model)
    network.embedding.weight[EOS_ID] = torch.linalg.solve(ridge, x.T @ y)
    return network
