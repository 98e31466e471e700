"""A bundle's `weights.bin`: the large tensors of all its graphs, each stored once.

ONNX Runtime maps the file into memory, so the sessions of all processes share its pages. The graphs refer to
it as external data: a tensor has an offset and a length.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx.external_data_helper import set_external_data

WEIGHTS = "weights.bin"
MIN_MAPPED = 4096
"""Minimum size in bytes of a tensor in the file: a mapping takes at least a page. Smaller tensors stay in
their graphs."""
ALIGNMENT = 64
"""In bytes: a cache line."""


class WeightsFile:
    """Writes `weights.bin`, and the graphs that refer to it, into a folder."""

    def __init__(self, folder: Path) -> None:
        """Create an empty `weights.bin` in `folder`."""
        self.folder = folder
        self._offsets: dict[bytes, int] = {}
        (folder / WEIGHTS).write_bytes(b"")

    def add(self, tensor: onnx.TensorProto, values: bytes | memoryview) -> None:
        """Write a tensor's values, unless the file has them already, and make the tensor refer to them."""
        digest = hashlib.sha256(values).digest()
        if digest not in self._offsets:
            with (self.folder / WEIGHTS).open("ab") as file:
                file.write(bytes(-file.tell() % ALIGNMENT))
                self._offsets[digest] = file.tell()
                file.write(values)
        tensor.raw_data = b""  # required by set_external_data
        set_external_data(tensor, WEIGHTS, self._offsets[digest], memoryview(values).nbytes)
        tensor.ClearField("raw_data")

    def save(self, model: onnx.ModelProto, name: str) -> None:
        """Write a graph as the file `name`, and check it; the large weights of `model` move to `weights.bin`.

        Raises:
            onnx.checker.ValidationError: the graph is invalid.
        """
        for tensor in initializers(model.graph):
            if len(tensor.raw_data) >= MIN_MAPPED:
                self.add(tensor, tensor.raw_data)
        onnx.save(model, self.folder / name)
        onnx.checker.check_model(str(self.folder / name))


def initializers(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Yield the initializers of a graph and of its subgraphs, such as the bodies of loops."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from initializers(attribute.g)
