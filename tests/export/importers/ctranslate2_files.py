"""Reading and writing of CTranslate2's `model.bin` in any version."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}


@dataclass
class ModelFile:
    """The content of a `model.bin`."""

    version: int
    name: str
    revision: int
    variables: dict[str, np.ndarray] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def renamed(self, rename: Callable[[str], str]) -> None:
        """Rename every variable."""
        self.variables = {rename(name): value for name, value in self.variables.items()}
        self.aliases = {rename(alias): rename(name) for alias, name in self.aliases.items()}


def read_file(path: Path) -> ModelFile:
    data, at = path.read_bytes(), 0

    def take(kind: str) -> int:
        nonlocal at
        [value] = struct.unpack_from(f"<{kind}", data, at)
        at += struct.calcsize(f"<{kind}")
        return int(value)

    def name() -> str:
        nonlocal at
        length = take("H")
        at += length
        return data[at - length : at - 1].decode()

    found = ModelFile(take("I"), name(), take("I"))
    for _ in range(take("I")):
        key = name()
        shape = [take("I") for _ in range(take("B"))]
        dtype, size = TYPES[take("B")], take("I")
        found.variables[key] = np.frombuffer(data[at : at + size], dtype).reshape(shape)
        at += size
    found.aliases = {name(): name() for _ in range(take("I"))}
    return found


def write_file(path: Path, model: ModelFile) -> None:
    def name(text: str) -> bytes:
        return struct.pack("<H", len(text.encode()) + 1) + text.encode() + b"\0"

    parts = [struct.pack("<I", model.version), name(model.name), struct.pack("<I", model.revision)]
    parts.append(struct.pack("<I", len(model.variables)))
    for key, value in sorted(model.variables.items()):
        parts += [
            name(key),
            struct.pack("<B", value.ndim),
            struct.pack(f"<{value.ndim}I", *value.shape),
        ]
        if model.version >= 4:
            [kind] = [kind for kind, dtype in TYPES.items() if value.dtype == dtype]
            parts.append(struct.pack("<BI", kind, value.nbytes))
        else:
            parts.append(struct.pack("<BI", value.itemsize, value.size))
        parts.append(value.tobytes())
    if model.version >= 3:
        parts.append(struct.pack("<I", len(model.aliases)))
        parts += [name(one) for pair in sorted(model.aliases.items()) for one in pair]
    path.write_bytes(b"".join(parts))
