"""The contract between training and serving: a folder with a manifest, graphs, vocabularies and tables.

This module defines the format, and `export` imports it to write bundles. Reading is strict: an unknown key,
an unsupported format version, a missing file or a wrong checksum raises a BundleError that names it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    Field,
    StrictBool,
    ValidationError,
    model_validator,
)

from service.engine.types import LengthNorm, StopRule
from service.errors import BundleError
from service.models.bundle_files import MANIFEST as MANIFEST
from service.models.bundle_files import (
    external_files,
    printable,
    read_manifest,
    read_text,
    regular_file,
)
from service.models.bundle_files import sha256 as sha256
from service.models.directions import STRICT, Directions, check_ids
from service.models.directions import Code as Code
from service.models.directions import Direction as Direction
from service.models.directions import SpecialTokens as SpecialTokens
from service.models.former_manifests import updated
from service.text import pipeline
from service.text.memory import EMPTY, Memory
from service.text.pipeline import Pipeline
from service.text.tables import Tables
from service.text.tokenizer import Tokenizers

FORMAT_VERSION = 9
GRAPHS_ALIKE = (7, 8, FORMAT_VERSION)
"""Format versions whose graphs this service can run."""
MANIFESTS_ALIKE = (4, 5, 6, *GRAPHS_ALIKE)
"""Format versions that can be read, except for their graphs, to export the bundle again."""
DEFAULT_BUNDLE = Path(__file__).parents[1] / "default_bundle"
GOLDEN = "golden.jsonl"
"""Optional file of held-out sentences with the reference search's translations; see `proof`."""
Precision = Literal["int8", "fp16", "fp32"]
PrecisionChoice = Literal["auto", Precision]
MAX_LENGTH, MAX_VOCABULARY, MAX_FILES = 16_384, 1_000_000, 1_000


def _printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("must be printable, without leading or trailing spaces")
    return text


def _inside(name: str) -> str:
    path = PurePosixPath(_printable(name))
    if path.is_absolute() or ".." in path.parts or "\\" in name or str(path) != name or name == ".":
        raise ValueError("must be a path inside the bundle's folder")
    return name


FileName = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_inside)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Length = Annotated[int, Field(strict=True, ge=8, le=MAX_LENGTH)]


class _Strict(BaseModel):
    model_config = STRICT


class Limits(_Strict):
    """The longest sequences that the network accepts."""

    max_source_length: Length
    """In tokens, including tag and EOS."""
    max_target_length: Length

    @model_validator(mode="after")
    def _targets_may_be_as_long(self) -> Self:
        if self.max_target_length < self.max_source_length:
            raise ValueError("max_target_length must be at least max_source_length")
        return self


class DecodingDefaults(_Strict):
    """Search options for requests that do not set them."""

    beam_size: Annotated[int, Field(strict=True, ge=1, le=64)] = 4
    length_penalty: Annotated[float, Field(strict=True, ge=-10, le=10)] = 0.6
    length_norm: LengthNorm = LengthNorm.WU
    """The function that `length_penalty` is the exponent of, also in requests."""
    stop_rule: StopRule = StopRule.FIRST
    """`likely` is 1.1 times as fast, but stops too early: it costs the bundled model 0.4 BLEU."""
    channel_weight: Annotated[
        float,
        Field(
            strict=True,
            ge=0,
            le=100,
            validation_alias=AliasChoices("channel_weight", "reverse_weight"),
        ),
    ] = 0.3
    """Weight of the channel model's log-probability; named `reverse_weight` in older bundles."""
    channel_length_penalty: Annotated[float, Field(strict=True, ge=-10, le=10)] | None = None
    """Replaces `length_penalty` when the channel model, which itself penalises omissions, reranks."""
    extra_length: Annotated[int, Field(strict=True, ge=1, le=MAX_LENGTH)] = 50
    """Maximum number of tokens by which a translation may exceed its source (section 6.1 of the paper)."""


class Graphs(_Strict):
    """The files of one precision."""

    encoder: FileName
    decoder: FileName


class Origin(_Strict):
    """The model from which a bundle was imported."""

    format: str
    name: str
    files: dict[FileName, Sha256]


class Provenance(_Strict):
    """Where the model comes from. For display only, except `config`, which continued training reads."""

    config: dict[str, Any]
    step: int
    parameters: int
    licences: list[str] = []
    bleu: dict[str, str] = {}
    """By direction: score and sacreBLEU signature."""
    origin: Origin | None = None
    """Set if the bundle was imported."""


class Moses(_Strict):
    """Options of Moses' tokenizer, for models without SentencePiece; see `service.text`."""

    splits_hyphens: StrictBool
    """Whether a hyphen within a word becomes a token (option `-a`)."""
    escapes: StrictBool
    """Whether quotes, brackets, `&` and `|` are written as XML entities (no option `-no-escape`)."""


class Manifest(_Strict):
    """`manifest.json`."""

    format_version: int
    name: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_printable)]
    directions: Directions
    vocabulary: FileName
    """The SentencePiece model of both sides, or only of the source; with `moses`, the BPE merges."""
    target_vocabulary: FileName | None = None
    """The target's model or merges, if it has its own."""
    pieces: FileName | None = None
    """The pieces by id, if the network's ids differ from SentencePiece's; see `service.text`."""
    target_pieces: FileName | None = None
    """The target's pieces, if they differ from the source's."""
    moses: Moses | None = None
    """Set if Moses' tokenizer and BPE split the text instead of SentencePiece."""
    vocab_size: Annotated[int, Field(strict=True, ge=8, le=MAX_VOCABULARY)]
    """Number of tokens in each vocabulary."""
    special_tokens: SpecialTokens
    limits: Limits
    decoding: DecodingDefaults
    graphs: Annotated[dict[Precision, Graphs], Field(min_length=1)]
    scorer: FileName | None = None
    """The graph that scores and aligns a translation with its source; always runs on a CPU.

    Without it, words are aligned by position, and there is no channel model.
    """
    weights: FileName | None = None
    """The weights of all graphs, mapped into memory; before format 9, each graph contained its own."""
    memory: FileName | None = None
    """The table of segments whose translations are known; see `service.text.memory`."""
    rules: Annotated[dict[str, dict[str, Any]], Field(max_length=MAX_FILES)] = {}
    """Parameters of this model's own text rules, by name; see `service.text`."""
    files: Annotated[
        dict[FileName, Sha256],
        Field(max_length=MAX_FILES),
    ]
    """SHA-256 of every file except the manifest."""
    provenance: Provenance

    @model_validator(mode="after")
    def _files_are_listed(self) -> Self:
        optional_files = (
            self.target_vocabulary,
            self.pieces,
            self.target_pieces,
            self.weights,
            self.memory,
        )
        files = {self.vocabulary, *(name for name in optional_files if name is not None)}
        parameters_of_rules = [
            pipeline.checked(name, parameters) for name, parameters in self.rules.items()
        ]
        files |= {file for parameters in parameters_of_rules for file in parameters.files}
        files |= self.graph_files
        if missing := sorted(files - self.files.keys()):
            raise ValueError(f"no sha256 for {', '.join(missing)}")
        return self

    @model_validator(mode="after")
    def _ids_make_sense(self) -> Self:
        check_ids(self.special_tokens, self.directions, self.vocab_size)
        if self.moses and self.pieces is None:
            raise ValueError("moses needs pieces: merges have no ids")
        return self

    @property
    def graph_files(self) -> set[str]:
        """The files of all graphs."""
        files = {
            file for graphs in self.graphs.values() for file in (graphs.encoder, graphs.decoder)
        }
        return files | {self.scorer} if self.scorer else files

    def direction(self, source: str, target: str) -> Direction | None:
        """Return the direction from `source` to `target`, or None if the model lacks it."""
        for direction in self.directions:
            if (direction.source, direction.target) == (source, target):
                return direction
        return None

    def channel_direction(self, direction: Direction) -> Direction | None:
        """Return the opposite direction if it can score translations of `direction`, else None."""
        if self.scorer is None or self.target_vocabulary is not None:
            return None
        if direction.start_tokens or not self.special_tokens.ends_source:
            return None  # the scorer supports nothing but a tag before the translation and EOS after it
        return self.direction(direction.target, direction.source)


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
        """The SentencePiece model of the target; usually the same file."""
        return self.folder / (self.manifest.target_vocabulary or self.manifest.vocabulary)

    @property
    def scorer(self) -> Path | None:
        """The scorer's file, or None."""
        return self.folder / self.manifest.scorer if self.manifest.scorer else None

    def read_text(self, name: str) -> str:
        """Read one of the bundle's text files.

        Raises:
            BundleError: the file cannot be read or is not UTF-8.
        """
        return read_text(self.folder / name)

    def pipelines(self, tokenizers: Tokenizers) -> Callable[[Direction], Pipeline]:
        """Return a function that makes a direction's text rules; all directions share the tables.

        The function raises a BundleError if a table is invalid.
        """
        tables, rules = Tables(self.folder), self.manifest.rules

        def make(direction: Direction) -> Pipeline:
            return Pipeline.make(tables, (direction.source, direction.target), tokenizers, rules)

        return make

    def memory(self, direction: Direction) -> Memory:
        """Return the translation memory for a direction; it is empty if the bundle has none.

        Raises:
            BundleError: the table is invalid.
        """
        if self.manifest.memory is None:
            return EMPTY
        path = self.folder / self.manifest.memory
        return Memory.read(path, direction.source, direction.target)

    def graphs(self, precision: Precision) -> tuple[Path, Path]:
        """Return the files of the encoder and the decoder.

        Raises:
            BundleError: the bundle has no graphs in this precision.
        """
        graphs = self.manifest.graphs.get(precision)
        if graphs is None:
            precisions = ", ".join(sorted(self.manifest.graphs))
            raise BundleError(f" has no {precision} graphs, only {precisions}", self.folder)
        return self.folder / graphs.encoder, self.folder / graphs.decoder


def load(folder: Path, formats: tuple[int, ...] = GRAPHS_ALIKE) -> Bundle:
    """Read a bundle in one of these format versions, and verify the checksums of its files.

    Raises:
        BundleError: the bundle is invalid; the message names the file.
    """
    bundle = describe(folder, formats)
    for name, expected in bundle.manifest.files.items():
        file = regular_file(folder, name)
        if sha256(file) != expected:
            raise BundleError(f" is damaged: its sha256 is not the one in {MANIFEST}", file)
    for name in bundle.manifest.graph_files:
        for other in external_files(folder / name):
            if str(PurePosixPath(name).parent / other) not in bundle.manifest.files:
                message = f" refers to {printable(other)}, for which {MANIFEST} has no sha256"
                raise BundleError(message, folder / name)
    return bundle


def describe(folder: Path, formats: tuple[int, ...] = GRAPHS_ALIKE) -> Bundle:
    """Read a bundle's manifest only.

    Raises:
        BundleError: the manifest is missing or invalid.
    """
    path, raw = folder / MANIFEST, read_manifest(folder)
    version = raw.get("format_version") if isinstance(raw, dict) else None
    if version not in formats:
        is_newer = isinstance(version, int) and version > FORMAT_VERSION
        remedy = "update Attendant" if is_newer else "export the bundle again with attendant export"
        raise BundleError(
            f": format_version is {printable(repr(version))}, this service reads {formats[0]} to "
            f"{formats[-1]}; {remedy}",
            path,
        )
    try:
        manifest = Manifest.model_validate(updated(raw))
    except ValidationError as error:
        first_error = error.errors()[0]
        location = ".".join(map(str, first_error["loc"])) or "manifest"
        message = first_error["msg"].removeprefix("Value error, ")
        raise BundleError(f": {printable(location)}: {printable(message)}", path) from None
    except RecursionError:
        raise BundleError(": it is nested too deeply", path) from None
    return Bundle(folder, manifest)
