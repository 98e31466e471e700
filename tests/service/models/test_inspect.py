"""The description of a bundle for a terminal."""

from dataclasses import replace
from pathlib import Path

from service.models.bundle import load
from service.models.inspect import describe


def test_what_a_bundle_says_of_itself_cannot_control_the_terminal(tiny_bundle: Path) -> None:
    bundle = load(tiny_bundle)
    provenance = bundle.manifest.provenance.model_copy(update={"licences": ["MIT\x1b[2J\nname x"]})
    manifest = bundle.manifest.model_copy(update={"provenance": provenance})
    lines = describe(replace(bundle, manifest=manifest)).split("\n")
    assert f"{'licence':<11} MIT\\x1b[2J\\nname x" in lines
