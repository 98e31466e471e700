"""The points of the curve: the search options of each side, and the servers for them."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import onnx

from export.bundle_writer import SCORER, graph_files, write_manifest
from export.weights import WEIGHTS, WeightsFile
from service.engine.types import StopRule
from service.models.bundle import DEFAULT_BUNDLE, GOLDEN, Bundle, describe, sha256
from tests.bench.models import Precision
from tests.bench.over_http import UNLIMITED

OURS, PEER = "Attendant", "CTranslate2"
PRECISIONS: tuple[Precision, ...] = ("int8", "fp32")
BEAMS = (1, 2, 4, 8)
RULES = (StopRule.FIRST, StopRule.LIKELY, StopRule.BOUND)


class Server(NamedTuple):
    """A module with its arguments and environment variables."""

    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Point:
    """A system with its search options."""

    side: str
    precision: Precision
    beam_size: int
    stop_rule: str = StopRule.FIRST.value
    """CTranslate2 always uses `first`."""
    rerank: bool = False

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a request besides its text. CTranslate2's server ignores them and splits no text."""
        return {"beam_size": self.beam_size, "rerank": self.rerank, "split_sentences": "0"}

    def server(self, folder: Path, cores: int) -> Server:
        """Return the server for this point; `folder` has the bundles and the pickled model."""
        if self.side == OURS:
            model = {
                "ATTENDANT_BUNDLE": str(folder / self.stop_rule),
                "ATTENDANT_PRECISION": self.precision,
            }
            return Server(("service",), tuple((UNLIMITED | model).items()))
        # the same as for the service without reranking, although the formula differs
        penalty = describe(DEFAULT_BUNDLE).manifest.decoding.length_penalty
        return Server(
            (
                *("tests.bench.shell", str(folder), str(cores)),
                *("--precision", self.precision),
                *("--beam-size", str(self.beam_size)),
                *("--length-penalty", str(penalty)),
            )
        )

    def __str__(self) -> str:
        """Describe the search options."""
        beams = f"{self.beam_size} beam{'s' if self.beam_size > 1 else ''}"
        reranked = ", reranked" if self.rerank else ""
        return f"{self.precision}, {beams}, `{self.stop_rule}`{reranked}"


def points() -> Iterator[Point]:
    """Yield all points, those of both sides interleaved. With one beam, there is nothing to rerank."""
    for precision, beam_size in product(PRECISIONS, BEAMS):
        yield Point(PEER, precision, beam_size)
        for rule, rerank in product(RULES, (False, True) if beam_size > 1 else (False,)):
            yield Point(OURS, precision, beam_size, rule.value, rerank)


def write_bundles(bundle: Bundle, fp32: tuple[Path, Path], folder: Path) -> None:
    """Write the bundle with int8 and fp32 graphs into a folder for each stop rule.

    Golden sentences are left out, since they are valid for one rule only.
    """
    manifest, first_folder = bundle.manifest, folder / RULES[0]
    first_folder.mkdir(parents=True)
    weights = WeightsFile(first_folder)
    files = {precision: graph_files(precision) for precision in PRECISIONS}
    graphs: dict[Precision, tuple[Path, Path]] = {"int8": bundle.graphs("int8"), "fp32": fp32}
    for precision, (encoder, decoder) in graphs.items():
        weights.save(onnx.load(encoder), files[precision].encoder)
        weights.save(onnx.load(decoder), files[precision].decoder)
    not_copied = {GOLDEN, manifest.weights, manifest.scorer}
    if bundle.scorer is not None:
        weights.save(onnx.load(bundle.scorer), SCORER)
    not_copied |= {
        name
        for old_graphs in manifest.graphs.values()
        for name in (old_graphs.encoder, old_graphs.decoder)
    }
    for name in manifest.files.keys() - not_copied:
        shutil.copyfile(bundle.folder / name, first_folder / name)
    written = {path.name: sha256(path) for path in sorted(first_folder.iterdir())}
    for rule in RULES:
        if rule is not RULES[0]:
            shutil.copytree(first_folder, folder / rule)
        decoding = manifest.decoding.model_copy(update={"stop_rule": rule})
        changes = {"graphs": files, "decoding": decoding, "files": written, "weights": WEIGHTS}
        write_manifest(folder / rule, manifest.model_copy(update=changes))
