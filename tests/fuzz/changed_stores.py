"""Changes of stored models, monitors and checkpoints, with the checksum that they then need."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import numpy as np

from changed_files import change_bytes, changed
from pnml.models.container import pack, unpack

_DTYPES = ("F64", "F32", "I64", "I32", "U8", "BOOL", "F16", "")
_NUMBERS = (0, -1, 1, 7, 8, 64, 2**31, 2**62, 10**30, 1.5, None, "8", [], [[]])


def mutant(seed: Path, rng: np.random.Generator) -> bytes:
    """A stored file with a few changes: in what it says, in its header, or anywhere."""
    kind = rng.random()
    if kind < 0.7:
        document, arrays = unpack(seed)
        ordered = {name: arrays[name] for name in sorted(arrays)}
        document, arrays = changed(document, ordered, rng, in_texts=0.5)
        return b"".join(bytes(piece) for piece in pack(document, arrays))
    data = seed.read_bytes()
    if kind < 0.9:
        return _other_header(data, rng)
    return change_bytes(np.frombuffer(data, np.uint8).copy(), rng).tobytes()


def of_the_same_files(checkpoint: Path, seed: Path) -> bytes:
    """A checkpoint as if it had been made of the same files, in the same place, as the seed."""
    document, arrays = unpack(checkpoint)
    document["counted"]["identity"] = unpack(seed)[0]["counted"]["identity"]
    return b"".join(bytes(piece) for piece in pack(document, arrays))


def _other_header(data: bytes, rng: np.random.Generator) -> bytes:
    """The file with another shape, type, place or name of an array, or another length."""
    (length,) = struct.unpack("<Q", data[:8])
    header, payload = json.loads(data[8 : 8 + length]), data[8 + length :]
    names = [name for name in header if name != "__metadata__"]
    what = rng.integers(6)
    if names and what < 4:
        entry = header[names[rng.integers(len(names))]]
        if what == 0:
            entry["dtype"] = _DTYPES[rng.integers(len(_DTYPES))]
        elif what == 1:
            entry["shape"] = [_number(rng) for _ in range(rng.integers(4))]
        elif what == 2:
            entry["data_offsets"] = [_number(rng), _number(rng)]
        else:
            header[str(rng.integers(99))] = dict(entry)
    elif what == 4:
        payload = payload[: rng.integers(len(payload) + 1)] + b"\0" * int(rng.integers(9))
    else:
        header["__metadata__"]["more"] = "x" * int(rng.integers(10))
    text = json.dumps(header).encode()
    said = len(text) if rng.random() < 0.9 else int(rng.integers(2**40))
    return _signed(struct.pack("<Q", said) + text + payload)


def _number(rng: np.random.Generator) -> object:
    return _NUMBERS[rng.integers(len(_NUMBERS))]


def _signed(data: bytes) -> bytes:
    """The file with the checksum of its content, where it still has one."""
    at = data.find(b"sha256")
    start = next((i for i in range(at + 6, at + 30) if _is_digits(data[i : i + 64])), None)
    if at < 0 or start is None:
        return data
    plain = data[:start] + b"0" * 64 + data[start + 64 :]
    return plain.replace(b"0" * 64, hashlib.sha256(plain).hexdigest().encode(), 1)


def _is_digits(piece: bytes) -> bool:
    return len(piece) == 64 and all(byte in b"0123456789abcdef" for byte in piece)
