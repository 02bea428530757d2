"""Checks of the tables of category statistics that follow the trees in CatBoost's bytes."""

from __future__ import annotations

import numpy as np

from pnml.errors import InputError
from pnml.models.wrapped.catboost_features import Features, read_base
from pnml.models.wrapped.flat_tables import BROKEN, FlatTable

_BUCKET = np.dtype([("hash", "<u8"), ("index", "<u4")])  # packed: 12 bytes
_EMPTY = 2**64 - 1
_BORDERS, _BUCKETS, _BINARY_MEAN, _FLOAT_MEAN = 0, 1, 2, 3


def check_tables(data: bytes, features: Features) -> None:
    """Raise InputError if a category table that the trees use is missing or points outside itself.

    `data` are the bytes after the trees; `features` say which tables the trees use.
    """
    known = set()
    count, at = (_size(data, 0), 4) if data else (0, 0)
    for _ in range(count):
        size = _size(data, at)
        part = data[at + 4 : at + 4 + size]
        if len(part) != size:
            raise InputError(BROKEN)
        table = FlatTable.root(part)
        base = read_base(table.table(0), features)
        _check_table(table, base[0], features.bases.get(base, 0))
        known.add(base)
        at += 4 + size
    if at != len(data) or not set(features.bases) <= known:
        raise InputError(BROKEN)


def _check_table(table: FlatTable, kind: int, target: int) -> None:
    """Raise where a search in the hash table would not end, or would find an entry outside it."""
    raw, blob = table.array(1, np.uint8), table.array(2, np.uint8)
    classes = table.number(4, "<i4")
    buckets = np.frombuffer(raw.tobytes(), _BUCKET) if len(raw) % 12 == 0 else np.zeros(0, _BUCKET)
    n = len(buckets)
    if n < 1 or n & (n - 1) or not np.any(buckets["hash"] == _EMPTY):
        raise InputError("a table of categories is not one that can be searched")
    if kind in (_BINARY_MEAN, _FLOAT_MEAN):
        width = 8
    elif kind == _BUCKETS or (kind == _BORDERS and classes > 2):
        width = 4 * classes
        if classes < 1 or not target < classes:
            raise InputError("a table of categories counts other classes")
    else:
        width = 8 if kind == _BORDERS else 4
    entries = buckets["index"][buckets["hash"] != _EMPTY].astype(np.int64)
    if len(blob) % 4 or np.any((entries + 1) * width > len(blob)):
        raise InputError("a table of categories leads outside itself")


def _size(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        raise InputError(BROKEN)
    size = int.from_bytes(data[at : at + 4], "little")
    if size > len(data):
        raise InputError(BROKEN)
    return size
