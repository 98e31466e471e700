"""Candidate lists: each occurs once per epoch, batches are reproducible, and bad lines give clear errors."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from model.config import Config
from model.data.candidates import COUNT, Candidates
from model.data.text import DataError
from model.tokenizer import EOS_ID, PAD_ID, Tokenizer, Vocabularies
from tests import toy
from tests.conftest import TINY_BUNDLE

PATH = "candidates.toy.de-en.jsonl"


@pytest.fixture
def vocabularies() -> Vocabularies:
    tokenizer = Tokenizer.load(TINY_BUNDLE / "sentencepiece.model")
    return Vocabularies(tokenizer, tokenizer)


@pytest.fixture
def folder(corpus_folder: Path) -> Path:
    toy.write_candidates(corpus_folder)
    return corpus_folder


def rows(candidates: Candidates, number: int) -> list[tuple[str, list[str], list[float]]]:
    """Decode a batch to its sources, their candidates and their gains."""
    batch, decode = candidates.batch(number), candidates.vocabularies.target.decode
    texts = decode([[id for id in row if id != PAD_ID] for row in batch.target_out.tolist()])
    sources = decode([[id for id in row[1:] if id != PAD_ID] for row in batch.source.tolist()])
    assert (batch.target_in[:, 1:] == batch.target_out[:, :-1])[batch.target_in[:, 1:] > 0].all()
    return [
        (source, texts[COUNT * at : COUNT * at + COUNT], [round(gain, 4) for gain in gains])
        for at, (source, gains) in enumerate(zip(sources, batch.gains.tolist(), strict=True))
    ]


def test_an_epoch_has_each_source_once_with_its_own_candidates(
    folder: Path, config: Config, vocabularies: Vocabularies
) -> None:
    candidates = Candidates.open(folder, config, vocabularies)
    written = [json.loads(line) for line in (folder / PATH).read_text().splitlines()]
    expected = {one["source"]: (one["candidates"], one["gains"]) for one in written}
    in_an_epoch = len(candidates.batches)
    assert in_an_epoch > 3
    for epoch in (0, 1):
        numbers = range(epoch * in_an_epoch, (epoch + 1) * in_an_epoch)
        found = [row for number in numbers for row in rows(candidates, number)]
        assert Counter(source for source, _, _ in found) == Counter(expected.keys())
        for source, texts, gains in found:
            assert (texts, gains) == expected[source]
    for number in range(in_an_epoch):
        batch = candidates.batch(number)
        assert batch.target_out.numel() <= config.training.batch_tokens
        assert set(batch.source[:, 0].tolist()) == {vocabularies.source.tag_id("en")}
        assert all(EOS_ID in row for row in batch.target_out.tolist())


def test_batches_depend_only_on_seed_and_number(
    folder: Path, config: Config, vocabularies: Vocabularies
) -> None:
    first, again = (Candidates.open(folder, config, vocabularies) for _ in range(2))
    assert [rows(first, number) for number in (7, 0, 3)] == [
        rows(again, number) for number in (7, 0, 3)
    ]
    other = replace(config, training=replace(config.training, seed=config.training.seed + 1))
    shuffled = Candidates.open(folder, other, vocabularies)
    assert [rows(first, at) for at in range(3)] != [rows(shuffled, at) for at in range(3)]


def test_sources_are_segmented_at_random_if_configured(
    folder: Path, config: Config, vocabularies: Vocabularies
) -> None:
    wild = replace(config, data=replace(config.data, subword_alpha=0.1, subword_sides="source"))
    plain, sampled = (Candidates.open(folder, one, vocabularies) for one in (config, wild))
    assert rows(plain, 0) == rows(sampled, 0)
    assert plain.batch(0).source.tolist() != sampled.batch(0).source.tolist()
    assert sampled.batch(0).source.equal(sampled.batch(0).source)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not JSON", "is not {"),
        ('{"source": "a", "candidates": ["b"], "gains": [0.5]}', "with 5 candidates"),
        ('{"source": "a", "candidates": ["b", "c", "d", "e", "f"], "gains": [0, 0, 0, 0, 2]}', "from 0 to 1"),
        ('{"source": 3, "candidates": ["b", "c", "d", "e", "f"], "gains": [0, 0, 0, 0, 1]}', "is not {"),
        ('["source"]', "is not {"),
    ],
)  # fmt: skip
def test_an_invalid_line_is_an_error_that_names_it(
    folder: Path, config: Config, vocabularies: Vocabularies, line: str, message: str
) -> None:
    with (folder / PATH).open("a") as file:
        file.write(f"{line}\n")
    number = len((folder / PATH).read_text().splitlines())
    with pytest.raises(DataError) as caught:
        Candidates.open(folder, config, vocabularies)
    assert f"{folder / PATH}:{number}: " in str(caught.value)
    assert message in str(caught.value)


def test_long_lists_are_left_out_and_having_none_is_an_error(
    folder: Path, config: Config, vocabularies: Vocabularies
) -> None:
    lists = Candidates.open(folder, config, vocabularies).lists
    longest = [max(len(side) for pair in one.pairs for side in pair) for one in lists]
    limit = sorted(longest)[len(longest) // 2]
    short = replace(config, data=replace(config.data, max_tokens=limit))
    kept = Candidates.open(folder, short, vocabularies).lists
    assert len(kept) == sum(length <= limit for length in longest) < len(lists)
    none = replace(config, data=replace(config.data, max_tokens=4))
    with pytest.raises(DataError, match=r"within data.max_tokens = 4 tokens; .* export.candidates"):
        Candidates.open(folder, none, vocabularies)
    (folder / PATH).unlink()
    with pytest.raises(DataError, match=r"has no candidates.<direction>.jsonl of de-en"):
        Candidates.open(folder, config, vocabularies)
