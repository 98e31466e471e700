"""Vocabularies: text is preserved, no text encodes to a tag, and failures to learn have clear errors."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from model.config import Config
from model.data.text import read_aligned
from model.tokenizer import Tokenizer, Vocabularies, VocabularyError, train_tokenizer


@pytest.fixture
def tokenizer(corpus_folder: Path, config: Config) -> Tokenizer:
    text = read_aligned(corpus_folder, "train", ("de", "en"))
    return Tokenizer(train_tokenizer(config, text["de"] + text["en"], "x"))


def test_text_is_unchanged_by_encoding_and_cannot_contain_a_tag(tokenizer: Tokenizer) -> None:
    texts = ["Der alte Hund schläft.", "the small cat sings today."]
    assert tokenizer.decode(tokenizer.encode(texts)) == texts
    tags = {tokenizer.tag_id("de"), tokenizer.tag_id("en")}
    assert len(tags) == 2
    assert not tags & set(tokenizer.encode(["<2de> <2en>"])[0])
    with pytest.raises(VocabularyError, match="no tag <2fr>"):
        tokenizer.tag_id("fr")


def test_a_vocabulary_too_large_for_the_text_is_an_error_with_the_limit(config: Config) -> None:
    with pytest.raises(
        VocabularyError, match=r"data: cannot give a vocabulary of 72 tokens: .*<= \d+"
    ):
        train_tokenizer(config, ["ab", "ba"], "data")


@pytest.fixture
def text(corpus_folder: Path) -> list[str]:
    """The toy language with numbers that a vocabulary would learn as whole pieces."""
    words = read_aligned(corpus_folder, "train", ("de", "en"))
    return [*words["de"], *words["en"], *["Am 17. Mai war es die 20242024."] * 500]


def pieces_of(config: Config, text: list[str], **data: Any) -> sentencepiece.SentencePieceProcessor:
    """Return the learnt vocabulary, read with SentencePiece itself."""
    config = replace(
        config, model=replace(config.model, vocab_size=82), data=replace(config.data, **data)
    )
    return sentencepiece.SentencePieceProcessor(model_proto=train_tokenizer(config, text, "x"))


@pytest.mark.parametrize("vocab_type", ["unigram", "bpe"])
def test_a_symbol_is_one_piece_in_any_context(
    config: Config, text: list[str], vocab_type: str
) -> None:
    symbols = ("<p0>", "<p1>")
    processor = pieces_of(config, text, vocab_type=vocab_type, symbols=symbols)
    for sentence in ("<p0>", "Der<p0>Hund", "der <p1><p0>, <p0>.", "<p<p1>0>", "1<p0>2 <P0> <p2>"):
        for alpha in (0.0, 0.3):
            pieces = processor.encode(
                sentence, out_type=str, enable_sampling=alpha > 0, alpha=alpha, nbest_size=-1
            )
            assert [one for one in pieces if "p0" in one or "p1" in one] == [
                sentence[at : at + 4]
                for at in range(len(sentence))
                if sentence[at : at + 4] in symbols
            ]
            assert "".join(pieces).replace("▁", " ").strip() == sentence
    assert "<p0>" not in pieces_of(config, text).encode("Der <p0> Hund", out_type=str)


@pytest.mark.parametrize("vocab_type", ["unigram", "bpe"])
def test_digits_are_split_if_configured(config: Config, text: list[str], vocab_type: str) -> None:
    merged = pieces_of(config, text, vocab_type="bpe").encode("Am 20242024", out_type=str)
    assert re.search(r"\d\d", "|".join(merged)), "without the option, digits are merged"
    split = pieces_of(config, text, vocab_type=vocab_type, split_digits=True)
    for number in ("20242024", "17.024,20", "Mai2024"):
        digits = [one for one in split.encode(number, out_type=str) if any(map(str.isdigit, one))]
        assert digits == [one for one in number if one.isdigit()]


def test_separate_vocabularies_are_saved_apart_and_a_joint_one_once(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    other = Tokenizer(tokenizer.model)
    for name, pair in (("one", (tokenizer, tokenizer)), ("two", (tokenizer, other))):
        folder = tmp_path / name
        folder.mkdir()
        Vocabularies(*pair).save(folder)
        loaded = Vocabularies.load(folder)
        assert loaded == Vocabularies(*pair)
        assert loaded.is_joint == (name == "one")
