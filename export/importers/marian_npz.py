"""Marian's own models: an npz file and its vocabularies, as in OPUS-MT's zip archives.

The results match Marian's. Position encodings are all sines, then all cosines, with the exponent i/(T-1). A
translation begins with a vector of zeros. `<unk>` has a probability, but is never produced. Missing settings
have Marian's defaults.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath

from export.importers.folder_parts import search_of, tags_among
from export.importers.imported import Imported, Side, SourceError
from export.importers.languages import first_known, languages_of_name
from export.importers.marian_npz_weights import Tables, read_weights
from export.importers.marian_vocabulary import read_vocabulary, side_of
from export.importers.model_card import licence_of, rules_of, stated_languages
from export.importers.network_settings import Size, SizeKeys, network_settings
from export.importers.npz import load_npz, read_yaml
from export.importers.segmentation import Segmentation, segmentation_of
from export.importers.settings import Settings, shown
from model.network_config import ModelConfig
from model.tokenizer import PAD_ID, UNK_ID
from service.engine.types import StopRule
from service.models.bundle import MAX_VOCABULARY, DecodingDefaults

FORMAT = "Marian npz (OPUS-MT)"
KEYS = SizeKeys(
    Size("dim-emb", 512),
    Size("transformer-dim-ffn", 2048, same="transformer-decoder-dim-ffn", unset=0),
    Size("transformer-heads", 8),
    Size("enc-depth", 1),
    Size("dec-depth", 1),
    "transformer-ffn-activation",
    "swish",
    {"swish": "silu", "relu": "relu", "gelu": "gelu_sigmoid"},
)
CELLS = {"self-attention": "attention", "rnn": "ssru"}
MAX_TOKENS = 512
"""Maximum number of tokens of a sentence; Marian itself has no limit."""
DECODER = "decoder.yml"
INTGEMM = "*intgemm*.bin*"
SUPPORTED: dict[str, tuple[object, ...]] = {
    "type": ("transformer",),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-decoder-autoreg": tuple(CELLS),
    "transformer-no-projection": (False,),
    "transformer-rnn-projection": (False,),
    "transformer-train-positions": (False,),
    "transformer-train-position-embeddings": (False,),
    "transformer-pool": (False,),
    "transformer-postprocess-emb": ("", "d"),
    "transformer-postprocess-top": ("", "d", "n", "nd", "dn"),
    "layer-normalization": (False,),
    "right-left": (False,),
    "ulr": (False,),
    "lemma-dim-emb": (0,),
    "factors-dim-emb": (0,),
    "input-types": ([], ["sequence"], ["sequence", "sequence"]),
}


def recognises(source: Path) -> bool:
    """Check whether this is a folder of this format.

    Folders with only intgemm weights are recognised too, so that `read` can say which file is needed.
    """
    patterns = "*.npz", DECODER, INTGEMM
    return source.is_dir() and any(any(source.glob(pattern)) for pattern in patterns)


def read(source: Path) -> Imported:
    """Read a folder.

    Raises:
        SourceError: a part of the model is missing, broken or not supported.
    """
    path = _model(source)
    decoder = _decoder_settings(source, path)
    settings, tensors = load_npz(path)
    settings.get("type", str)
    for key, supported in SUPPORTED.items():
        settings.refuse(key, *supported)
    for key in ("word-penalty", "word-penalty-constant"):
        decoder.refuse(key, 0, 0.0)
    paths = _vocabularies(source, decoder)
    ids = [read_vocabulary(path) for path in paths]
    segmentation = _segmentation(source, paths, ids)
    sides = _sides(settings, paths, ids, segmentation)
    config = _config(settings, sides, decoder.get("allow-unk", bool, False))
    weights = read_weights(tensors, config, settings, sides)
    languages_by_side = [
        first_known(stated, of_name)
        for stated, of_name in zip(
            stated_languages(source), languages_of_name(source.resolve().name), strict=True
        )
    ]
    other_files = [side.model for side in sides] + [
        source / name
        for name in (decoder.path.name, "README.md", "LICENSE", "metadata.json", "preprocess.sh")
    ]
    files = dict.fromkeys((path, *paths, *other_files))
    return Imported(
        format=FORMAT,
        config=config,
        weights=weights,
        source=sides[0],
        target=sides[1],
        max_length=MAX_TOKENS,
        decoding=_decoding(settings, decoder),
        files=[file for file in files if file.is_file()],
        source_languages=languages_by_side[0],
        target_languages=languages_by_side[1],
        tags=tags_among(sides[0].ids),
        moses=segmentation.moses,
        rules=rules_of(source),
        licence=licence_of(source),
    )


def _model(source: Path) -> Path:
    """Return the weights file: the one named in `decoder.yml`, the only one, or the best by chrF.

    Raises:
        SourceError: there is no such file, or several.
    """
    decoder = source / DECODER
    if decoder.is_file():
        model_names = Settings(decoder, read=read_yaml).get("models", list, [])
        if model_names:
            paths = _beside(source, model_names)
            if not len(paths) == len(model_names) == 1 or paths[0].suffix != ".npz":
                raise SourceError(f"{decoder}: models = {shown(model_names)}; supported: one .npz")
            return paths[0]
    models = [path for path in sorted(source.glob("*.npz")) if ".optimizer." not in path.name]
    best_by_chrf = [path for path in models if "best-chrf" in path.name]
    if len(candidates := best_by_chrf or models) == 1:
        return candidates[0]
    if models:
        names = [path.name for path in candidates]
        raise SourceError(f"{source}: has {', '.join(names)}; supported: one model, or a {DECODER}")
    for path in sorted(source.glob(INTGEMM)):
        raise SourceError(
            f"{path}: has 8-bit weights for intgemm; supported: the model's weights in float32, "
            "final.model.npz.best-chrf.npz"
        )
    raise SourceError(f"{source}: has no .npz")


def _decoder_settings(source: Path, model: Path) -> Settings:
    """Return the settings for Marian's search; empty if there is no file with them."""
    own_settings = source / f"{model.name}.{DECODER}"
    return Settings(own_settings if own_settings.is_file() else source / DECODER, read=read_yaml)


def _beside(source: Path, names: Sequence[object]) -> list[Path]:
    """Return the files in a folder that POSIX or Windows paths name; none for values that are no texts."""
    return [
        source / PureWindowsPath(PurePosixPath(name).name).name
        for name in names
        if isinstance(name, str)
    ]


def _segmentation(
    source: Path, paths: Sequence[Path], ids: Sequence[Mapping[str, int]]
) -> Segmentation:
    """Return the tokenizers: the vocabularies if they are SentencePiece models, otherwise other files."""
    if all(path.suffix == ".spm" for path in paths):
        return Segmentation((paths[0], paths[1]))
    return segmentation_of(source, dict(zip(paths, ids, strict=True)))


def _sides(
    settings: Settings, paths: Sequence[Path], ids: Sequence[Mapping[str, int]], cut: Segmentation
) -> tuple[Side, Side]:
    """Return both sides with their arrangements, padded to the size of the larger one."""
    sizes = settings.get("dim-vocabs", list)
    if len(sizes) != 2 or not all(
        type(size) is int and 4 <= size < MAX_VOCABULARY for size in sizes
    ):
        raise SourceError(
            f"{settings.path}: dim-vocabs = {shown(sizes)}; supported: two numbers from 4 to "
            f"{MAX_VOCABULARY - 1}"
        )
    source_side, target_side = map(side_of, paths, ids, cut.models, sizes)
    if settings.get("tied-embeddings-all", bool, False) and paths[0] != paths[1]:
        raise SourceError(
            f"{settings.path}: tied-embeddings-all = True with {paths[0].name} and {paths[1].name}; "
            "supported: one vocabulary"
        )
    size = max(len(side.arrangement.order) for side in (source_side, target_side))
    return (
        replace(source_side, arrangement=source_side.arrangement.padded(size)),
        replace(target_side, arrangement=target_side.arrangement.padded(size)),
    )


def _vocabularies(source: Path, decoder: Settings) -> list[Path]:
    """Return the vocabulary files of source and target.

    Raises:
        SourceError: it is unclear which files they are.
    """
    vocabulary_names = decoder.get("vocabs", list, [])
    if vocabulary_names:
        paths = _beside(source, vocabulary_names)
        if not len(paths) == len(vocabulary_names) == 2:
            raise SourceError(
                f"{decoder.path}: vocabs = {shown(vocabulary_names)}; supported: two files"
            )
        return paths
    kinds = {".yml", ".yaml", ".json", ".spm", ".vocab", ".txt"}
    candidates = [path for path in sorted(source.glob("*vocab*")) if path.suffix in kinds]
    if len(candidates) == 1:
        return candidates * 2
    candidates_by_side = [
        [path for path in candidates if part in path.name] for part in ("src", "trg")
    ]
    if [len(paths) for paths in candidates_by_side] == [1, 1]:
        return [paths[0] for paths in candidates_by_side]
    names = ", ".join(path.name for path in candidates) or "none"
    raise SourceError(
        f"{source}: it is unclear which vocabulary belongs to which side ({names}); supported: {DECODER} "
        "with vocabs, one file, or one with src and one with trg in its name"
    )


def _config(settings: Settings, sides: Sequence[Side], allow_unknown: bool) -> ModelConfig:
    """Return the network's configuration.

    Raises:
        SourceError: the network is not supported.
    """
    cell = CELLS[settings.get("transformer-decoder-autoreg", str, "self-attention")]
    if cell == "ssru" and (unit := settings.get("dec-cell", str, "gru")) != cell:
        raise SourceError(f"{settings.path}: dec-cell = {shown(unit)}; supported: 'ssru'")
    has_padding = sides[1].arrangement.order[PAD_ID] is not None
    forbidden = [PAD_ID] * has_padding + [UNK_ID] * (not allow_unknown)
    return network_settings(
        settings,
        KEYS,
        vocab_size=len(sides[1].arrangement.order),
        decoder_cell=cell,
        norm=_norm(settings),
        normed_keys=False,
        final_norm="always"
        if "n" in settings.get("transformer-postprocess-top", str, "")
        else "never",
        layer_norm_epsilon=1e-6,
        embeddings=Tables.of(settings).embeddings,
        max_positions=2 * MAX_TOKENS,
        position_layout="halves",
        position_exponent="inclusive",
        forbidden_ids=tuple(forbidden),
    )


def _norm(settings: Settings) -> str:
    """Return the kind of norm, from the d(ropout), a(dd) and n(orm) before and after each sub-layer."""
    before = settings.get("transformer-preprocess", str, "")
    after = settings.get("transformer-postprocess", str, "dan")
    orders = {("", "an"): "post", ("n", "a"): "pre"}
    kind = orders.get((before.replace("d", ""), after.replace("d", "")))
    if kind is None:
        raise SourceError(
            f"{settings.path}: transformer-preprocess = {shown(before)}, transformer-postprocess = "
            f"{shown(after)}; supported: '' and 'dan', 'n' and 'da'"
        )
    return kind


def _decoding(settings: Settings, decoder: Settings) -> DecodingDefaults:
    """Return Marian's search options; by default, students use one beam, as they were trained for it."""
    is_student = settings.get("transformer-decoder-autoreg", str, "") == "rnn"
    return search_of(
        decoder.number("beam-size", 1, 64, 1 if is_student else 12),
        decoder.get("normalize", float, 0.0),
        StopRule.NARROW,
    )
