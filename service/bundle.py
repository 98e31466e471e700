"""The contract between training and serving: a folder with a manifest, graphs, a vocabulary and its proof.

The reader owns the contract; `export` imports it to write. Nothing is guessed: an unknown key, another
format version, a missing file or a flipped byte is a BundleError that says which.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from service.engine.types import StopRule
from service.errors import BundleError
from service.text.abbreviations import Abbreviations
from service.text.names import Names

FORMAT_VERSION = 7
MANIFESTS_ALIKE = (4, 5, 6, FORMAT_VERSION)
"""Formats that differ in their graphs only, so that the rest can be taken over."""
MANIFEST = "manifest.json"
Precision = Literal["int8", "fp16", "fp32"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Direction(_Strict):
    """One language pair that the model translates."""

    source: Annotated[str, Field(min_length=2)]
    target: Annotated[str, Field(min_length=2)]
    tag: int
    """The token in front of the source that asks for this target."""


class SpecialTokens(_Strict):
    """Ids with a meaning."""

    pad: int
    unk: int
    bos: int
    eos: int


class Limits(_Strict):
    """What the network can take."""

    max_source_length: Annotated[int, Field(ge=8)]
    """Tokens of one sentence, tag and EOS counted."""
    max_target_length: Annotated[int, Field(ge=8)]


class DecodingDefaults(_Strict):
    """How a request is searched that does not say."""

    beam_size: Annotated[int, Field(ge=1)] = 4
    length_penalty: float = 0.6
    stop_rule: StopRule = StopRule.FIRST
    """`likely` is 1.1 times as fast, and costs the shipped model 0.4 BLEU: it ends too soon."""
    reverse_weight: Annotated[float, Field(ge=0)] = 0.3
    """What the opposite direction's judgement of a hypothesis counts beside its own; 0 is nothing."""
    extra_length: Annotated[int, Field(ge=1)] = 50
    """A translation has at most so many tokens more than its source (section 6.1 of the paper)."""

    most_words: Annotated[int, Field(ge=0)] = 0
    """Of a sentence that is translated whole; a longer one is clause by clause; 0 is no limit."""


class Graphs(_Strict):
    """The files of one precision."""

    encoder: str
    decoder: str


class Provenance(_Strict):
    """Where the model is from; shown, never interpreted, but for `config` by those who train on."""

    config: dict[str, Any]
    step: int
    parameters: int
    licences: list[str] = []
    bleu: dict[str, str] = {}
    """By direction: score and sacreBLEU signature."""


class Manifest(_Strict):
    """`manifest.json`."""

    format_version: int
    name: Annotated[str, Field(min_length=1)]
    directions: Annotated[list[Direction], Field(min_length=1)]
    vocabulary: str
    """The SentencePiece model of both sides, or of the source."""
    target_vocabulary: str | None = None
    """That of the target, where it has its own."""
    vocab_size: int
    """Of each."""
    special_tokens: SpecialTokens
    limits: Limits
    decoding: DecodingDefaults
    graphs: Annotated[dict[Precision, Graphs], Field(min_length=1)]
    scorer: str
    """The graph that reads a translation beside its source; runs on a CPU, beside any precision."""
    names: str | None = None
    """A table of names that are others in another language; see `service.text.names`."""
    abbreviations: str | None = None
    """A table of what is written out before it is translated; see `service.text.abbreviations`."""
    files: dict[str, str]
    """sha256 of every file but the manifest."""
    provenance: Provenance

    @model_validator(mode="after")
    def _files_are_listed(self) -> Self:
        named = {self.vocabulary, self.target_vocabulary or self.vocabulary, self.scorer}
        named |= {table for table in (self.names, self.abbreviations) if table}
        for graphs in self.graphs.values():
            named |= {graphs.encoder, graphs.decoder}
        if missing := sorted(named - self.files.keys()):
            raise ValueError(f"no sha256 for {', '.join(missing)}")
        return self

    def direction(self, source: str, target: str) -> Direction | None:
        """The direction of this pair of codes, if the model has it."""
        for direction in self.directions:
            if (direction.source, direction.target) == (source, target):
                return direction
        return None


@dataclass(frozen=True, slots=True)
class Bundle:
    """A verified bundle."""

    folder: Path
    manifest: Manifest

    @property
    def vocabulary(self) -> Path:
        """The SentencePiece model of the source."""
        return self.folder / self.manifest.vocabulary

    @property
    def target_vocabulary(self) -> Path:
        """That of the target; mostly the same file."""
        return self.folder / (self.manifest.target_vocabulary or self.manifest.vocabulary)

    @property
    def scorer(self) -> Path:
        """The scorer's file."""
        return self.folder / self.manifest.scorer

    def names(self, direction: Direction) -> Names:
        """What names are in the target language; none where the bundle has no table.

        Raises:
            BundleError: the table is no such table.
        """
        if self.manifest.names is None:
            return Names({})
        return Names.read(self.folder / self.manifest.names, direction.source, direction.target)

    def abbreviations(self, direction: Direction) -> Abbreviations:
        """What is written out in the source; nothing where the bundle has no table.

        Raises:
            BundleError: the table is no such table.
        """
        if self.manifest.abbreviations is None:
            return Abbreviations({})
        return Abbreviations.read(self.folder / self.manifest.abbreviations, direction.source)

    def graphs(self, precision: Precision) -> tuple[Path, Path]:
        """Encoder's and decoder's file.

        Raises:
            BundleError: the bundle has no graphs in this precision.
        """
        graphs = self.manifest.graphs.get(precision)
        if graphs is None:
            raise BundleError(
                f"{self.folder} has no {precision} graphs, only {', '.join(sorted(self.manifest.graphs))}"
            )
        return self.folder / graphs.encoder, self.folder / graphs.decoder


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load(folder: Path, formats: tuple[int, ...] = (FORMAT_VERSION,)) -> Bundle:
    """Read and verify a bundle of one of these formats; graphs run in the last one only.

    Raises:
        BundleError: whatever is wrong with it, by file.
    """
    path = folder / MANIFEST
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BundleError(
            f"{folder} is not a bundle: {MANIFEST} cannot be read: {error.strerror}"
        ) from None
    except ValueError as error:
        raise BundleError(f"{path} is not valid JSON: {error}") from None
    version = raw.get("format_version") if isinstance(raw, dict) else None
    if version not in formats:
        raise BundleError(
            f"{path}: format_version is {version!r}, this service reads {FORMAT_VERSION}; "
            "python -m export makes an older bundle anew"
        )
    try:
        manifest = Manifest.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "manifest"
        raise BundleError(f"{path}: {where}: {first['msg']}") from None
    for name, expected in manifest.files.items():
        file = folder / name
        if not file.is_file():
            raise BundleError(f"{file} is missing")
        if sha256(file) != expected:
            raise BundleError(f"{file} is damaged: its sha256 is not the one in {MANIFEST}")
    return Bundle(folder, manifest)
