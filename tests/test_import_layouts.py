"""The models of `python -m tests.bench.import_quality`: each format's files contain the right network."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from export.importers.archive import unpacked
from export.importers.conversion import network_of
from export.importers.formats import format_of
from export.importers.languages import directions_of
from export.importers.vocabulary import tokenizers_of
from model import bundle
from model.checkpoint import Checkpoint
from model.data.corpus import Pair, encode_pairs
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from model.transformer import Transformer
from tests.bench.import_layouts import FOLDER, LAYOUTS, Trained
from tests.conftest import TINY_BUNDLE
from tests.export.importers.reshaping import with_post_norm, with_sizes

TEXT = {"de": ["die katze schläft.", "ein hund."], "en": ["the cat sleeps.", "a dog."]}
FAIRSEQ = {"position_exponent": "inclusive", "position_offset": 2}


@pytest.fixture(scope="module")
def pre() -> Checkpoint:
    """A network with the tiny bundle's sizes and vocabulary, and random weights; all norms differ."""
    checkpoint = bundle.load(TINY_BUNDLE)
    empty = with_sizes(checkpoint, {}, norm="pre", num_encoder_layers=2, num_decoder_layers=2)
    torch.manual_seed(0)
    network = Transformer(empty.config.model, PAD_ID)
    weights = {
        name: tensor + 0.1 * torch.randn_like(tensor)
        for name, tensor in network.state_dict().items()
    }
    return with_sizes(empty, weights)


@pytest.fixture(scope="module")
def trained(pre: Checkpoint) -> Trained:
    return Trained.of(pre, encode_pairs(TEXT, pre.config.data, pre.vocabularies))


def from_zero(checkpoint: Checkpoint) -> Checkpoint:
    table = checkpoint.weights["embedding.weight"].clone()
    table[BOS_ID] = 0.0
    weights = {**checkpoint.weights, "embedding.weight": table}
    return with_sizes(checkpoint, weights, position_exponent="inclusive")


EXPECTED: dict[str, Callable[[Trained], Checkpoint]] = {
    "CTranslate2": lambda one: one.pre,
    "Argos": lambda one: one.pre,
    "Hugging Face Marian": lambda one: one.post,
    "Marian npz": lambda one: from_zero(one.post),
    "M2M-100": lambda one: with_sizes(one.pre, one.pre.weights, **FAIRSEQ),
    "fairseq": lambda one: with_sizes(one.post, one.post.weights, **FAIRSEQ),
    "OpenNMT-py": lambda one: one.pre,
}
BARE = {"fairseq": [EOS_ID], "OpenNMT-py": []}
"""Behind a source that has no tag in front."""


@pytest.mark.parametrize("name", LAYOUTS)
@torch.inference_mode()
def test_layouts_contain_the_same_network(name: str, trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "vocabulary").mkdir()
    with unpacked(LAYOUTS[name](tmp_path / FOLDER, trained)) as folder:
        imported = format_of(folder).read(folder)
        found = tokenizers_of(imported, tmp_path / "vocabulary")
    [direction] = directions_of(imported, ["de"], ["en"])
    vocabulary = trained.pre.vocabularies.source
    expected = EXPECTED[name](trained).network()
    for german, english in zip(TEXT["de"], TEXT["en"], strict=True):
        [read], [written] = vocabulary.encode([german]), vocabulary.encode([english])
        source = [*read, *BARE[name]] if name in BARE else [vocabulary.tag_id("en"), *read, EOS_ID]
        # translations of M2M-100 begin with </s> and a language token
        begin = [EOS_ID, BOS_ID] if name == "M2M-100" else [BOS_ID]
        [own_read], [own_written] = found.source.encode([german]), found.target.encode([english])
        own_source = [*direction.prefix, *own_read, *imported.source_end]
        own_begin = [BOS_ID, *direction.start_tokens]
        torch.testing.assert_close(
            ratios(network_of(imported), own_source, own_begin, own_written),
            ratios(expected, source, begin, written),
            rtol=0,
            atol=1e-4,
        )


def ratios(network: Transformer, source: list[int], begin: list[int], target: list[int]) -> Tensor:
    """Return the logits of a target's tokens minus those of EOS, at each step."""
    logits = network(torch.tensor([source]), torch.tensor([[*begin, *target]]))[0]
    found: Tensor = logits[:, target] - logits[:, [EOS_ID]]
    return found


@torch.inference_mode()
def test_post_norm_is_equivalent_for_a_single_token(pre: Checkpoint) -> None:
    source, begin = torch.tensor([[EOS_ID]]), torch.tensor([[BOS_ID]])
    post = with_post_norm(pre, [Pair(source[0].numpy(), source[0].numpy())])
    assert post.config.model.norm == "post"
    expected = pre.network()(source, begin)
    assert expected.std() > 0.1
    torch.testing.assert_close(post.network()(source, begin), expected, rtol=0, atol=1e-4)
