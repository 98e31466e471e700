"""Tokens stand for protected parts if the model was trained with them."""

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
        ("Ein <p0> und {name}", "Ein <p0> und <p1>"),  # the text's own token is not used
    ],
)
def test_tokens_are_used_in_order(text: str, seen: str) -> None:
    found = sentence(text)
    assert found is not None
    assert found.text == seen


def test_tokens_are_replaced_wherever_they_occur() -> None:
    found = sentence("{count} Dateien von {name}")
    assert found is not None
    assert found.came_through("<p1>'s <p0> files")
    assert found.readable("<p1>'s <p0> files") == "{name}'s {count} files"


@pytest.mark.parametrize(
    "lost", ["files", "<p0> files", "<p0> <p0> files of <p1>", "<p2> <p0> of <p1>"]
)
def test_each_token_must_occur_exactly_once(lost: str) -> None:
    found = sentence("{count} Dateien von {name}")
    assert found is not None
    assert not found.came_through(lost)


def test_a_token_in_the_text_itself_is_allowed() -> None:
    for text in ("Ein <p0> und {name}", "Ein <p0>"):
        found = sentence(text)
        assert found is not None
        assert found.came_through(found.text)


def test_placeholders_for_which_there_is_no_token_have_figures() -> None:
    found = sentence("{a} {b} {c} {d} sind da")
    assert found is not None
    assert found.text == "<p0> <p1> <p2> 426 sind da"
    assert sentence("{a} " * 100 + "sind da") is None


@given(st.text(alphabet="ab {}%<p01>.", max_size=30))
def test_a_copied_text_is_unchanged(text: str) -> None:
    found = sentence(text)
    if found is not None and found.came_through(found.text):
        assert found.readable(found.text) == text


def test_a_vocabulary_without_the_tokens_is_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer(TINY_VOCABULARY)
    with pytest.raises(BundleError, match="<p0>"):
        Pipeline.make(
            Tables(tmp_path),
            ("de", "en"),
            Tokenizers(tokenizer, tokenizer),
            {"placeholders": {"tokens": list(TOKENS)}},
        )


@pytest.mark.parametrize("tokens", [["p0"], ["<p 0>"], [""], "<p0>", [3]])
def test_tokens_must_be_in_angle_brackets(tokens: object) -> None:
    with pytest.raises(ValueError, match="placeholders"):
        checked("placeholders", {"tokens": tokens})
