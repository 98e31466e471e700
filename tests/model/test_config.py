"""Presets load; whatever is wrong is named."""

import json
from pathlib import Path

import pytest

from model.config import PRESETS, Config, ConfigError, load_config


@pytest.mark.parametrize("preset", ["tiny", "small", "base", "big"])
def test_presets_load_and_survive_json(preset: str) -> None:
    config = load_config(preset)
    assert Config.from_mapping(json.loads(json.dumps(config.to_mapping())), "x") == config


def test_every_line_of_the_reference_preset_is_commented() -> None:
    for line in (PRESETS / "small.toml").read_text(encoding="utf-8").splitlines():
        assert "=" not in line.partition("#")[0] or "#" in line, line


def test_overrides_go_on_top() -> None:
    config = load_config(
        "small", ["training.max_steps=7", 'data.directions=["fr-en"]', "training.precision=fp32"]
    )
    assert config.training.max_steps == 7
    assert config.data.languages == ("en", "fr")
    assert config.training.precision == "fp32"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.max_step=7", "unknown key 'max_step'; known: seed"),
        ("trainin.max_steps=7", r"unknown section \[trainin\]"),
        ("max_steps=7", "not of the form section.key=value"),
        ("training.max_steps=many", "max_steps = 'many' is not of type int"),
        ("training.max_steps=0", "training.max_steps must be at least 1"),
        ("model.d_model=100", "model.d_model = 100 must be a multiple of 2 x num_heads = 8"),
        ("model.dropout=1.5", r"model.dropout = 1.5 must be in \[0, 1\)"),
        ('data.directions=["deen"]', "'deen' is not of the form 'de-en'"),
        ("data.vocab_type=words", "data.vocab_type = 'words'"),
        ("training.precision=fp8", "training.precision = 'fp8' is none of auto, bf16, fp32"),
    ],
)
def test_mistakes_are_named(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config("small", [override])


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither a TOML file nor one of the presets base, big"):
        load_config("medium")
    broken = tmp_path / "x.toml"
    broken.write_text("[model\n")
    with pytest.raises(ConfigError, match=r"x\.toml: not valid TOML"):
        load_config(str(broken))
