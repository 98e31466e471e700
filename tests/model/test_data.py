"""Files to batches: what is wrong with a file is told by line, and nothing is lost on the way."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from model.config import Config
from model.data import Batcher, Corpus, DataError, Pair, read_aligned, read_lines
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer, VocabularyError, train_tokenizer


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\n\nthree\n", r"train\.de:2: the line is empty"),
        (b"one\n \t\n", r"train\.de:2: the line is empty"),
        (b"one\ntw\xff\n", r"train\.de:2: not UTF-8: invalid start byte at byte 2"),
        (b"", r"train\.de: is empty"),
        (None, r"train\.de: cannot be read: No such file"),
    ],
)
def test_bad_files_are_told_by_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "train.de").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_lines(tmp_path / "train.de")


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("a\u2028b\r\nc\x0cd\nlast".encode())
    assert read_lines(path) == ["a\u2028b", "c\x0cd", "last"]


def test_files_of_different_length_are_refused(tmp_path: Path) -> None:
    (tmp_path / "train.de").write_text("eins\nzwei\n")
    (tmp_path / "train.en").write_text("one\n")
    with pytest.raises(DataError, match=r"train\.en: has 1 lines, but .*train\.de has 2"):
        read_aligned(tmp_path, "train", ("de", "en"))


@pytest.fixture
def tokenizer(corpus_folder: Path, config: Config) -> Tokenizer:
    text = read_aligned(corpus_folder, "train", ("de", "en"))
    return Tokenizer(train_tokenizer(config, text["de"] + text["en"], "x"))


def test_the_vocabulary_gives_text_back_and_no_text_can_spell_a_tag(tokenizer: Tokenizer) -> None:
    texts = ["Der alte Hund schläft.", "the small cat sings today."]
    assert tokenizer.decode(tokenizer.encode(texts)) == texts
    tags = {tokenizer.tag_id("de"), tokenizer.tag_id("en")}
    assert len(tags) == 2
    assert not tags & set(tokenizer.encode(["<2de> <2en>"])[0])
    with pytest.raises(VocabularyError, match="no tag <2fr>"):
        tokenizer.tag_id("fr")


def test_a_vocabulary_that_the_text_cannot_give_is_an_error_with_the_limit(config: Config) -> None:
    with pytest.raises(
        VocabularyError, match=r"data: cannot give a vocabulary of 72 tokens: .*<= \d+"
    ):
        train_tokenizer(config, ["ab", "ba"], "data")


def test_a_corpus_has_every_pair_in_every_direction(
    corpus_folder: Path, config: Config, tokenizer: Tokenizer
) -> None:
    text = read_aligned(corpus_folder, "valid", ("de", "en"))
    corpus = Corpus.encode(text, config.data, tokenizer)
    assert (len(corpus.pairs), corpus.num_too_long) == (40, 0)
    first, last = corpus.pairs[0], corpus.pairs[-1]
    assert first.source[0] == tokenizer.tag_id("en")
    assert last.source[0] == tokenizer.tag_id("de")
    assert first.source[-1] == first.target[-1] == EOS_ID
    assert tokenizer.decode([first.target.tolist()]) == [text["en"][0]]


def random_pairs(count: int) -> list[Pair]:
    rng = np.random.default_rng(0)
    return [
        Pair(np.full(rng.integers(2, 40), index + 4), np.full(rng.integers(2, 40), index + 4))
        for index in range(count)
    ]


def test_an_epoch_holds_every_pair_once_within_the_budget() -> None:
    pairs = random_pairs(500)
    batcher = Batcher(pairs, batch_tokens=400, seed=5)
    batches = batcher.epoch(0)
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    padded = real = 0
    for indices in batches:
        batch = batcher.collate(indices)
        assert max(batch.source.numel(), batch.target_out.numel()) <= 400
        padded += batch.target_out.numel()
        real += int((batch.target_out != PAD_ID).sum())
    assert real / padded > 0.95


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    pairs = random_pairs(100)
    one, other = (Batcher(pairs, 200, seed=1) for _ in range(2))
    as_lists = [
        [batch.tolist() for batch in batches]
        for batches in (
            one.epoch(3),
            other.epoch(3),
            one.epoch(4),
            Batcher(pairs, 200, seed=2).epoch(3),
        )
    ]
    assert as_lists[0] == as_lists[1]
    assert as_lists[0] != as_lists[2]
    assert as_lists[0] != as_lists[3]


def test_going_on_from_a_place_gives_what_would_have_come() -> None:
    batcher = Batcher(random_pairs(60), 300, seed=1)
    whole = list(islice(batcher.from_position(0, 0), 30))
    for start in (1, 7, 20):
        epoch, number, _ = whole[start]
        rest = list(islice(batcher.from_position(epoch, number), 5))
        for (e, n, batch), (e2, n2, batch2) in zip(rest, whole[start:], strict=False):
            assert (e, n) == (e2, n2)
            assert all(a.equal(b) for a, b in zip(batch, batch2, strict=True))


def test_the_decoder_reads_what_it_has_to_predict_one_step_later() -> None:
    pair = Pair(np.array([9, 5, EOS_ID]), np.array([6, 7, 8, EOS_ID]))
    short = Pair(np.array([9, EOS_ID]), np.array([6, EOS_ID]))
    batch = Batcher([pair, short], 100, 0).collate(np.array([0, 1]))
    assert batch.target_in.tolist() == [[BOS_ID, 6, 7, 8], [BOS_ID, 6, PAD_ID, PAD_ID]]
    assert batch.target_out.tolist() == [[6, 7, 8, EOS_ID], [6, EOS_ID, PAD_ID, PAD_ID]]
    assert batch.source.tolist() == [[9, 5, EOS_ID], [9, EOS_ID, PAD_ID]]
