"""The README's examples of a new rule and a new language work."""

import re
from pathlib import Path

import pytest

from service.text import document
from service.text import pipeline as pipelines
from service.text.languages import Languages
from service.text.pipeline import Pipeline
from service.text.rules.quotes import Quotes
from service.text.rules.rule import Rule
from service.text.segmenter import split
from service.text.tables import Tables
from service.text.tokenizer import Tokenizer, Tokenizers
from tests.conftest import TINY_BUNDLE

README = Path(document.__file__).with_name("README.md").read_text("utf-8")


def block(language: str) -> str:
    """Return the README's only code block in a language."""
    [found] = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return str(found)


def test_the_example_of_a_rule_works(monkeypatch: pytest.MonkeyPatch) -> None:
    written: dict[str, type[Rule]] = {}
    exec(block("python"), written)
    order = (*pipelines.ORDER, written["Ampersand"])
    monkeypatch.setattr(pipelines, "ORDER", order)
    monkeypatch.setattr(pipelines, "RULES", {rule.name: rule for rule in order})
    tokenizer = Tokenizer(TINY_BUNDLE / "sentencepiece.model")
    both = Tokenizers(tokenizer, tokenizer)
    made = Pipeline.make(Tables(TINY_BUNDLE), ("de", "en"), both, {"ampersand": {}})
    apart = document.take_apart("Hund & Katze.", "text", pipeline=made)
    [sentence] = apart.sentences
    assert sentence.text == "Hund + Katze."
    assert apart.assemble([sentence.translated("Dog + cat.", None)]) == "Dog & cat."


def test_the_example_of_a_language_works(tmp_path: Path) -> None:
    (tmp_path / "qaa.toml").write_text(block("toml"), "utf-8")
    made_up = Languages(tmp_path).profile("qaa")
    sentences = [
        one.text for one in split("Ab zb. Cd ef§ Gh ij.", "all", made_up) if one.is_sentence
    ]
    assert sentences == ["Ab zb. Cd ef§", "Gh ij."]
    pipeline = Pipeline([Quotes(made_up.quotes)], made_up)
    parts = document.take_apart("„Ab cd§ Ef“", "text", pipeline=pipeline).parts
    assert [one for one in parts if isinstance(one, str)] == ["‹", " ", "›"]


def test_the_readme_names_every_rule() -> None:
    table = README.split("| rule |")[1].split("\n\n")[0]
    named = {
        name: "bundle" if " bundle " in line else "always"
        for line in table.splitlines()
        for name in re.findall(r"`(\w+)`", line.split("|")[1] if "|" in line else "")
    }
    assert named == {
        rule.name: "always" if rule.is_default else "bundle" for rule in pipelines.ORDER
    }
