"""Networks from Marian's npz files, compared with float64: log-probabilities and whole searches."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from export.importers.imported import Imported
from export.importers.marian_npz import read, recognises
from model.tokenizer import BOS_ID
from service.engine.types import DecodingOptions, LengthNorm, StopRule
from tests.export.importers.marian_npz_models import SHAPES, write_model
from tests.export.importers.marian_npz_reference import Reference
from tests.export.importers.test_marian_networks import engine_of, network_of

LIMIT, NORMALIZE = 20, 0.6


def random_ids(size: int, count: int, longest: int, first: int = 1) -> list[list[int]]:
    rng = random.Random(count)
    return [rng.choices(range(first, size), k=rng.randint(1, longest)) for _ in range(count)]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_log_probabilities_are_those_of_marian(tmp_path: Path, shape: dict[str, Any]) -> None:
    reference = write_model(tmp_path, **shape)
    assert recognises(tmp_path)
    imported = read(tmp_path)
    network = network_of(imported)
    sizes = reference.config["dim-vocabs"]
    place = imported.target.arrangement.place
    order = [place[id] for id in range(sizes[1])]
    sources, targets = random_ids(sizes[0], 8, 20), random_ids(sizes[1], 8, 30, 2)
    for source, target in zip(sources, targets, strict=True):
        expected = reference.log_probs([*source, 0], target)
        with torch.no_grad():
            logits = network(
                torch.tensor([imported.source.arrangement.to_bundle([*source, 0])]),
                torch.tensor([[BOS_ID, *imported.target.arrangement.to_bundle(target)]]),
            )[0]
        found = logits.log_softmax(-1)[:, order].numpy()
        # without a final norm, logits are in the hundreds, and errors of float32 accordingly larger
        allowed = 1e-4 * max(1, np.abs(expected).max() / 50)
        np.testing.assert_allclose(found, expected, atol=allowed, rtol=0)


RULES = StopRule.NARROW, StopRule.FIRST


def searched(
    imported: Imported, folder: Path, sources: list[list[int]], beam_size: int
) -> list[list[int]]:
    """Translate with the engine, all sources at once, by both stop rules in turn; return the format's ids."""
    engine = engine_of(imported, folder, narrowing=True)
    engine.start()
    try:
        sequences = engine.submit(
            [
                (
                    imported.source.arrangement.to_bundle(source),
                    DecodingOptions(
                        LIMIT,
                        beam_size,
                        length_penalty=NORMALIZE,
                        length_norm=LengthNorm.POWER,
                        stop_rule=RULES[at % 2],
                    ),
                )
                for at, source in enumerate(sources)
            ]
        )
        found = [sequence.future.result(60)[0].ids for sequence in sequences]
    finally:
        engine.close()
    return [imported.target.arrangement.to_format(ids) for ids in found]


def check_searches(reference: Reference, folder: Path, count: int = 30) -> None:
    imported = read(folder)
    sources = [[*source, 0] for source in random_ids(reference.config["dim-vocabs"][0], count, 20)]
    for beam_size in (1, 4):
        both = [
            [
                reference.search(source, beam_size, LIMIT, narrowing=one, normalize=NORMALIZE)
                for one in (True, False)
            ]
            for source in sources
        ]
        assert beam_size == 1 or any(one.ids != other.ids for one, other in both), "no difference"
        expected = [found[at % 2] for at, found in enumerate(both)]
        assert len({one.ids for one in expected}) > count / 8, "too few"
        assert beam_size == 1 or any(one.ended for one in expected)
        found = searched(imported, folder, sources, beam_size)
        assert found == [list(one.ids) for one in expected]


@pytest.mark.parametrize(
    ("shape", "seed"),
    [("opus", 6), ("student", 20), pytest.param("pre-norm", 6, marks=pytest.mark.slow)],
)
def test_beam_searches_equal_those_in_float64(tmp_path: Path, shape: str, seed: int) -> None:
    check_searches(write_model(tmp_path, seed=seed, **SHAPES[shape]), tmp_path)


def test_unknown_tokens_are_forbidden_unless_the_decoder_allows_them(tmp_path: Path) -> None:
    write_model(tmp_path)
    assert read(tmp_path).config.forbidden_ids == (1,)
    decoder = tmp_path / "decoder.yml"
    decoder.write_text(decoder.read_text().replace('"mini-batch": 1', '"allow-unk": true'))
    assert read(tmp_path).config.forbidden_ids == ()
