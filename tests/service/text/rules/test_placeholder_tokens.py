"""A model that was trained with tokens for what is protected is given these, in the place of names."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import BundleError
from service.text.pipeline import Pipeline, checked
from service.text.rules.placeholders import Placeholders
from service.text.run import Run
from service.text.sentence import Sentence, prepared
from service.text.tables import Tables
from service.text.tokenizer import Tokenizer, Tokenizers

TOKENS = ("<p0>", "<p1>", "<p2>")
TINY_VOCABULARY = Path(__file__).parents[3] / "data" / "tiny_bundle" / "sentencepiece.model"


def sentence(text: str) -> Sentence | None:
    pipeline = Pipeline([Placeholders(TOKENS)])
    return prepared(pipeline.prepare_run(Run(text)), pipeline)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Hallo {name}, %d Nachrichten", "Hallo <p0>, <p1> Nachrichten"),
        ("Die {name}s-Datei", "Die <p0>s-Datei"),  # a name would run into the word
        ("Ein <p0> und {name}", "Ein <p0> und <p1>"),  # the text's own is left to the text
    ],
)
def test_tokens_stand_in_order(text: str, seen: str) -> None:
    found = sentence(text)
    assert found is not None
    assert found.text == seen


def test_the_translation_has_what_they_stand_for_wherever_they_come_out() -> None:
    found = sentence("{count} Dateien von {name}")
    assert found is not None
    assert found.came_through("<p1>'s <p0> files")
    assert found.readable("<p1>'s <p0> files") == "{name}'s {count} files"


@pytest.mark.parametrize(
    "lost", ["files", "<p0> files", "<p0> <p0> files of <p1>", "<p2> <p0> of <p1>"]
)
def test_each_is_to_come_out_once(lost: str) -> None:
    found = sentence("{count} Dateien von {name}")
    assert found is not None
    assert not found.came_through(lost)


def test_a_token_that_the_text_has_itself_may_come_out() -> None:
    for text in ("Ein <p0> und {name}", "Ein <p0>"):
        found = sentence(text)
        assert found is not None
        assert found.came_through(found.text)


def test_of_more_than_there_are_tokens_no_sentence_is_made() -> None:
    assert sentence("{a} {b} {c} {d} sind da") is None


@given(st.text(alphabet="ab {}%<p01>.", max_size=30))
def test_what_the_model_does_not_change_comes_out_as_it_was(text: str) -> None:
    found = sentence(text)
    if found is not None and found.came_through(found.text):
        assert found.readable(found.text) == text


def test_a_vocabulary_without_them_is_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer(TINY_VOCABULARY)
    with pytest.raises(BundleError, match="<p0>"):
        Pipeline.make(
            Tables(tmp_path),
            ("de", "en"),
            Tokenizers(tokenizer, tokenizer),
            {"placeholders": {"tokens": list(TOKENS)}},
        )


@pytest.mark.parametrize("tokens", [["p0"], ["<p 0>"], [""], "<p0>", [3]])
def test_a_manifest_names_tokens_in_pointed_brackets(tokens: object) -> None:
    with pytest.raises(ValueError, match="placeholders"):
        checked("placeholders", {"tokens": tokens})
