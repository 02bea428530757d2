"""Arrays of a model file: their places in the header, checked before any array is read."""

from __future__ import annotations

import math
import os
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError, shorten

DAMAGED = "so it was cut short or changed after it was written; copy or save it again."
_DTYPES: dict[str, npt.DTypeLike] = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "U8": "u1",
    "BOOL": "?",
}
_MISPLACED = f"its arrays are not where its header says, {DAMAGED}"

Places = dict[str, Any]  # name of an array → its entry in the header


def places_of(entries: Places, size: int) -> Places:
    """Header entries (dtype, shape, offsets) of the arrays, sorted by their place in the file.

    Raises InputError where the arrays do not exactly fill the `size` bytes after the header, or are
    larger than the memory of this machine.

    >>> places_of({"x": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}, 16).keys()
    dict_keys(['x'])
    """
    for name, entry in entries.items():
        if type(entry) is not dict or entry.get("dtype") not in _DTYPES:
            raise InputError(
                f"its array {shorten(name)!r} is of no type that models use, so it is not a model "
                "file, or not a whole one; pass one that pnml fit or pnml.save has written."
            )
        if set(entry) != {"dtype", "shape", "data_offsets"}:
            raise InputError(_MISPLACED)
        if not _whole(entry["shape"]) or not _whole(entry["data_offsets"]):
            raise InputError(_MISPLACED)
    ordered = dict(sorted(entries.items(), key=lambda item: item[1]["data_offsets"]))
    end = 0
    for entry in ordered.values():
        end = _end(entry, end)
    if end != size:
        raise InputError(_MISPLACED)
    _refuse_beyond_memory(size)
    return ordered


def read_arrays(file: BinaryIO, places: Places) -> dict[str, npt.NDArray[Any]]:
    """Arrays by name, read one after the other from the current position of the file.

    `places` are the header entries as `places_of` returns them.
    """
    arrays = {}
    for name, entry in places.items():
        array = np.empty(entry["shape"], np.dtype(_DTYPES[entry["dtype"]]))
        flat = array.reshape(-1).view(np.uint8)
        if file.readinto(flat.data) != len(flat):  # type: ignore[attr-defined]
            raise InputError("it was changed while it was being read; try again when it is whole.")
        if array.dtype == np.bool_ and np.any(flat > 1):
            raise InputError(f"its array {shorten(name)!r} holds more than 0 and 1, {DAMAGED}")
        arrays[name] = array
    return arrays


def _whole(numbers: Any) -> bool:
    return type(numbers) is list and all(type(n) is int and 0 <= n < 2**62 for n in numbers)


def _end(entry: dict[str, Any], start: int) -> int:
    """Offset where an array ends; raises unless it begins at `start` and fills its place."""
    offsets = entry["data_offsets"]
    item = np.dtype(_DTYPES[entry["dtype"]]).itemsize
    # a zero among huge lengths is no array that numpy makes
    huge = math.prod(n for n in entry["shape"] if n) * item >= 2**62
    if len(offsets) != 2 or offsets[0] != start or huge:
        raise InputError(_MISPLACED)
    if offsets[1] - start != math.prod(entry["shape"]) * item or len(entry["shape"]) > 32:
        raise InputError(_MISPLACED)
    return int(offsets[1])


def _refuse_beyond_memory(size: int) -> None:
    """Raise for arrays that are larger than the memory of this machine."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > memory > 0:
        raise InputError(
            f"it holds {size / 2**30:,.1f} GiB of numbers, but this machine has "
            f"{memory / 2**30:,.1f} GiB of memory; use a larger one, or a smaller model."
        )
