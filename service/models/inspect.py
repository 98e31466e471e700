"""`attendant inspect BUNDLE`: describe a bundle's contents, origin and licence."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from service.engine.types import LengthNorm
from service.errors import BundleError
from service.logs import one_line, print_line
from service.models.bundle import Bundle, load
from service.text import languages

MAX_DIRECTIONS = 12


def describe(bundle: Bundle) -> str:
    """Describe a bundle in a few lines of text."""
    manifest, provenance = bundle.manifest, bundle.manifest.provenance
    sizes = provenance.config.get("model")
    if not isinstance(sizes, dict):  # a bundle is served nevertheless
        sizes = {}
    directions = [f"{direction.source}-{direction.target}" for direction in manifest.directions]
    num_more = len(directions) - MAX_DIRECTIONS
    names = sorted(
        {code for direction in manifest.directions for code in (direction.source, direction.target)}
    )
    origin, decoding = provenance.origin, manifest.decoding
    lines = {
        "name": manifest.name,
        "directions": ", ".join(directions[:MAX_DIRECTIONS])
        + (f" and {num_more} more" if num_more > 0 else ""),
        "languages": ", ".join(map(languages.name, names[:MAX_DIRECTIONS])),
        "licence": ", ".join(provenance.licences) or "not stated",
        "origin": f"{origin.format}: {origin.name}" if origin else "trained here",
        "network": ", ".join(f"{key} {sizes[key]}" for key in SIZES if key in sizes)
        or "not stated",
        "parameters": f"{provenance.parameters:,}",
        "vocabulary": f"{manifest.vocab_size:,} tokens"
        + (", split by the Moses tokenizer and BPE" if manifest.moses else ""),
        "limits": f"{manifest.limits.max_source_length} tokens of a source, "
        f"{manifest.limits.max_target_length} of a translation",
        "decoding": f"beam {decoding.beam_size}, length penalty "
        f"{BASES[decoding.length_norm]}^{decoding.length_penalty:g}",
        "precisions": ", ".join(manifest.graphs),
        "size": f"{sum((bundle.folder / name).stat().st_size for name in manifest.files) / 1e6:.1f} MB",
        "alignment": "yes" if manifest.scorer else "no: tags are placed by word order",
        "rules": ", ".join(manifest.rules) or "only the default ones",
        "format": str(manifest.format_version),
    }
    listed = [f"{key:<11} {one_line(value)}" for key, value in lines.items()]
    files = origin.files if origin else {}
    return "\n".join(
        [*listed, *(f"{'sha256':<11} {digest} {name}" for name, digest in files.items())]
    )


BASES = {LengthNorm.WU: "((5 + n) / 6)", LengthNorm.POWER: "n"}
SIZES = (
    "d_model",
    "d_ff",
    "num_heads",
    "num_encoder_layers",
    "num_decoder_layers",
    "activation",
    "norm",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the description of a bundle, and return the exit status."""
    parser = argparse.ArgumentParser(prog="attendant inspect", description=__doc__)
    parser.add_argument("bundle", type=Path, help="the bundle's folder")
    options = parser.parse_args(arguments)
    try:
        described = describe(load(options.bundle))
    except BundleError as error:
        print_line(f"error: {error}")
        return 1
    print(described)
    return 0


if __name__ == "__main__":
    sys.exit(main())
