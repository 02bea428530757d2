"""The features in CatBoost's bytes, and the bins on which its trees split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.models.wrapped.flat_tables import BROKEN, FlatTable

_BIN = [("feature", "<i8"), ("mask", "<i8"), ("split", "<i8")]
_PER_BIN = 254  # borders that one byte can tell apart
_FLOAT_SPLIT = [("feature", "<i4"), ("border", "<f4")]
_VALUE_SPLIT = [("feature", "<i4"), ("value", "<i4")]

# A table of categories: its kind, then the categories and splits that are combined in it.
Base = tuple[int, tuple[int, ...], tuple[bytes, ...], tuple[bytes, ...]]


@dataclass(frozen=True)
class Features:
    """Features of a CatBoost model, and all splits on them that its trees can use."""

    count: int
    bins: npt.NDArray[Any]  # packed form of every split there can be
    bases: dict[Base, int]  # tables of categories in use → their largest target
    borders: tuple[npt.NDArray[np.float32], ...]  # of every numeric feature
    categories: npt.NDArray[np.bool_]  # whether each category feature is in use
    values: dict[int, npt.NDArray[np.int32]]  # category feature → values split on one by one


def read_features(trees: FlatTable) -> Features:
    """The features of a CatBoost model, read from the table of its trees.

    Raises InputError where they are not numbered one by one, or are texts or embeddings.
    """
    if any(len(trees.array(field, "<u4")) for field in (12, 13, 18)):
        raise InputError("a model file holds no CatBoost model of texts or embeddings")
    floats, sorts = trees.tables(5), trees.tables(4)
    places = [[_place(table, 1) for table in floats], [_place(table, 0) for table in sorts]]
    flat = [_place(table, 2) for table in floats] + [_place(table, 1) for table in sorts]
    right = places == [list(range(len(floats))), list(range(len(sorts)))]
    if not right or sorted(flat) != list(range(len(flat))) or not flat:
        raise InputError("the features of a CatBoost model are not numbered")
    borders = tuple(table.array(3, "<f4") for table in floats)
    if any(np.any(np.isnan(found)) or np.any(np.diff(found) <= 0) for found in borders):
        raise InputError("a tree splits at NaN, or at borders in no order")
    used = np.array([bool(table.number(3, "u1", 1)) for table in sorts], dtype=np.bool_)
    single = _single_values(trees.tables(6), used)
    features = Features(len(flat), np.zeros(0, _BIN), {}, borders, used, single)
    targets = trees.tables(7)
    for table in targets:
        model_ctr = table.table(0)
        base = read_base(model_ctr.table(0), features)
        largest = features.bases.get(base, 0)
        features.bases[base] = max(largest, _whole(model_ctr, 1))
    counts = [len(found) for found in borders], [len(table.array(1, "<f4")) for table in targets]
    bins = _bins(counts[0], [len(found) for found in single.values()], counts[1])
    return Features(features.count, bins, features.bases, borders, used, single)


def read_base(table: FlatTable, features: Features) -> Base:
    """Key of a CatBoost category table: its kind, and the features and splits combined in it.

    Raises InputError where one of these features is not in the model.
    """
    combined, kind = table.table(0), table.number(1, "i1")
    sorts, floats = combined.array(0, "<i4"), combined.array(1, _FLOAT_SPLIT)
    values = combined.array(2, _VALUE_SPLIT)
    if not 0 <= kind <= 5:
        raise InputError(BROKEN)
    right = all(_is_used(features, int(j)) for j in sorts)
    for j, border in floats.tolist():
        known = 0 <= j < len(features.borders)
        right = right and known and np.float32(border) in features.borders[j]
    for j, one in values.tolist():
        right = right and j in features.values and one in features.values[j]
    if not right:
        raise InputError("a table of categories combines features that the model does not have")
    return (
        int(kind),
        tuple(sorts.tolist()),
        tuple(row.tobytes() for row in floats),
        tuple(row.tobytes() for row in values),
    )


def _single_values(tables: list[FlatTable], used: Any) -> dict[int, npt.NDArray[np.int32]]:
    found: dict[int, npt.NDArray[np.int32]] = {}
    for table in tables:
        j = _place(table, 0)
        if not 0 <= j < len(used) or not used[j] or j in found:
            raise InputError("a tree splits on a feature that the model does not have")
        found[j] = table.array(1, "<i4")
    return found


def _is_used(features: Features, j: int) -> bool:
    return 0 <= j < len(features.categories) and bool(features.categories[j])


def _bins(floats: list[int], values: list[int], targets: list[int]) -> npt.NDArray[Any]:
    """Every split in the order of CatBoost: borders, values one by one, then tables' borders."""
    rows: list[tuple[int, int, int]] = []
    bucket = 0
    for counts, single in ((floats, False), (values, True), (targets, False)):
        for count in counts:
            for i in range(count):
                place = i % _PER_BIN + 1
                feature = bucket + i // _PER_BIN
                rows.append((feature, ~place & 0xFF, 0xFF) if single else (feature, 0, place))
            bucket += -(-count // _PER_BIN)
    if bucket > 0xFFFF:
        raise InputError(BROKEN)
    return np.array(rows, dtype=_BIN)


def _place(table: FlatTable, field: int) -> int:
    return int(table.number(field, "<i4", -1))


def _whole(table: FlatTable, field: int) -> int:
    found = int(table.number(field, "<i4"))
    if found < 0:
        raise InputError(BROKEN)
    return found
