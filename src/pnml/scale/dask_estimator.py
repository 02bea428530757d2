"""Predictions and regrets of rows on a Dask cluster, as lazy Dask collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pnml.core.trust import DEFAULT_LEVEL
from pnml.errors import InputError
from pnml.scale.dask_partitions import Labels, delayed, is_frame
from pnml.scale.dask_types import Block, DaskRows

_INTERVAL = ("lower", "upper")


Names = str | Sequence[str]  # of one result, or of its columns


def lazily(estimator: BaseEstimator) -> Lazily:
    """A wrapper of an estimator, fitted or not, whose methods take and return Dask collections.

    ``fit`` learns at once; all other methods return collections that are computed on demand.

    Examples
    --------
    >>> import dask.array as da
    >>> from pnml import PNMLRegressor
    >>> model = PNMLRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.5])
    >>> X = da.ones((1000, 1), chunks=(100, 1))
    >>> regret = lazily(model).regret(X)
    >>> regret.chunks[0][:2], bool(regret.max().compute() == model.regret([[1.0]])[0])
    ((100, 100), True)
    >>> lazily(PNMLRegressor()).fit(X.cumsum(axis=0), np.arange(1000.0)).estimator.coef_.round(6)
    array([1.])
    """
    return Lazily(estimator)


class Lazily:
    """Wrapper of an estimator whose methods take and return Dask collections; see `lazily`.

    `fit` runs at once, on the workers that hold the rows; all other methods are computed on demand.
    Arrays give arrays with the same chunks of rows; dataframes give series and dataframes with the
    same index. Empty partitions and chunks of unknown size are allowed.
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator

    def fit(self, X: DaskRows, y: Labels, sample_weight: Labels | None = None) -> Self:
        """Fit the estimator in one pass on the workers, as `fit_dask` does; returns itself."""
        from pnml.scale.dask_fit import fit_dask

        fit_dask(self.estimator, X, y, sample_weight)
        return self

    def predict(self, X: DaskRows) -> DaskRows:
        """Predictions (n,), lazy; for a dataframe a series named ``prediction``."""
        return self._each("predict", X, "prediction")

    def predict_interval(self, X: DaskRows, coverage: float = 0.9) -> DaskRows:
        """Intervals (n, 2), lazy: lower and upper end; a label is inside at the rate `coverage`."""
        return self._each("predict_interval", X, _INTERVAL, coverage=coverage)

    def predict_proba(self, X: DaskRows) -> DaskRows:
        """Probabilities (n, C) of C classes, lazy; for a dataframe classes name the columns."""
        return self._each("predict_proba", X, getattr(self.estimator, "classes_", ()))

    def regret(self, X: DaskRows) -> DaskRows:
        """Regrets (n,) in nats, lazy; for a dataframe a series named ``regret``."""
        return self._each("regret", X, "regret")

    def trusted(self, X: DaskRows, level: float = DEFAULT_LEVEL) -> DaskRows:
        """Whether each row is trusted (n,), lazy: its regret is like those of training rows.

        `level` is the quantile of the training regrets that a trusted row does not exceed.
        """
        return self._each("trusted", X, "trusted", level=level)

    def explain(self, X: DaskRows) -> DaskRows:
        """Shares (n, features) of the features in the leverage of each row, lazy."""
        names = getattr(self.estimator, "explain_names_", None)
        if names is None:
            names = X.columns if is_frame(X) else ()
        return self._each("explain", X, names)

    def _each(self, method: str, X: DaskRows, names: Names, **options: Any) -> DaskRows:
        if not hasattr(self.estimator, method):
            raise InputError(
                f"{type(self.estimator).__name__} has no {method}; ask for what it can tell."
            )
        if not hasattr(X, "__dask_graph__"):
            raise InputError(
                f"X is a {type(X).__name__}, not a Dask array or dataframe; call the estimator "
                "itself with rows in memory."
            )
        if is_frame(X):
            empty = _framed(self._trial(method, _some_rows(X), options)[:0], X._meta, names)
            model = delayed(self.estimator)
            lazy: DaskRows = X.map_partitions(
                _answer, model, method, names, options, empty, meta=empty, align_dataframes=False
            )
            return lazy
        return self._each_block(method, X, options)

    def _each_block(self, method: str, X: DaskRows, options: dict[str, Any]) -> DaskRows:
        if X.ndim == 2 and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        rows = np.ones((1, *X.shape[1:]), X.dtype)
        empty = self._trial(method, rows, options)[:0]
        single = empty.ndim == 1
        shape = {"drop_axis": 1} if single else {"chunks": (X.chunks[0], empty.shape[1:])}
        lazy: DaskRows = X.map_blocks(
            _answer,
            delayed(self.estimator),
            method,
            (),
            options,
            empty,
            dtype=empty.dtype,
            meta=empty,
            **shape,
        )
        return lazy

    def _trial(self, method: str, rows: Block, options: dict[str, Any]) -> npt.NDArray[Any]:
        """The result for invented rows, which shows dtype and shape, and raises errors here."""
        return np.asarray(getattr(self.estimator, method)(rows, **options))


def _answer(
    X: Block,
    estimator: BaseEstimator,
    method: str,
    names: Names,
    options: dict[str, Any],
    empty: object,
) -> Any:
    """The result of a method for one partition, on its worker."""
    if len(X) == 0:
        return empty
    values = getattr(estimator, method)(X, **options)
    return _framed(values, X, names) if hasattr(X, "columns") else values


def _framed(values: npt.NDArray[Any], X: Block, names: Names) -> Any:
    """Values (n,) as a series, or (n, k) as a dataframe, with the index of the rows X."""
    import pandas as pd

    index = getattr(X, "index", None)
    index = None if index is None else index[: len(values)]
    if values.ndim == 1:
        return pd.Series(values, index=index, name=names)
    return pd.DataFrame(values, index=index, columns=list(names))


def _some_rows(X: DaskRows) -> Any:
    from dask.dataframe.dispatch import meta_nonempty

    return meta_nonempty(X._meta)
