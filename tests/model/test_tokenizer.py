"""Vocabularies: text comes back, tags cannot be spelt, and what cannot be learnt is said."""

from pathlib import Path

import pytest

from model.config import Config
from model.data.text import read_aligned
from model.tokenizer import Tokenizer, Vocabularies, VocabularyError, train_tokenizer


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


def test_two_vocabularies_are_kept_apart_and_one_is_kept_once(
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
