"""Random weights in the shapes and files of other systems, and the bundles imported from them.

`opus` has the shape of an OPUS-MT model and is imported from a CTranslate2 folder. `student` has the shape
of a base student of Firefox Translations and is imported from Marian's npz.
"""

import hashlib
import math
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import sentencepiece.sentencepiece_model_pb2 as spm

from export.importers.conversion import import_model
from export.material import ExportOptions
from export.verify import TOLERANCES, Tolerance
from model.network_config import ModelConfig
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from model.transformer import Transformer
from tests.bench import ending, marian_files, peer
from tests.bench.ending import ending_network, random_sources
from tests.bench.models import BenchModel, ModelName, Precision

OPUS = ModelConfig(58_101, activation="silu")
STUDENT = ModelConfig(
    32_002,  # Marian's 32,000, padding and BOS
    num_decoder_layers=2,
    decoder_cell="ssru",
    layer_norm_epsilon=1e-6,
    position_layout="halves",
    position_exponent="inclusive",
)
SPECIAL = {PAD_ID: "<pad>", UNK_ID: "<unk>", BOS_ID: "<s>", EOS_ID: "</s>"}
CALIBRATION = 24
"""Number of sentences for the calibration of both sides, which are among those measured."""


@dataclass(frozen=True)
class ImportedModel(BenchModel):
    """A bundle next to the files it was imported from."""

    words: tuple[str, ...] = ()
    """The names of tokens in other engines, by the bundle's ids."""

    def peer(self, precision: Precision) -> Path:
        """Return the folder of CTranslate2's model."""
        return self.folder.parent / f"ctranslate2.{precision}"

    @property
    def names(self) -> list[str]:
        """See BenchModel."""
        return list(self.words)

    @property
    def texts(self) -> list[str]:
        """The sources as text, without EOS."""
        return [_text(self.words, source) for source in self.sources]


def opus(folder: Path, count: int, sizes: ModelConfig = OPUS) -> ImportedModel:
    """Import a CTranslate2 folder, with `count` sentences, unless an earlier run did so."""
    tokens = _tokens(range(sizes.vocab_size))
    # the bundle begins with its own four special tokens, then has the format's except <unk> and </s>
    other_tokens = [token for token in tokens if token not in ("<unk>", "</s>")]
    words = ("", "<unk>", "", "</s>", *other_tokens)

    def write(source: Path, network: Transformer) -> None:
        peer.convert(network, source, names=tokens, add_source_eos=True)
        write_vocabulary(source / "sentencepiece.model", tokens)
        # the measured model gets EOS with the source, like the engine
        peer.convert(network, folder / "ctranslate2.int8", "int8", tokens)

    return _imported("opus", folder, sizes, words, count, write)


def student(folder: Path, count: int, sizes: ModelConfig = STUDENT) -> ImportedModel:
    """Import Marian's npz, with `count` sentences, and write Marian's files, unless an earlier run did."""
    tokens = _tokens(marian_files.format_ids(sizes.vocab_size))
    words = ("", "<unk>", "", "</s>", *tokens[2:])

    return _imported("student", folder, sizes, words, count, write_student_files)


def write_student_files(source: Path, network: Transformer) -> None:
    """Write a student's npz with its vocabulary, and its int8 file for Marian."""
    vocab_size = network.config.vocab_size
    sources = random_sources(CALIBRATION, vocab_size)
    marian_files.write_student(source, network, sources)
    tokens = _tokens(marian_files.format_ids(vocab_size))
    write_vocabulary(source / "vocab.spm", tokens, eos_id=0, unk_id=1, bos_id=-1)


def _imported(
    name: ModelName,
    folder: Path,
    sizes: ModelConfig,
    words: tuple[str, ...],
    count: int,
    write: Callable[[Path, Transformer], None],
) -> ImportedModel:
    sources = random_sources(count, sizes.vocab_size)
    shift = len(words) - sizes.vocab_size  # of ids that are words
    own_sources = [[*(id + shift for id in source[:-1]), EOS_ID] for source in sources]
    own_sizes = replace(sizes, vocab_size=len(words))
    model = ImportedModel(name, folder / "bundle", own_sizes, own_sources, [], words=words)
    version_file, version = folder / "version", _version(sizes)
    if not version_file.exists() or version_file.read_text() != version:
        shutil.rmtree(folder, ignore_errors=True)
        source = folder / "source"
        source.mkdir(parents=True)
        write(source, ending_network(sizes, sources[:24]))
        lines = "".join(f"{text}\n" for text in model.texts[:CALIBRATION])
        (folder / "lines.txt").write_text(lines, encoding="utf-8")
        options = ExportOptions(name, ("int8",), golden_sentences=2, aligned_pairs=2)
        # a single rounding difference changes the whole translation of random weights
        TOLERANCES["int8"] = Tolerance(score=math.inf, chrf=0.0)
        import_model(source, model.folder, options, ["de"], ["en"], folder / "lines.txt")
        version_file.write_text(version)
    return model


def _version(sizes: ModelConfig) -> str:
    """Hash everything that a model on disk depends on, except the importers."""
    digest = hashlib.sha256(repr(sizes).encode())
    for module in (ending, marian_files, peer):
        digest.update(Path(str(module.__file__)).read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()


def _tokens(ids: Iterable[int]) -> list[str]:
    """Return the token of each id: a whole word, except for special tokens."""
    return [SPECIAL.get(id, f"▁t{id}") for id in ids]


def _text(words: Sequence[str], ids: Sequence[int]) -> str:
    return "".join(words[id] for id in ids if id != EOS_ID).replace("▁", " ").strip()


def write_vocabulary(path: Path, tokens: Iterable[str], **ids: int) -> None:
    """Write a SentencePiece model of these pieces, which splits a text of them at its spaces."""
    model = spm.ModelProto()
    kinds = {"<unk>": spm.ModelProto.SentencePiece.UNKNOWN}
    kinds |= dict.fromkeys(("<pad>", "<s>", "</s>"), spm.ModelProto.SentencePiece.CONTROL)
    for token in tokens:
        kind = kinds.get(token, spm.ModelProto.SentencePiece.NORMAL)
        model.pieces.add(piece=token, score=-1.0, type=kind)
    model.trainer_spec.model_type = spm.TrainerSpec.UNIGRAM
    for name, id in (ids or {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}).items():
        setattr(model.trainer_spec, name, id)
    model.normalizer_spec.name = "identity"
    path.write_bytes(model.SerializeToString())
