"""Corpora on disk: every pair in every direction, as often as the configuration says."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from model.config import Config, CorpusConfig, DataConfig
from model.data.corpus import Corpus, encode_pairs
from model.data.text import DataError, read_aligned
from model.tokenizer import EOS_ID, Tokenizer, Vocabularies, train_tokenizer


@pytest.fixture
def tokenizer(corpus_folder: Path, config: Config) -> Tokenizer:
    text = read_aligned(corpus_folder, "train", ("de", "en"))
    return Tokenizer(train_tokenizer(config, text["de"] + text["en"], "x"))


@pytest.fixture
def vocabularies(tokenizer: Tokenizer) -> Vocabularies:
    return Vocabularies(tokenizer, tokenizer)


def split_up(folder: Path, **sizes: int) -> None:
    """Split `train.<code>` into corpora with these numbers of lines."""
    for code in ("de", "en"):
        lines = (folder / f"train.{code}").read_text().splitlines(keepends=True)
        (folder / f"train.{code}").unlink()
        for name, size in sizes.items():
            (folder / f"train.{name}.{code}").write_text("".join(lines[:size]))
            lines = lines[size:]


def drawn(corpus: Corpus, epoch: int = 0) -> dict[str, Counter[int]]:
    """Count how often an epoch has each pair of each group."""
    ends = [0, *corpus.ends.tolist()]
    count = Counter(corpus.draw(np.random.default_rng(epoch)).tolist())
    return {
        group.name: Counter({n - ends[at]: count[n] for n in range(ends[at], ends[at + 1])})
        for at, group in enumerate(corpus.groups)
    }


def test_a_corpus_has_every_pair_in_every_direction(
    corpus_folder: Path, config: Config, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    corpus = Corpus.open(corpus_folder, config.data, vocabularies, tmp_path / "tokens")
    text = read_aligned(corpus_folder, "train", ("de", "en"))
    assert (len(corpus), corpus.num_too_long) == (400, 0)
    for number, target, code in ((0, "en", "de"), (200, "de", "en"), (399, "de", "en")):
        pair, line = corpus[number], number % 200
        assert pair.source[0] == vocabularies.source.tag_id(target)
        assert pair.source[-1] == pair.target[-1] == EOS_ID
        assert vocabularies.source.decode([pair.source[1:].tolist()]) == [text[code][line]]
        assert vocabularies.target.decode([pair.target.tolist()]) == [text[target][line]]
        assert corpus.source_lengths[number] == len(pair.source)
        assert corpus.target_lengths[number] == len(pair.target)
    in_memory = encode_pairs(text, config.data, vocabularies)
    assert all(
        one.source.tolist() == corpus[at].source.tolist()
        and one.target.tolist() == corpus[at].target.tolist()
        for at, one in enumerate(in_memory)
    )


def test_text_is_tokenized_once_and_again_when_it_changes(
    corpus_folder: Path,
    config: Config,
    vocabularies: Vocabularies,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    encode = Tokenizer.encode

    def counting(self: Tokenizer, sentences: list[str]) -> list[list[int]]:
        calls.append(len(sentences))
        return encode(self, sentences)

    monkeypatch.setattr(Tokenizer, "encode", counting)
    Corpus.open(corpus_folder, config.data, vocabularies, tmp_path / "tokens")
    assert sum(calls) == 400, "each side is tokenized once for both directions"
    Corpus.open(corpus_folder, config.data, vocabularies, tmp_path / "tokens")
    assert sum(calls) == 400
    with (corpus_folder / "train.de").open("a") as file:
        file.write("der Hund\n")
    with pytest.raises(DataError, match=r"train\.en: has 200 lines, but .*train\.de has 201"):
        Corpus.open(corpus_folder, config.data, vocabularies, tmp_path / "tokens")
    assert sum(calls) == 400 + 201


def test_an_epoch_has_each_corpus_as_often_as_its_weight(
    corpus_folder: Path, config: Config, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    split_up(corpus_folder, a=120, b=40, c=20, d=20)
    corpora = {
        "b": CorpusConfig(weight=2.5),
        "c": CorpusConfig(weight=0),
        "d": CorpusConfig(directions=("en-de",)),
    }
    data = replace(config.data, corpora=corpora)
    counts = drawn(Corpus.open(corpus_folder, data, vocabularies, tmp_path))
    assert counts.keys() == {"a de-en", "a en-de", "b de-en", "b en-de", "d en-de"}
    assert set(counts["a de-en"].values()) == {1}
    assert Counter(counts["b en-de"].values()) == {2: 20, 3: 20}
    assert sum(counts["d en-de"].values()) == 20


def test_a_temperature_draws_small_corpora_more_often(
    corpus_folder: Path, config: Config, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    split_up(corpus_folder, large=160, small=40)
    data = replace(config.data, temperature=2.0)
    counts = drawn(Corpus.open(corpus_folder, data, vocabularies, tmp_path))
    large, small = (sum(counts[f"{name} de-en"].values()) for name in ("large", "small"))
    assert large == 160
    assert small / large == pytest.approx((40 / 160) ** 0.5)


def test_a_missing_or_empty_corpus_is_an_error(
    corpus_folder: Path, config: Config, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    data = replace(config.data, corpora={"web": CorpusConfig()})
    with pytest.raises(DataError, match=r"has no train\.web\.<code>, which data\.corpora names"):
        Corpus.open(corpus_folder, data, vocabularies, tmp_path)
    with pytest.raises(DataError, match=r"no pair of .* is within data\.max_tokens = 4 tokens"):
        Corpus.open(corpus_folder, replace(config.data, max_tokens=4), vocabularies, tmp_path)


def test_a_direction_without_its_files_is_an_error(
    corpus_folder: Path, config: Config, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    for code in ("de", "fr"):
        (corpus_folder / f"train.web.{code}").write_text("x\n")
    three = replace(config.data, directions=("de-en", "fr-en"))
    with pytest.raises(DataError, match=r"train\.web\.fr: none of data\.directions is between"):
        Corpus.open(corpus_folder, three, vocabularies, tmp_path)
    named = replace(three, corpora={"web": CorpusConfig(directions=("de-en",))})
    with pytest.raises(
        DataError, match=r"names de-en, which needs train\.web\.de and train\.web\.en"
    ):
        Corpus.open(corpus_folder, named, vocabularies, tmp_path)


def test_pairs_that_are_too_long_are_counted(
    corpus_folder: Path, config: Config, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    whole = Corpus.open(corpus_folder, config.data, vocabularies, tmp_path)
    limit = int(np.median(whole.source_lengths))
    short = Corpus.open(
        corpus_folder, replace(config.data, max_tokens=limit), vocabularies, tmp_path
    )
    longest = np.maximum(whole.source_lengths, whole.target_lengths)
    assert (len(short), short.num_too_long) == ((longest <= limit).sum(), (longest > limit).sum())


@pytest.mark.parametrize("vocab_type", ["unigram", "bpe"])
def test_sampled_subwords_are_other_segmentations_of_the_same_text(
    corpus_folder: Path, config: Config, tmp_path: Path, vocab_type: Literal["unigram", "bpe"]
) -> None:
    data: DataConfig = replace(config.data, vocab_type=vocab_type)
    text = read_aligned(corpus_folder, "train", ("de", "en"))
    model = train_tokenizer(replace(config, data=data), text["de"] + text["en"], "x")
    tokenizer = Tokenizer(model)
    corpus = Corpus.open(corpus_folder, data, Vocabularies(tokenizer, tokenizer), tmp_path)
    numbers = np.array([3, 250, 7, 399])
    one, again, other = (corpus.sampled(numbers, 0.3, seed) for seed in (1, 1, 2))
    segmented = [[pair.target.tolist() for pair in pairs] for pairs in (one, again, other)]
    assert segmented[0] == segmented[1]
    assert segmented[0] != segmented[2]
    whole = [corpus[number].target.tolist() for number in numbers.tolist()]
    assert segmented[0] != whole
    assert tokenizer.decode(segmented[0]) == tokenizer.decode(whole)
    assert [pair.source[0] for pair in one] == [
        corpus[number].source[0] for number in numbers.tolist()
    ]
    source_alone = corpus.sampled(numbers, 0.3, 1, "source")
    assert [pair.target.tolist() for pair in source_alone] == whole
    assert [pair.source.tolist() for pair in source_alone] == [pair.source.tolist() for pair in one]
