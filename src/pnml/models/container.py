"""The container of model files: safetensors with a JSON document and a checksum."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError, shorten
from pnml.version import __version__

FORMAT = 1
KEY = "pnml"  # the only entry of the metadata
MOST_HEADER_BYTES = 64 * 2**20
_PREFIX = 8  # bytes that give the length of the header
_DIGITS = 64  # of SHA-256 in hexadecimal
_DTYPES = ("F64", "F32", "I64", "I32", "U8", "BOOL")
_FOREIGN = (
    "so it is not a model file, or not a whole one; pass one that pnml fit or pnml.save has "
    "written."
)
_DAMAGED = "so it was cut short or changed after it was written; copy or save it again."


def pack(described: dict[str, Any], tensors: dict[str, npt.NDArray[Any]]) -> list[memoryview]:
    """Pack a container: the bytes of a file, in pieces, with a checksum between two of them."""
    mark = secrets.token_hex(_DIGITS // 2)  # found again in the header, then overwritten
    document = described | {"format": FORMAT, "pnml": __version__, "sha256": mark}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    data: bytes = _library().numpy.save(tensors, metadata={KEY: text})
    end = _PREFIX + int.from_bytes(data[:_PREFIX], "little")
    if end > MOST_HEADER_BYTES:
        raise InputError(
            f"The description of this model takes {end:,} bytes, but a model file allows "
            f"{MOST_HEADER_BYTES:,}; use fewer or shorter column names."
        )
    before, after = _around(data, data.index(mark.encode(), 0, end))
    return [before, memoryview(_digest(before, after).encode()), after]


def unpack(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Unpack a container: document and arrays of a file; raises on a wrong checksum."""
    _library()
    if not stat.S_ISREG(path.stat().st_mode):
        raise InputError(
            "it is not a regular file; pass one that pnml fit or pnml.save has written."
        )
    with path.open("rb") as file:
        header = _header(file)
        document = _document(header)
        file.seek(0)
        data = file.read()
    digest = document.get("sha256")
    digits = digest.encode(errors="replace") if type(digest) is str else b""
    if len(digits) != _DIGITS or header.count(digits) != 1:
        raise InputError(f"it gives no checksum, {_FOREIGN}")
    if _digest(*_around(data, _PREFIX + header.index(digits))) != digest:
        raise InputError(f"its content does not match its checksum, {_DAMAGED}")
    return document, dict(_tensors(data))


def _header(file: BinaryIO) -> bytes:
    """The header; raises where the file is too short to hold it."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(_PREFIX), "little")
    if size < _PREFIX or length > min(size, MOST_HEADER_BYTES) - _PREFIX:
        raise InputError(f"it does not begin with a safetensors header, {_FOREIGN}")
    return file.read(length)


def _document(header: bytes) -> dict[str, Any]:
    """The JSON document; raises where its format is newer than this library."""
    try:
        parsed = _parsed(header.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"its header is not text, {_FOREIGN}") from error
    metadata = parsed.pop("__metadata__", None)
    text = metadata.get(KEY) if type(metadata) is dict else None
    if type(text) is not str:
        raise InputError(f"its header has no entry {KEY!r}, {_FOREIGN}")
    document = _parsed(text)
    version = document.get("format")
    if type(version) is not int or version < 1:
        raise InputError(f"its header gives no version of the format, {_FOREIGN}")
    if version > FORMAT:
        writer = shorten(document.get("pnml"))
        raise InputError(
            f"it is of format {shorten(version)}, written by pnml {writer}, but pnml "
            f"{__version__} reads formats up to {FORMAT}; upgrade pnml."
        )
    for name, info in parsed.items():
        if type(info) is not dict or info.get("dtype") not in _DTYPES:
            raise InputError(
                f"its array {shorten(name)!r} is of no type that models use, {_FOREIGN}"
            )
    return document


def _parsed(text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"its header is not JSON, {_FOREIGN}") from error
    if type(parsed) is not dict:
        raise InputError(f"its header is not a JSON object, {_FOREIGN}")
    return parsed


def _around(data: bytes, at: int) -> tuple[memoryview, memoryview]:
    """The bytes of a file before and after the digits of its checksum."""
    whole = memoryview(data)
    return whole[:at], whole[at + _DIGITS :]


def _digest(before: memoryview, after: memoryview) -> str:
    """SHA-256 of the file with zeros in the place of its checksum."""
    digest = hashlib.sha256(before)
    digest.update(b"0" * _DIGITS)
    digest.update(after)
    return digest.hexdigest()


def _tensors(data: bytes) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    library = _library()
    try:
        tensors = library.numpy.load(data)
    except (library.SafetensorError, ValueError, KeyError, OverflowError) as error:
        raise InputError(f"its arrays are not where its header says, {_DAMAGED}") from error
    for name, tensor in tensors.items():
        if tensor.dtype == np.bool_ and np.any(tensor.view(np.uint8) > 1):
            raise InputError(f"its array {shorten(name)!r} holds more than 0 and 1, {_DAMAGED}")
        yield name, np.require(tensor, requirements=["C", "A", "W"])


def _library() -> ModuleType:
    try:
        import safetensors.numpy
    except ModuleNotFoundError as error:
        raise InputError(
            'Model files need safetensors, which is not installed; run pip install "pnml[files]".'
        ) from error
    return safetensors
