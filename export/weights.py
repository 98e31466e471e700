"""A bundle's `weights.bin`: what its graphs compute with, each tensor once, whichever graphs it is of.

ONNX Runtime maps the file into memory, so that all sessions of all processes read the same pages. To a graph,
it is external data: a tensor has an offset and a length.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx.external_data_helper import set_external_data

WEIGHTS = "weights.bin"
MIN_MAPPED = 4096
"""Bytes of a tensor that is worth a mapping, which takes a page; smaller ones stay in the graph."""
ALIGNMENT = 64
"""Bytes; kernels read whole lines of a cache."""


class WeightsFile:
    """Writes `weights.bin`, and beside it the graphs that refer to it."""

    def __init__(self, folder: Path) -> None:
        """Begin an empty one in `folder`."""
        self.folder = folder
        self._offsets: dict[bytes, int] = {}
        (folder / WEIGHTS).write_bytes(b"")

    def add(self, tensor: onnx.TensorProto, values: bytes | memoryview) -> None:
        """Write a tensor's values, unless they are there already, and have it refer to them."""
        digest = hashlib.sha256(values).digest()
        if digest not in self._offsets:
            with (self.folder / WEIGHTS).open("ab") as file:
                file.write(bytes(-file.tell() % ALIGNMENT))
                self._offsets[digest] = file.tell()
                file.write(values)
        tensor.raw_data = b""  # or onnx refuses to say that the values are elsewhere
        set_external_data(tensor, WEIGHTS, self._offsets[digest], memoryview(values).nbytes)
        tensor.ClearField("raw_data")

    def save(self, model: onnx.ModelProto, name: str) -> None:
        """Check a graph and write it as the file `name`; `model` loses its weights to the file.

        Raises:
            onnx.checker.ValidationError: it is no valid graph.
        """
        for tensor in initializers(model.graph):
            if len(tensor.raw_data) >= MIN_MAPPED:
                self.add(tensor, tensor.raw_data)
        onnx.save(model, self.folder / name)
        onnx.checker.check_model(str(self.folder / name))


def initializers(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Those of a graph and of the bodies of its loops."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from initializers(attribute.g)
