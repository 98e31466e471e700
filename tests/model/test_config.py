"""Presets load, and errors name the invalid option."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from model.config import (
    PRESETS,
    Config,
    ConfigError,
    CorpusConfig,
    DataConfig,
    ModelConfig,
    TrainingConfig,
    load_config,
)


@pytest.mark.parametrize("preset", ["tiny", "small", "base", "big", "multi30k"])
def test_presets_load_and_are_unchanged_by_json(preset: str) -> None:
    config = load_config(preset)
    assert Config.from_mapping(json.loads(json.dumps(config.to_mapping())), "x") == config


def test_every_option_in_the_reference_preset_has_a_comment() -> None:
    for line in (PRESETS / "small.toml").read_text(encoding="utf-8").splitlines():
        assert "=" not in line.partition("#")[0] or "#" in line, line


def test_the_reference_preset_names_every_option() -> None:
    text = (PRESETS / "small.toml").read_text(encoding="utf-8")
    for section in (ModelConfig, DataConfig, TrainingConfig, CorpusConfig):
        for field in dataclasses.fields(section):
            assert re.search(rf"^(# )?(\[data\.)?{field.name}\b", text, re.MULTILINE), field.name


def test_corpora_are_configured_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    preset = (PRESETS / "small.toml").read_text(encoding="utf-8")
    path.write_text(preset + '[data.corpora.news]\nweight = 2\n[data.corpora."a.b"]\n')
    config = load_config(str(path), ['data.corpora.news.directions=["de-en"]'])
    assert config.data.corpora == {"news": CorpusConfig(2.0, ("de-en",)), "a.b": CorpusConfig()}
    assert Config.from_mapping(json.loads(json.dumps(config.to_mapping())), "x") == config


def test_overrides_replace_the_values_of_the_preset() -> None:
    config = load_config(
        "small",
        [
            "training.max_steps=7",
            'data.symbols=["<p0>", "<p1>"]',
            'data.directions=["fr-en"]',
            "training.precision=fp32",
        ],
    )
    assert config.training.max_steps == 7
    assert config.data.symbols == ("<p0>", "<p1>")
    assert config.data.languages == ("en", "fr")
    assert config.training.precision == "fp32"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "training.max_step=7",
            r"--set training.max_step=7: \[training\]: unknown key 'max_step'; did you mean max_steps\?",
        ),
        ("trainin.max_steps=7", r"unknown section \[trainin\]"),
        ("max_steps=7", "not of the form section.key=value"),
        ("training.max_steps=many", "max_steps = 'many' is not of type int"),
        ("training.max_steps=0", "training.max_steps = 0 must be at least 1"),
        ("model.d_model=100", "model.d_model = 100 must be a multiple of 2 x num_heads = 8"),
        ("model.dropout=1.5", r"model.dropout = 1.5 must be in \[0, 1\)"),
        ('data.directions=["deen"]', "'deen' is not of the form 'de-en'"),
        ("data.vocab_type=words", "data.vocab_type = 'words'"),
        ("model.norm=middle", "model.norm = 'middle' must be one of post, pre"),
        ("training.optimizer=sgd", "training.optimizer = 'sgd' must be one of adam, muon"),
        ("training.muon_rate_factor=0", "training.muon_rate_factor = 0.0 must be above 0"),
        ("training.table_rate_factor=-1", "training.table_rate_factor = -1.0 must be above 0"),
        (
            "model.activation=tanh",
            "model.activation = 'tanh' must be one of gelu, gelu_sigmoid, gelu_tanh, relu, silu",
        ),
        ("model.attention_dropout=1", r"model.attention_dropout = 1.0 must be in \[0, 1\)"),
        ("data.vocabulary=separate", 'needs model.embeddings = "target" or "separate"'),
        ("data.temperature=0.5", "data.temperature = 0.5 must be at least 1"),
        ("data.subword_alpha=2", r"data.subword_alpha = 2.0 must be in \[0, 1\]"),
        ("data.subword_sides=target", "data.subword_sides = 'target' must be one of both, source"),
        ("data.corpora.web.weight=-1", "data.corpora.NAME.weight = -1.0 must be at least 0"),
        ("data.corpora.web.wieght=1", "unknown key 'wieght'; did you mean weight."),
        ('data.corpora.web.directions=["fr-en"]', "fr-en is not among data.directions"),
        ("data.corpora=web", "corpora must be a table, not 'web'"),
        ("training.max_minutes=-1", "training.max_minutes = -1.0 must be at least 0"),
        ("training.patience=-1", "training.patience = -1 must be at least 0"),
        ("training.r_drop=5.0", "unknown key 'r_drop'"),
        ("training.bleu_sentences=0", "training.bleu_sentences = 0 must be at least 1"),
        ("training.clip_norm=0", "training.clip_norm = 0.0 must be above 0"),
        (
            "training.adam_betas=[0.9, 1.0]",
            r"training.adam_betas = \[0.9, 1.0\] must be in \[0, 1\)",
        ),
        ("data.character_coverage=0", r"data.character_coverage = 0.0 must be in \(0, 1\]"),
        ("data.symbols=<p0>", "symbols = '<p0>' is not a list of strings"),
        ("data.symbols=[1]", r"symbols = \(1,\) is not a list of strings"),
        ('data.symbols=["<p0>", "<p0>"]', r"data.symbols = \['<p0>', '<p0>'\] must be distinct"),
        ('data.symbols=[""]', r"data.symbols = \[''\] must be distinct, non-empty"),
        ('data.symbols=["a b"]', r"data.symbols = \['a b'\] must be distinct.* without spaces"),
        ('data.symbols=["<p0>", "<s>"]', "data.symbols: <s> is a token of every vocabulary"),
        ("data.split_digits=1", "split_digits = 1 is not of type bool"),
        ("training.data_workers=-1", "training.data_workers = -1 must be at least 0"),
        ("training.precision=fp8", "training.precision = 'fp8' must be one of auto, bf16, fp32"),
    ],
)
def test_invalid_overrides_are_errors_that_name_the_option(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config("small", [override])


def test_unknown_presets_and_invalid_toml_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither a TOML file nor one of the presets base, big"):
        load_config("medium")
    broken = tmp_path / "x.toml"
    broken.write_text("[model\n")
    with pytest.raises(ConfigError, match=r"x\.toml: not valid TOML"):
        load_config(str(broken))
