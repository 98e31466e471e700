"""`attendant convert BUNDLE`: convert a bundle of an older format to the current one.

The graphs compute exactly the same; only the place of their weights changes. Bundles whose graphs this
version cannot run must be exported again, with held-out text: `attendant export OLD --data DIR --out NEW`.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import onnx

import service.models.bundle
from export.bundle_writer import SCORER, graph_files, keep_documents, replacing, write_manifest
from export.weights import WEIGHTS, WeightsFile
from service.errors import BundleError
from service.models.bundle import FORMAT_VERSION, Bundle, Manifest, sha256


def convert(bundle: Bundle, out: Path) -> Manifest:
    """Write a bundle in the current format to the folder `out`, which may be the bundle's own.

    Raises:
        FileExistsError: `out` exists and is not a bundle.
        OSError: a file cannot be read or written.
    """
    old_manifest = bundle.manifest
    graphs = {precision: graph_files(precision) for precision in old_manifest.graphs}
    rewritten = {
        bundle.folder / name
        for name in (old_manifest.scorer, old_manifest.weights)
        if name is not None
    }
    with replacing(out) as folder:
        weights = WeightsFile(folder)
        for precision, new_files in graphs.items():
            files = bundle.graphs(precision)
            rewritten.update(files)
            for file, name in zip(files, (new_files.encoder, new_files.decoder), strict=True):
                weights.save(onnx.load(file), name)
        if bundle.scorer is not None:
            weights.save(onnx.load(bundle.scorer), SCORER)
        written = [path.name for path in folder.iterdir()]
        copied = [name for name in old_manifest.files if bundle.folder / name not in rewritten]
        for name in copied:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(bundle.folder / name, folder / name)
        keep_documents(bundle.folder, folder)
        manifest = old_manifest.model_copy(
            update={
                "format_version": FORMAT_VERSION,
                "graphs": graphs,
                "scorer": SCORER if bundle.scorer is not None else None,
                "weights": WEIGHTS,
                "files": {name: sha256(folder / name) for name in sorted(written + copied)},
            }
        )
        write_manifest(folder, manifest)
    return manifest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = argparse.ArgumentParser(prog="attendant convert", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument(
        "--out", type=Path, help="the new bundle's folder; default: replace the old one"
    )
    options = parser.parse_args(arguments)
    out = options.out or options.bundle
    try:
        manifest = convert(service.models.bundle.load(options.bundle), out)
    except (BundleError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    size = sum((out / name).stat().st_size for name in manifest.files)
    print(f"{out}: {manifest.name}, format {FORMAT_VERSION}, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
