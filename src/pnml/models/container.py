"""The container of model files: safetensors with a JSON document and a checksum."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import numpy.typing as npt

from pnml.errors import InputError, how_to_install, shorten
from pnml.models.stored_arrays import DAMAGED, Places, places_of, read_arrays
from pnml.version import __version__

FORMAT = 1
KEY = "pnml"  # the only entry of the metadata
MOST_BYTES = 16 * 2**30  # of a file; a checksum takes about a second for each GiB
MOST_HEADER_BYTES = 64 * 2**20
# Lists and objects, and values, in a header: what JSON makes of three bytes takes sixty in memory.
MOST_CONTAINERS = 2_000_000
MOST_VALUES = 6_000_000
_PREFIX = 8  # bytes that give the length of the header
_DIGITS = 64  # of SHA-256 in hexadecimal
_BLOCK = 2**20
_FOREIGN = (
    "so it is not a model file, or not a whole one; pass one that pnml fit or pnml.save has "
    "written."
)


def pack(described: dict[str, Any], tensors: dict[str, npt.NDArray[Any]]) -> list[memoryview]:
    """The bytes of a model file in three pieces: before the checksum, the checksum, and after it.

    `described` is the JSON document for the header and `tensors` the arrays by name. Raises
    InputError where the header would be too long.
    """
    mark = secrets.token_hex(_DIGITS // 2)  # found again in the header, then overwritten
    document = described | {"format": FORMAT, "pnml": __version__, "sha256": mark}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    data: bytes = _library().numpy.save(tensors, metadata={KEY: text})
    end = _PREFIX + int.from_bytes(data[:_PREFIX], "little")
    if end > MOST_HEADER_BYTES or _is_bloated(data[_PREFIX:end]):
        raise InputError(
            f"The description of this model takes {end:,} bytes, but a model file allows "
            f"{MOST_HEADER_BYTES:,} and {MOST_VALUES:,} values; use fewer or shorter column names."
        )
    at = data.index(mark.encode(), 0, end)
    before, after = memoryview(data)[:at], memoryview(data)[at + _DIGITS :]
    digest = hashlib.sha256(before)
    digest.update(b"0" * _DIGITS)
    digest.update(after)
    return [before, memoryview(digest.hexdigest().encode()), after]


def unpack(
    path: Path, max_bytes: int | None = None
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The JSON document (a dict) and the arrays by name of a file; raises on a wrong checksum.

    A file longer than `max_bytes` (16 GiB where that is None) is refused unread. Memory for the
    arrays is taken only after their sizes agree with the size of the file, and after the checksum,
    which is computed block by block.
    """
    _library()
    if not stat.S_ISREG(path.stat().st_mode):
        raise InputError(
            "it is not a regular file; pass one that pnml fit or pnml.save has written."
        )
    with path.open("rb") as file:
        state = _state(file)
        _refuse_long(state[0], MOST_BYTES if max_bytes is None else max_bytes)
        header = _header(file)
        document, entries = _document(header)
        places = places_of(entries, state[0] - _PREFIX - len(header))
        digest = document.get("sha256")
        digits = digest.encode(errors="replace") if type(digest) is str else b""
        if len(digits) != _DIGITS or header.count(digits) != 1:
            raise InputError(f"it gives no checksum, {_FOREIGN}")
        if _digest(file, _PREFIX + header.index(digits)) != digest:
            raise InputError(f"its content does not match its checksum, {DAMAGED}")
        file.seek(_PREFIX + len(header))
        arrays = read_arrays(file, places)
        if _state(file) != state:
            raise InputError("it was changed while it was being read; try again when it is whole.")
    return document, arrays


def _refuse_long(size: int, most: int) -> None:
    if size > most:
        raise InputError(
            f"it takes {size:,} bytes, more than the {most:,} that are read; if you trust it, load "
            f"it with pnml.load(path, max_bytes={size})."
        )


def _state(file: BinaryIO) -> tuple[int, int]:
    """Size and modification time of a file, which show whether it has changed."""
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def _header(file: BinaryIO) -> bytes:
    """The header of a model file as bytes; raises InputError if the file is too short."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(_PREFIX), "little")
    if size < _PREFIX or length > min(size, MOST_HEADER_BYTES) - _PREFIX:
        raise InputError(f"it does not begin with a safetensors header, {_FOREIGN}")
    header = file.read(length)
    if _is_bloated(header):
        raise InputError(
            f"its header describes more than {MOST_CONTAINERS:,} lists or {MOST_VALUES:,} values, "
            f"which no model needs, {_FOREIGN}"
        )
    return header


def _is_bloated(header: bytes) -> bool:
    """Whether a header holds so many small values that parsing it takes many times its size."""
    containers = header.count(b"[") + header.count(b"{")
    return containers > MOST_CONTAINERS or containers + header.count(b",") > MOST_VALUES


def _document(header: bytes) -> tuple[dict[str, Any], Places]:
    """The JSON document and the header entries of the arrays; raises if the format is too new."""
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
    return document, parsed


def _parsed(text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"its header is not JSON, {_FOREIGN}") from error
    if type(parsed) is not dict:
        raise InputError(f"its header is not a JSON object, {_FOREIGN}")
    return parsed


def _digest(file: BinaryIO, at: int) -> str:
    """SHA-256 of a file with zeros in the place of its checksum, in the memory of one block."""
    digest = hashlib.sha256()
    file.seek(0)
    left = at
    while left:
        block = file.read(min(left, _BLOCK))
        if not block:
            return ""
        digest.update(block)
        left -= len(block)
    digest.update(b"0" * _DIGITS)
    file.seek(at + _DIGITS)
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _library() -> ModuleType:
    try:
        import safetensors.numpy
    except ModuleNotFoundError as error:
        raise InputError(
            f"Model files need safetensors, which is not installed; {how_to_install('files')}."
        ) from error
    return safetensors
