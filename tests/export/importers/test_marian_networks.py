"""Imported networks, compared with transformers: log-probabilities of all tokens, and whole beam searches."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
import transformers

from export.decoder import build_decoder
from export.encoder import build_encoder
from export.graph import GraphBuilder
from export.importers.hugging_face_marian import read, recognises
from export.importers.imported import Imported
from export.importers.network_settings import STOP_RULES
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from model.transformer import Transformer
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.runner import OnnxModelRunner
from service.engine.types import DecodingOptions, LengthNorm, SpecialIds, StopRule
from tests import toy
from tests.export.importers.marian_folders import SHAPES, write_folder

SENTENCES, MAX_NEW = 24, 60


def network_of(imported: Imported) -> Transformer:
    network = Transformer(imported.config, PAD_ID)
    network.load_state_dict(dict(imported.weights))
    return network.eval()


def random_sources(model: Any, count: int, longest: int = 20) -> list[list[int]]:
    """Return random sources in the format's ids, including EOS."""
    rng = random.Random(count)
    known = range(1, model.config.vocab_size - 1)
    return [[*rng.choices(known, k=rng.randint(1, longest)), 0] for _ in range(count)]


def engine_of(imported: Imported, folder: Path, *, narrowing: bool = False) -> Engine:
    network = network_of(imported)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    encoder = build_encoder(GraphBuilder("fp32", weights), network.config)
    body = GraphBuilder("fp32", weights, prefix="step.")
    never = imported.suppressed_ids
    decoder = build_decoder(
        GraphBuilder("fp32", weights), body, network.config, never, narrowing=narrowing
    )
    onnx.save(encoder, folder / "encoder.onnx")
    onnx.save(decoder, folder / "decoder.onnx")
    runner = OnnxModelRunner(folder / "encoder.onnx", folder / "decoder.onnx")
    return Engine([runner], SpecialIds(PAD_ID, BOS_ID, EOS_ID), EngineConfig(max_num_seqs=8))


def searched_by_the_engine(
    imported: Imported,
    folder: Path,
    sources: list[list[int]],
    rule: StopRule,
    penalty: float = 0.0,
) -> list[list[int]]:
    """Return the engine's best translation of each source, in the format's ids."""
    options = DecodingOptions(MAX_NEW, 4, 1, penalty, LengthNorm.POWER, stop_rule=rule)
    arranged = [imported.source.arrangement.to_bundle(source) for source in sources]
    engine = engine_of(imported, folder)
    engine.start()
    try:
        sequences = engine.submit([(source, options) for source in arranged])
        found = [sequence.future.result(60)[0].ids for sequence in sequences]
    finally:
        engine.close()
    return [imported.target.arrangement.to_format(ids) for ids in found]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_log_probabilities_are_those_of_transformers(tmp_path: Path, shape: dict[str, Any]) -> None:
    model = write_folder(tmp_path, **shape)
    assert recognises(tmp_path)
    imported = read(tmp_path)
    network = network_of(imported)
    place = imported.target.arrangement.place
    order = torch.tensor([place[id] for id in range(model.config.decoder_vocab_size)])
    for source, target in zip(random_sources(model, 8), random_sources(model, 8, 30), strict=True):
        read_first = [model.config.decoder_start_token_id, *target[:-1]]
        with torch.no_grad():
            expected = model(
                input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([read_first])
            ).logits[0]
            ours = network(
                torch.tensor([imported.source.arrangement.to_bundle(source)]),
                torch.tensor([[BOS_ID, *imported.target.arrangement.to_bundle(target[:-1])]]),
            )[0]
        found = ours.log_softmax(-1)[:, order]
        torch.testing.assert_close(found, expected.log_softmax(-1), atol=1e-4, rtol=0)


def searched_by_transformers(
    model: Any, sources: list[list[int]], **options: Any
) -> list[list[int] | None]:
    """Return the best translation of each source without its start token; None if it was cut off."""
    pad, width = model.config.pad_token_id, max(map(len, sources))
    ids = torch.tensor([one + [pad] * (width - len(one)) for one in sources])
    found = model.generate(
        input_ids=ids,
        attention_mask=(ids != pad).long(),
        num_beams=4,
        max_length=MAX_NEW + 1,
        **{"length_penalty": 0.0, **options},
    )
    eos = model.generation_config.eos_token_id
    rows = [[id for id in row[1:] if id != pad] for row in found.tolist()]
    return [row[:-1] if row[-1] == eos else None for row in rows]


def test_searches_with_renormalized_probabilities_equal_those_of_transformers(
    toy_folder: tuple[Path, Any], tmp_path: Path
) -> None:
    folder, model = toy_folder
    copy = Path(shutil.copytree(folder, tmp_path / "model"))
    path = copy / "generation_config.json"
    generation = json.loads(path.read_text()) | {"renormalize_logits": True}
    ids = json.loads((copy / "vocab.json").read_text())
    generation["bad_words_ids"] += [
        [ids[piece]] for piece in ("▁falls", "▁sings", "▁the", "og", "at")
    ]
    path.write_text(json.dumps(generation))
    imported = read(copy)
    assert imported.config.forbidden_ids == ()
    sources = muddled_sources(folder, ">>eng<< ")
    banned = {"early_stopping": False, "bad_words_ids": generation["bad_words_ids"]}
    expected = searched_by_transformers(model, sources, renormalize_logits=True, **banned)
    assert expected != searched_by_transformers(model, sources, **banned)
    found = searched_by_the_engine(imported, tmp_path, sources, StopRule.BOUND)
    ended = [at for at, one in enumerate(expected) if one is not None]
    assert len(ended) > 5
    assert [found[at] for at in ended] == [expected[at] for at in ended]


def muddled_sources(folder: Path, tag: str) -> list[list[int]]:
    """Return sentences of the toy language, most of them mixed with pieces of others."""
    tokenizer: Any = transformers.MarianTokenizer.from_pretrained(str(folder))
    rng = random.Random(1)
    german = [tokenizer(tag + text)["input_ids"][:-1] for text, _ in toy.sentences()]
    end, sources = tokenizer.eos_token_id, []
    for ids in rng.sample(german, SENTENCES):
        other = rng.choice(german)
        cut, begin = rng.randint(2, len(ids)), rng.randrange(1, len(other))
        sources.append([*ids[:cut], *other[begin : begin + rng.randint(0, 6)], end])
    return sources


@pytest.mark.parametrize(
    "shape",
    ["toy", *(pytest.param(one, marks=pytest.mark.slow) for one in ("opus", "separate", "untied"))],
)
def test_beam_searches_equal_those_of_transformers(
    toy_folder: tuple[Path, Any],
    trained: Callable[..., tuple[Path, Any]],
    tmp_path: Path,
    shape: str,
) -> None:
    folder, model = toy_folder if shape == "toy" else trained(shape)
    imported = read(folder)
    sources = muddled_sources(folder, ">>eng<< " if shape == "toy" else "")
    for stops, penalty in ((False, 0.0), (False, 1.0), (True, 0.5), ("never", 2.0)):
        generation = {"early_stopping": stops, "length_penalty": penalty}
        expected = searched_by_transformers(model, sources, **generation)
        ended = [at for at, one in enumerate(expected) if one is not None]
        assert len({tuple(expected[at] or ()) for at in ended}) > SENTENCES / 2, "too few"
        found = searched_by_the_engine(imported, tmp_path, sources, STOP_RULES[stops], penalty)
        assert [found[at] for at in ended] == [expected[at] for at in ended]
