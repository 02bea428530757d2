"""Dask arrays and dataframes as partitions of rows, each with its targets and weights."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError, how_to_install, shorten
from pnml.scale.dask_types import Block, DaskCollection, DaskRows

try:
    from dask.base import compute as compute
    from dask.delayed import delayed as delayed
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"fit_dask and lazily need Dask, which is not installed; {how_to_install('scale')}.",
        name=error.name,
    ) from error


# Targets or weights: a Dask collection, the name of a column, or values in memory.
Labels = DaskCollection | str | ArrayOrFrame


@dataclass(frozen=True)
class Partitions:
    """Rows of a Dask collection in partitions, with targets and weights, not computed yet."""

    parts: list[Any]  # delayed tuples (X, y, weights), weights None where there are none
    template: Block  # an empty block with the columns and the dtype of X
    columns: list[int] | None  # positions of the features in a dataframe

    @property
    def names(self) -> list[str] | None:
        """Names of the feature columns, or None if X is an array or a name is not text."""
        columns = list(getattr(self.template, "columns", ()))
        return columns if columns and all(isinstance(name, str) for name in columns) else None


def is_frame(X: object) -> bool:
    """Whether an object is a Dask dataframe, as opposed to a Dask array."""
    return hasattr(X, "map_partitions") and hasattr(X, "columns")


def check_rows(X: DaskRows) -> DaskRows:
    """X, rechunked if it is an array so that each chunk has all columns; raises if it is unusable.

    X must be a Dask dataframe, or a two-dimensional Dask array of numbers.
    """
    if not hasattr(X, "__dask_graph__"):
        raise InputError(
            f"X is a {type(X).__name__}, but rows on a cluster come as a Dask array or dataframe; "
            "call the estimator itself with rows in memory, or pnml.scale.fit_files with files."
        )
    if is_frame(X):
        return X
    if getattr(X, "ndim", None) != 2 or isnan(X.shape[1]):
        raise InputError(
            f"X has shape {getattr(X, 'shape', 'unknown')}, but it must have a row for each sample "
            "and a known number of columns; pass a 2d Dask array or a dataframe."
        )
    if X.dtype.kind not in "fiub":
        raise InputError(
            f"X is a Dask array of dtype {X.dtype}, which cannot be added up; turn it into numbers "
            "first, for instance with X.astype(float)."
        )
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def partitions(X: DaskRows, y: Labels, sample_weight: Labels | None = None) -> Partitions:
    """Rows, targets and weights in delayed partitions; the last two may be named columns of X.

    Raises InputError where the partitions of X, y and weights do not match.
    """
    features, target, weights = _named_columns(X, y, sample_weight)
    features = check_rows(features)
    if isinstance(y, str) and (sample_weight is None or isinstance(sample_weight, str)):
        return _by_name(X, features, y, sample_weight)
    X = features
    beside = [("y", target)] + ([] if weights is None else [("sample_weight", weights)])
    beside = [(name, _beside(name, values, X)) for name, values in beside]
    count = X.npartitions
    for name, values in beside:
        if values.npartitions != count:
            raise InputError(
                f"X has {count} partitions but {name} has {values.npartitions}, so it cannot be "
                "told which rows go together; take both from one dataframe, or rechunk one like "
                "the other."
            )
    others = [values for _, values in beside]
    places = list(range(len(X.columns))) if is_frame(X) else None
    return Partitions(_zipped(X, others), _template(X), places)


def _by_name(whole: DaskRows, X: DaskRows, y: str, weights: str | None) -> Partitions:
    """Partitions of one dataframe whose target and weights are among its columns."""
    names = list(whole.columns)
    take = delayed(_from_columns)
    parts = [take(part, y, weights) for part in whole.to_delayed()]
    return Partitions(parts, _template(X), [names.index(name) for name in X.columns])


def _from_columns(frame: Block, y: str, weights: str | None) -> tuple[Any, Any, Any]:
    return frame, frame[y], None if weights is None else frame[weights]


def _named_columns(
    X: DaskRows, y: Labels, sample_weight: Labels | None
) -> tuple[DaskRows, Any, Any]:
    """Features, target and weights, where the last two may be names of columns."""
    named = [name for name in (y, sample_weight) if isinstance(name, str)]
    if not named:
        return X, y, sample_weight
    columns = list(X.columns) if is_frame(X) else []
    for name in named:
        if name not in columns:
            has = f"columns {_some(columns)}" if columns else "no columns with names"
            raise InputError(
                f"There is no column {shorten(name)!r} in X, which has {has}; pass one of its "
                "columns, or the values themselves."
            )
    target, weights = (X[n] if isinstance(n, str) else n for n in (y, sample_weight))
    return X[[column for column in columns if column not in named]], target, weights


def _beside(name: str, values: Any, X: DaskRows) -> Any:
    """The values `name` (y or weights) in the same partitions as X, one value for each row."""
    import dask.array as da

    rows = None if is_frame(X) else X.chunks[0]
    known = rows is not None and not any(isnan(size) for size in rows)
    if values is None:
        raise InputError("y is None, but a target is needed for each row; pass one number per row.")
    if not hasattr(values, "__dask_graph__"):
        values = np.asarray(values)
        if not known or values.shape != (sum(rows or ()),):
            size = f"{sum(rows or ())} rows" if known else "a number of rows that is not known yet"
            raise InputError(
                f"{name} has shape {values.shape} in memory, but X has {size}; pass {name} as a "
                "Dask collection with the partitions of X, one number per row."
            )
        made: DaskRows = da.from_array(values, chunks=(rows,))  # type: ignore[no-untyped-call]
        return made
    if getattr(values, "ndim", 1) == 2 and values.shape[1] == 1:
        values = values[values.columns[0]] if is_frame(values) else values[:, 0]
    if getattr(values, "ndim", 1) != 1:
        raise InputError(
            f"{name} should have one number per row, but it has shape {values.shape}; pass one of "
            "its columns."
        )
    if known and rows and hasattr(values, "chunks") and values.chunks[0] != rows:
        return _rechunked(name, values, rows)
    return values


def _rechunked(name: str, values: DaskRows, rows: tuple[int, ...]) -> DaskRows:
    if any(isnan(size) for size in values.chunks[0]):
        return values  # the partitions are compared when they are read
    if sum(values.chunks[0]) != sum(rows):
        raise InputError(
            f"X has {sum(rows)} rows but {name} has {sum(values.chunks[0])} values; pass exactly "
            "one per row."
        )
    return values.rechunk((rows,))


def _zipped(X: DaskRows, others: list[DaskRows]) -> list[Any]:
    if is_frame(X) and all(hasattr(values, "map_partitions") for values in others):
        import pandas as pd

        # one expression for all of them, so that files are read once
        both = X.map_partitions(
            _together,
            *others,
            meta=pd.Series([], dtype=object),
            enforce_metadata=False,
            align_dataframes=False,
        )
        return list(both.to_delayed())
    blocks = [np.ravel(values.to_delayed()) for values in (X, *others)]
    return [delayed(_together)(*group) for group in zip(*blocks, strict=True)]


def _together(X: Block, y: Block, weights: Block | None = None) -> tuple[Any, Any, Any]:
    return X, y, weights


def _template(X: DaskRows) -> Block:
    return X._meta if is_frame(X) else np.empty((0, X.shape[1]), X.dtype)


def refuse_odd_columns(template: Block) -> None:
    """Raise InputError if a column of `template`, an empty block of X, does not hold numbers."""
    dtypes = getattr(template, "dtypes", None)
    if dtypes is None:
        return
    kinds = {str(name): kind for name, kind in dtypes.items()}
    odd = {name: kind for name, kind in kinds.items() if getattr(kind, "kind", "O") not in "fiub"}
    if odd:
        name, kind = next(iter(odd.items()))
        more = f", nor can {len(odd) - 1} more columns" if len(odd) > 1 else ""
        raise InputError(
            f"Column {shorten(name)!r} of X is of dtype {kind}, which cannot be added up{more}; "
            "drop or encode such columns first, for instance with dask.dataframe.get_dummies."
        )


def _some(names: list[Any]) -> str:
    shown = ", ".join(repr(shorten(name)) for name in names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")
