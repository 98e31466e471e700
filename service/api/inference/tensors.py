"""Tensors of texts in the Open Inference Protocol: in the JSON, or as bytes after it.

The latter is the protocol's extension `binary_tensor_data`: each text is preceded by its length in bytes, as
a four-byte little-endian integer, and a header field gives the length of the JSON.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import BaseModel, Field

from service.api.errors import shortened
from service.api.fields import MAX_TEXTS
from service.api.head import MAX_DIGITS
from service.errors import InvalidRequestError

NAME = "text"
"""The name of the only input and of the only output."""
JSON_LENGTH = "Inference-Header-Content-Length"
_LENGTH_BYTES = 4
_Dimension = Annotated[int, Field(ge=0, le=MAX_TEXTS)]


class InputParameters(BaseModel):
    """Parameters of an input."""

    binary_data_size: Annotated[
        int | None, Field(ge=0, description="Bytes of the texts after the JSON.")
    ] = None


class InputTensor(BaseModel):
    """Texts to translate."""

    name: Literal["text"]
    shape: Annotated[
        list[_Dimension], Field(max_length=8, description="Any shape; the output has the same.")
    ]
    datatype: Literal["BYTES"]
    parameters: InputParameters = InputParameters()
    data: Annotated[
        list[Any] | None, Field(description="The texts, flat or nested; absent if they are binary.")
    ] = None

    def texts(self, binary: bytes) -> list[Any]:
        """Return the texts in row-major order, from `data` or from the bytes after the JSON.

        Items of `data` may be of any type: they are not validated here.

        Raises:
            InvalidRequestError: the data are absent, or do not match the shape or the lengths.
        """
        size = self.parameters.binary_data_size
        if len(binary) != (size or 0):
            raise InvalidRequestError(
                f"Invalid request: {len(binary)} bytes follow the JSON, but binary_data_size is "
                f"{size or 0}"
            )
        if (size is None) == (self.data is None):
            raise InvalidRequestError(
                "Invalid request: an input must have either data or binary_data_size"
            )
        elements = _flat(self.data, self.shape) if self.data is not None else _unpacked(binary)
        if len(elements) != math.prod(self.shape):
            raise InvalidRequestError(
                f"Invalid request: a tensor of shape {self.shape} has {math.prod(self.shape)} elements, "
                f"but data has {len(elements)}"
            )
        return elements


class OutputTensor(BaseModel):
    """The translations."""

    name: str
    shape: list[int]
    datatype: str
    parameters: dict[str, str | int] | None = None
    data: Annotated[list[str] | None, Field(description="The texts, in row-major order.")] = None


def split(request: Request, body: bytes) -> tuple[bytes, bytes]:
    """Split a body into its JSON and the bytes after it.

    Raises:
        InvalidRequestError: the header field with the length of the JSON is invalid.
    """
    length = ", ".join(request.headers.getlist(JSON_LENGTH))  # of several, none is right
    if not length:
        return body, b""
    is_number = length.isascii() and length.isdigit() and len(length) <= MAX_DIGITS
    if not is_number or int(length) > len(body):
        raise InvalidRequestError(
            f"Invalid request: {JSON_LENGTH} must be a length of at most {len(body)} bytes, but is "
            f"{shortened(length)}"
        )
    return body[: int(length)], body[int(length) :]


def packed(texts: Sequence[str]) -> bytes:
    r"""Return the texts as bytes, each after its length.

    >>> packed(["é", ""])
    b'\x02\x00\x00\x00\xc3\xa9\x00\x00\x00\x00'
    """
    encoded = [text.encode() for text in texts]
    return b"".join(len(text).to_bytes(_LENGTH_BYTES, "little") + text for text in encoded)


def _unpacked(binary: bytes) -> list[str]:
    r"""Return the texts from bytes in which each follows its length: the inverse of `packed`.

    >>> _unpacked(b"\x02\x00\x00\x00\xc3\xa9\x00\x00\x00\x00")
    ['é', '']

    Raises:
        InvalidRequestError: the bytes end within a text, a text is not valid UTF-8, or there are more than
            `MAX_TEXTS`.
    """
    try:
        return [element.decode() for element in _elements(binary)]
    except UnicodeDecodeError as error:
        raise InvalidRequestError(
            f"Invalid request: binary data are not valid UTF-8: {error.reason}"
        ) from None


def _elements(binary: bytes) -> Iterator[bytes]:
    position = number = 0
    while position < len(binary):
        start = position + _LENGTH_BYTES
        end = start + int.from_bytes(binary[position:start], "little")
        if end > len(binary) or start > len(binary):
            raise InvalidRequestError(
                f"Invalid request: binary data end within element {number}, which begins at byte {position}"
            )
        if number == MAX_TEXTS:
            raise InvalidRequestError(
                f"Invalid request: binary data must have at most {MAX_TEXTS} elements"
            )
        yield binary[start:end]
        position, number = end, number + 1


def _flat(data: list[Any], shape: Sequence[int]) -> list[Any]:
    """Flatten nested lists of a shape; flat lists stay unchanged.

    Raises:
        InvalidRequestError: a row is longer or shorter than the shape says.
    """
    for length in shape[1:]:
        if not data or not all(isinstance(row, list) for row in data):
            break
        wrong = next((row for row in data if len(row) != length), None)
        if wrong is not None:
            raise InvalidRequestError(
                f"Invalid request: a tensor of shape {shape} has rows of {length} elements, but data has "
                f"one of {len(wrong)}"
            )
        data = [item for row in data for item in row]
    return data
