"""The configuration of a training run: network, data and training options, read from TOML and validated.

The presets are in `configs/*.toml`, with a comment on every option. Checkpoints store the same values
as JSON.
"""

import dataclasses
import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from model.checks import ConfigError as ConfigError
from model.checks import above_0, at_least, one_of, require, share
from model.network_config import ModelConfig as ModelConfig

PRESETS = Path(__file__).parent / "configs"
SubwordSides = Literal["both", "source"]
RETIRED = frozenset({"r_drop", "risk", "risk_batches"})
"""Training options of earlier versions, which bundles and checkpoints name."""


@dataclass(frozen=True)
class CorpusConfig:
    """Options for one of several corpora: `[data.corpora.NAME]` for the files `train.NAME.<code>`."""

    weight: float = 1.0
    directions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the weight and the directions."""
        at_least(0, self, "data.corpora.NAME", "weight")
        _check_directions("data.corpora: directions", self.directions)


def _check_directions(name: str, directions: tuple[str, ...]) -> None:
    for direction in directions:
        source, _, target = direction.partition("-")
        require(
            bool(source and target and source != target),
            f"{name}: {direction!r} is not of the form 'de-en'",
        )


@dataclass(frozen=True)
class DataConfig:
    """The directions to train, and how text becomes tokens."""

    directions: tuple[str, ...]
    vocabulary: Literal["joint", "separate"] = "joint"
    vocab_type: Literal["unigram", "bpe"] = "unigram"
    normalization: Literal["nmt_nfkc", "nfkc", "identity"] = "nmt_nfkc"
    character_coverage: float = 0.9999
    byte_fallback: bool = True
    split_digits: bool = False
    symbols: tuple[str, ...] = ()
    vocab_sentences: int = 2_000_000
    max_tokens: int = 128
    subword_alpha: float = 0.0
    subword_sides: SubwordSides = "both"
    temperature: float = 1.0
    corpora: Mapping[str, CorpusConfig] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check all values."""
        require(len(self.directions) >= 1, "data.directions must name at least one direction")
        _check_directions("data.directions", self.directions)
        for name, corpus in self.corpora.items():
            unknown = sorted(set(corpus.directions) - set(self.directions))
            require(
                not unknown,
                f"data.corpora.{name}: {', '.join(unknown)} is not among data.directions",
            )
        require(
            0 <= self.subword_alpha <= 1,
            f"data.subword_alpha = {self.subword_alpha} must be in [0, 1]",
        )
        require(
            0 < self.character_coverage <= 1,
            f"data.character_coverage = {self.character_coverage} must be in (0, 1]",
        )
        require(
            all(symbol.split() == [symbol] for symbol in self.symbols)
            and len(set(self.symbols)) == len(self.symbols),
            f"data.symbols = {list(self.symbols)} must be distinct, non-empty and without spaces",
        )
        reserved = sorted({"<pad>", "<unk>", "<s>", "</s>"}.intersection(self.symbols))
        require(not reserved, f"data.symbols: {', '.join(reserved)} is a token of every vocabulary")
        at_least(1, self, "data", "temperature", "vocab_sentences")
        at_least(4, self, "data", "max_tokens")
        one_of(self, "data", vocabulary=("joint", "separate"), vocab_type=("unigram", "bpe"))
        one_of(self, "data", normalization=("nmt_nfkc", "nfkc", "identity"))
        one_of(self, "data", subword_sides=("both", "source"))

    @property
    def sources(self) -> tuple[str, ...]:
        """All source languages, sorted."""
        return tuple(sorted({pair.split("-")[0] for pair in self.directions}))

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages of the directions, sorted."""
        return tuple(sorted({code for pair in self.directions for code in pair.split("-")}))

    @property
    def targets(self) -> tuple[str, ...]:
        """All target languages, sorted."""
        return tuple(sorted({pair.split("-")[1] for pair in self.directions}))


@dataclass(frozen=True)
class TrainingConfig:
    """The training options: section 5 of the paper, and what must change for machines of other sizes."""

    seed: int = 1
    batch_tokens: int = 4096
    accumulate_batches: int = 1
    max_steps: int = 100_000
    max_minutes: float = 0.0
    warmup_steps: int = 4000
    learning_rate_factor: float = 1.0
    cooldown_steps: int = 0
    optimizer: Literal["adam", "muon"] = "adam"
    muon_rate_factor: float = 6.0
    table_rate_factor: float = 1.0
    attention_limit: float = 0.0
    adam_betas: tuple[float, float] = (0.9, 0.98)
    adam_epsilon: float = 1e-9
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    compile: bool = False
    data_workers: int = 0
    log_every: int = 50
    validate_every: int = 1000
    bleu_sentences: int = 200
    patience: int = 0
    checkpoint_every: int = 1000
    checkpoint_minutes: float = 0.0
    keep_checkpoints: int = 5

    def __post_init__(self) -> None:
        """Check all values."""
        intervals = ("log_every", "validate_every", "checkpoint_every")
        at_least(1, self, "training", "batch_tokens", "accumulate_batches", "max_steps", *intervals)
        counts = ("warmup_steps", "keep_checkpoints", "bleu_sentences")
        at_least(1, self, "training", *counts)
        may_be_0 = ("seed", "cooldown_steps", "patience", "data_workers")
        at_least(
            0, self, "training", "max_minutes", "checkpoint_minutes", "attention_limit", *may_be_0
        )
        rates = ("learning_rate_factor", "muon_rate_factor", "table_rate_factor")
        above_0(self, "training", *rates, "clip_norm", "adam_epsilon")
        share(self, "training", "label_smoothing")
        require(
            all(0 <= beta < 1 for beta in self.adam_betas),
            f"training.adam_betas = {list(self.adam_betas)} must be in [0, 1)",
        )
        one_of(self, "training", precision=("auto", "bf16", "fp32"), optimizer=("adam", "muon"))


@dataclass(frozen=True)
class Config:
    """The configuration of one training run."""

    model: ModelConfig
    data: DataConfig
    training: TrainingConfig

    def __post_init__(self) -> None:
        """Check that separate vocabularies do not share one embedding table."""
        require(
            self.data.vocabulary == "joint" or self.model.embeddings != "shared",
            'data.vocabulary = "separate" needs model.embeddings = "target" or "separate": two '
            "vocabularies cannot share one table",
        )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], origin: str) -> Self:
        """Build a configuration from nested mappings.

        Raises:
            ConfigError: a key is unknown or missing, or a value is invalid. The message names `origin`.
        """
        sections = {field.name: field.type for field in dataclasses.fields(cls)}
        for name in values:
            require(
                name in sections,
                f"{origin}: unknown section [{name}]; known: {', '.join(sections)}",
            )
        try:
            return cls(
                model=ModelConfig(
                    **_section(ModelConfig, values.get("model", {}), f"{origin}: [model]")
                ),
                data=DataConfig(
                    **_section(DataConfig, values.get("data", {}), f"{origin}: [data]")
                ),
                training=TrainingConfig(
                    **_section(TrainingConfig, values.get("training", {}), f"{origin}: [training]")
                ),
            )
        except ConfigError as error:
            raise ConfigError(
                str(error) if str(error).startswith(origin) else f"{origin}: {error}"
            ) from None

    @classmethod
    def from_stored(cls, values: Mapping[str, Any], origin: str) -> Self:
        """Build the configuration that an earlier run wrote, without options that no longer exist.

        Raises:
            ConfigError: see `from_mapping`.
        """
        training = values.get("training", {})
        kept = {name: value for name, value in training.items() if name not in RETIRED}
        return cls.from_mapping({**values, "training": kept}, origin)

    def to_mapping(self) -> dict[str, Any]:
        """Return the nested mappings that `from_mapping` reads. They can be written as JSON."""
        return dataclasses.asdict(self)


def _section(kind: type, values: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """Check the names and types of a section's values, and return them as arguments of its dataclass."""
    require(isinstance(values, Mapping), f"{origin} must be a table, not {values!r}")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    result: dict[str, Any] = {}
    for name, value in values.items():
        if name not in fields:
            similar = difflib.get_close_matches(name, fields, 1)
            hint = f"did you mean {similar[0]}?" if similar else f"known: {', '.join(fields)}"
            raise ConfigError(f"{origin}: unknown key {name!r}; {hint}")
        result[name] = _value(name, value, fields[name].default, origin)
    for name, known_field in fields.items():
        optional = known_field.default is not dataclasses.MISSING or name == "corpora"
        require(name in result or optional, f"{origin}: {name} is missing")
    return result


def _value(name: str, value: Any, default: Any, origin: str) -> Any:
    """Check one value and convert it to the type of its field."""
    if name == "corpora":
        require(isinstance(value, Mapping), f"{origin}: corpora must be a table, not {value!r}")
        return {
            corpus: CorpusConfig(
                **_section(CorpusConfig, corpus_values, f"{origin}: corpora.{corpus}")
            )
            for corpus, corpus_values in value.items()
        }
    if isinstance(value, list):
        value = tuple(value)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    expected: type = int if default is dataclasses.MISSING else type(default)
    if name in ("directions", "symbols"):
        require(
            isinstance(value, tuple) and all(isinstance(item, str) for item in value),
            f"{origin}: {name} = {value!r} is not a list of strings",
        )
        return value
    require(
        type(value) is expected, f"{origin}: {name} = {value!r} is not of type {expected.__name__}"
    )
    return value


def load_config(preset_or_path: str, overrides: Iterable[str] = ()) -> Config:
    """Read a preset by name (`small`) or a TOML file by path.

    Args:
        preset_or_path: name of a file in `configs/` without its extension, or a path with an extension.
        overrides: `section.key=value` strings that replace values of the file, with values in TOML syntax.

    Raises:
        ConfigError: the file is missing or invalid, or an override is malformed or has an unknown key.
    """
    path = Path(preset_or_path)
    if not path.suffix:
        path = PRESETS / f"{preset_or_path}.toml"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        presets = ", ".join(sorted(preset.stem for preset in PRESETS.glob("*.toml")))
        raise ConfigError(
            f"{preset_or_path}: neither a TOML file nor one of the presets {presets}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    overrides = list(overrides)
    for override in overrides:
        name, equals, text = override.partition("=")
        *sections, key = name.strip().split(".")
        require(bool(equals and sections), f"--set {override}: not of the form section.key=value")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        table = values
        for section in sections:
            table = table.setdefault(section, {})
            require(isinstance(table, dict), f"--set {override}: {section} is not a table")
        table[key] = value
    origin = " ".join([str(path), *(f"--set {override}" for override in overrides)])
    return Config.from_mapping(values, origin)
