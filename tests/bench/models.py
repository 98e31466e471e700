"""The models under test, for both sides: the same weights as our graphs and as CTranslate2 models.

`default` is the bundle that ships, on made-up everyday German. `small` and `base` are the presets with random
weights, on random ids: what they cost does not depend on what they say, as long as they end like real ones.
"""

import hashlib
import math
import random
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
from model.transformer import DecoderLayer, Transformer
from service.models.bundle import DEFAULT_BUNDLE
from tests.bench import peer
from tests.bench.text import everyday_german

ModelName = Literal["default", "small", "base"]
Precision = Literal["int8", "fp32"]
ROOT = Path(__file__).parents[2]
MAX_LENGTH = 64
"""Most tokens of a translation, for all models and both sides."""


PERIOD, LOUDNESS = 40, 30
"""Of the clock that ends the random weights' translations; how much EOS makes of it."""
MEAN_LENGTH, SPREAD_LENGTH = 17, 5
"""Tokens of these translations."""


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
        network, tokenizer = checkpoint.network(), checkpoint.vocabularies.source
        tag = tokenizer.tag_id("en")
        sources = [[tag, *ids, EOS_ID] for ids in tokenizer.encode(everyday_german(sentences))]
        suppressed = list(suppressed_ids(checkpoint.vocabularies, checkpoint.config))
    else:
        # the way these weights are made to end relies on post-norm, which costs what pre-norm does
        sizes = replace(load_config(name).model, norm="post")
        tag, sources = 0, _random_sources(sentences, sizes.vocab_size)
        suppressed = [PAD_ID, BOS_ID]
        network = _ending(sizes, sources[:24])
    model = BenchModel(name, folder / name, network.config, sources, suppressed, tag)
    stamp, version = model.folder / "version", _version()
    if not stamp.exists() or stamp.read_text() != version:
        _write(model, network)
        stamp.write_text(version)
    return model


def _version() -> str:
    """Of all that a written model depends on."""
    digest = hashlib.sha256((DEFAULT_BUNDLE / "manifest.json").read_bytes())
    code = [path for folder in ("export", "model") for path in (ROOT / folder).rglob("*.[pt]*")]
    for path in [*sorted(code), Path(__file__), Path(peer.__file__)]:
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
        outer = GraphBuilder(precision, weights, ranges)
        body = GraphBuilder(precision, weights, ranges, prefix="step.")
        graph = build_decoder(outer, body, model.sizes, tuple(model.suppressed))
        file.save(graph, decoder.name)
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
def _ending(sizes: ModelConfig, sources: list[list[int]]) -> Transformer:
    """Random weights whose translations do not repeat a token, and end after some tokens more or fewer.

    Feed-forward layers are linear maps (units in pairs of opposite sign) and the last one is large: a token
    leads to another one and not to itself. One coordinate of the decoder's states is a clock: no embedding
    and no layer writes to it but the sinusoid, sin(t / period), and one cross-attention, which sets it fast
    or slow for the sentence. EOS looks at it alone.
    """
    torch.manual_seed(0)
    network = Transformer(sizes, PAD_ID).eval()
    clock = 2 * round(sizes.d_model / 2 * math.log(PERIOD) / math.log(10000))
    network.embedding.weight.mul_(4)  # sharp choices
    _silence(network.embedding.weight.T, clock)
    layers = [layer for layer in network.decoder if isinstance(layer, DecoderLayer)]
    half = sizes.d_ff // 2
    for layer in layers:
        feed_forward = layer.feed_forward
        feed_forward.w_1.weight[half:] = -feed_forward.w_1.weight[:half]
        feed_forward.w_2.weight[:, half:] = -feed_forward.w_2.weight[:, :half]
        for linear in (layer.self_attention.w_o, layer.cross_attention.w_o):
            linear.weight.mul_(0.3)
            _silence(linear.weight, clock)
        _silence(feed_forward.w_2.weight, clock)
    layers[-1].feed_forward.w_2.weight.mul_(30)
    layers[-1].feed_forward.w_1.weight[:, clock] = 0
    for norm in (layers[0].norm_1, layers[-1].norm_2):
        norm.weight[clock] = 20  # loud enough to be heard beside the rest
    _set_clock(network, layers, sources, clock)
    return network


def _set_clock(
    network: Transformer, layers: list[DecoderLayer], sources: list[list[int]], clock: int
) -> None:
    """Have EOS win after MEAN_LENGTH tokens on average, SPREAD_LENGTH fewer or more."""
    network.embedding.weight[EOS_ID] = 0
    network.embedding.weight[EOS_ID, clock] = LOUDNESS  # now: sources end with it too
    times, _ = _clocks(network, sources, clock)
    a_token = (times[:, MEAN_LENGTH] - times[:, 0]).mean() / MEAN_LENGTH
    tempo, still = layers[0].cross_attention.w_o, times[:, 0]
    direction = 0.01 * torch.randn(len(tempo.weight))  # small: norms bend what is large
    tempo.weight[clock] = direction
    moved = _clocks(network, sources, clock, steps=1)[0][:, 0] - still
    scale = SPREAD_LENGTH * a_token / moved.std()
    tempo.weight[clock], tempo.bias[clock] = scale * direction, -scale * moved.mean()
    times, best = _clocks(network, sources, clock)
    layers[-1].norm_3.bias[clock] = best / LOUDNESS - times[:, MEAN_LENGTH].mean()


def _clocks(
    network: Transformer, sources: list[list[int]], clock: int, steps: int = MEAN_LENGTH + 1
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the clock shows at each step of a greedy translation of each source, [N, steps].

    And the mean of the winners' logits, EOS not among them.
    """
    times, logits = [], []
    for source in sources:
        row, ids = torch.tensor([source]), torch.tensor([[BOS_ID]])
        memory = network.encode(row)
        for _ in range(steps):
            states = network.decode(ids, memory, row)
            best = (states[0, -1] @ network.embedding.weight[EOS_ID + 1 :].T).max(0)
            logits.append(best.values)
            ids = torch.cat((ids, best.indices.reshape(1, 1) + EOS_ID + 1), 1)
        times.append(states[0, :, clock])
    return torch.stack(times), torch.stack(logits).mean()


def _silence(weight: torch.Tensor, clock: int) -> None:
    """Have `weight` [d_model, ...] write nothing to the clock, and no mean either: norms subtract that."""
    weight -= weight.mean(0)
    weight[clock] = 0
