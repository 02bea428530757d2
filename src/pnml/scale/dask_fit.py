"""Fitting on Dask: each worker computes the statistic of its rows, and only statistics travel."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, clone

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import NOISE_FLOOR, Path
from pnml.core.selection import penalties
from pnml.core.statistic.exact_sum import GramSum, merged
from pnml.core.statistic.k_fold import KFold, k_fold
from pnml.errors import InputError
from pnml.estimators.regressor import StreamingRegressor
from pnml.runtime.checks import is_whole
from pnml.scale.dask_partitions import (
    Labels,
    Partitions,
    compute,
    delayed,
    partitions,
    refuse_odd_columns,
)
from pnml.scale.dask_statistic import partition_statistic
from pnml.scale.dask_types import DaskCollection, DaskRows
from pnml.scale.from_gram import check_additive, counts_targets, fitted

Model = TypeVar("Model")

# Statistics added in one task: few enough to fit in a worker's memory beside its rows.
_FAN_IN = 8


def fit_dask(
    estimator: Model, X: DaskCollection, y: Labels, sample_weight: Labels | None = None
) -> Model:
    """Fit an estimator to rows on a Dask cluster, in one pass, where the rows are.

    Each partition shrinks to a Gram and a small sample of its rows on its worker, and these are
    added up in a tree; nothing else travels. The order of the sums is fixed, so the answer is the
    same to the last bit whoever does the work and however often a worker is lost.

    Parameters
    ----------
    estimator : PNMLRegressor, LpNMLRegressor with penalty="l2", or PNMLClassifier
        The classifier around a ``sklearn.frozen.FrozenEstimator``: its geometry adds up over
        rows, the training of what is inside does not.
    X : Dask array or dataframe
        Chunks of unknown size, several chunks of columns and partitions without rows will do.
    y : Dask array or series, array, or name of a column of X
        By name, all other columns are features, and files are read once.
    sample_weight : the same, optional
        How many copies of each row to count.

    Returns
    -------
    The estimator itself. It runs where `dask.compute` runs: on the cluster of the current
    ``distributed.Client``, or in threads.

    Examples
    --------
    >>> import dask.array as da
    >>> from pnml import PNMLRegressor
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(100, 3))
    >>> model = fit_dask(PNMLRegressor(), X, X @ np.array([1.0, 2.0, 3.0]) + 1)
    >>> model.coef_.round(6), model.spectrum_.weight
    (array([1., 2., 3.]), 1000.0)
    """
    rows = _checked(estimator, X, y, sample_weight)
    [total] = _added_up(estimator, rows, folds=1)
    if total is None:
        raise InputError(
            f"There is nothing to fit, since all {len(rows.parts)} partitions are without rows "
            "that count; check what has filtered them."
        )
    learnt: Model = fitted(estimator, total, rows.names)
    return learnt


@dataclass(frozen=True)
class PenaltyChoice:
    """Result of `k_fold_dask`: the chosen penalty, and an estimator fitted with it to all rows."""

    estimator: BaseEstimator
    alpha: float
    k_fold: KFold
    path: Path  # log-loss of ridge regression along the penalties


def k_fold_dask(
    estimator: BaseEstimator,
    X: DaskCollection,
    y: Labels,
    sample_weight: Labels | None = None,
    *,
    folds: int = 5,
    alphas: Any = None,
) -> PenaltyChoice:
    """Choose the penalty by K-fold over Dask partitions, and fit, in the same single pass.

    Neighbouring partitions make a fold. Each fold keeps its own Gram; the fit without a fold
    comes from the sum of the others, Eq. (B21), and its squared errors on the fold from the
    fold's Gram, Eq. (B22), at all penalties at once and over all rows. What is judged is the
    ridge fit.

    Parameters
    ----------
    estimator, X, y, sample_weight : as in `fit_dask`; the estimator itself stays as it is
    folds : int, at least 2 and at most as many as there are partitions
    alphas : array-like of shape (L,), optional
        Penalties to choose from; by default a hundred that suit the rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from pnml import PNMLRegressor
    >>> X = da.random.default_rng(0).normal(size=(400, 3), chunks=(50, 3))
    >>> y = X[:, 0] + da.random.default_rng(1).normal(size=400, chunks=50)
    >>> choice = k_fold_dask(PNMLRegressor(), X, y, alphas=[1.0, 1e6])
    >>> choice.alpha, choice.estimator.alpha_, choice.k_fold.squares.shape
    (1.0, 1.0, (5, 2))
    """
    if not isinstance(estimator, StreamingRegressor):
        raise InputError(
            f"{type(estimator).__name__} has no penalty that squared errors could choose; use "
            'PNMLRegressor or LpNMLRegressor with penalty="l2".'
        )
    rows = _checked(estimator, X, y, sample_weight)
    _check_folds(folds, rows)
    grid = None if alphas is None else _check_alphas(alphas)
    sums = _added_up(estimator, rows, folds)
    known = [part for part in sums if part is not None]
    if len(known) < folds:
        raise InputError(
            f"Fold {sums.index(None)} of {folds} has no rows, since all its partitions are without "
            "any; pass fewer folds, or repartition X first."
        )
    total, intercept = merged(known), bool(estimator.fit_intercept)
    gram = total.gram()
    if grid is None:
        whole = Spectrum.of_gram(gram, intercept=intercept, unit_columns=False)
        grid = penalties(whole.h2, interpolates=False)
    errors = k_fold([part.gram() for part in known], grid, intercept=intercept)
    path = errors.path(NOISE_FLOOR * float(gram.yy[0, 0]) / gram.weight)
    alpha = float(grid[np.argmin(errors.mean_squares)])
    model = clone(estimator).set_params(alpha=alpha)
    return PenaltyChoice(fitted(model, total, rows.names), alpha, errors, path)


def _checked(
    estimator: BaseEstimator, X: DaskCollection, y: Labels, sample_weight: Labels | None
) -> Partitions:
    """Rows in partitions, checked as far as possible before they are computed."""
    check_additive(estimator)
    rows = partitions(cast(DaskRows, X), y, sample_weight)
    if counts_targets(estimator):
        refuse_odd_columns(rows.template)
    return rows


def _added_up(estimator: BaseEstimator, rows: Partitions, folds: int) -> list[GramSum | None]:
    """The sum of Grams of each fold of partitions, computed on the workers; None without rows.

    Partitions of a fold are added in a tree.
    """
    model, count, add = delayed(clone(estimator)), delayed(_counted), delayed(_sum)
    parts = [count(model, number, part, rows.columns) for number, part in enumerate(rows.parts)]
    ends = np.linspace(0, len(parts), folds + 1).round().astype(int)
    trees = []
    for start, stop in itertools.pairwise(ends):
        level = parts[start:stop]
        while len(level) > 1:
            level = [add(level[i : i + _FAN_IN]) for i in range(0, len(level), _FAN_IN)]
        trees.append(level[0])
    try:
        return list(compute(*trees))  # type: ignore[no-untyped-call]
    except Exception as error:
        _explain(error)
        raise


def _counted(
    estimator: BaseEstimator, number: int, part: tuple[Any, Any, Any], columns: list[int] | None
) -> GramSum | None:
    return partition_statistic(estimator, number, *part, columns)


def _sum(parts: Sequence[GramSum | None]) -> GramSum | None:
    known = [part for part in parts if part is not None]
    return merged(known) if known else None


def _check_folds(folds: Any, rows: Partitions) -> None:
    if not is_whole(folds, 2) or folds > len(rows.parts):
        raise InputError(
            f"folds is {folds!r}, but X has {len(rows.parts)} partitions, of which each fold takes "
            "one or more; pass a whole number from 2 to that, or repartition X."
        )


def _check_alphas(alphas: Any) -> FloatArray:
    grid = np.asarray(alphas, dtype=float)
    if grid.ndim != 1 or not len(grid) or not np.all(np.isfinite(grid) & (grid >= 0)):
        raise InputError(
            "alphas must be a list of penalties to choose from, finite and of at least 0; leave it "
            "out to have them follow the rows."
        )
    return grid


def _explain(error: Exception) -> None:
    """Raise a clear error where a worker, not the rows, was the cause."""
    lost = type(error).__name__ == "KilledWorker"
    if lost or isinstance(error, MemoryError):
        what = "Workers were lost again and again on one partition" if lost else "A worker failed"
        raise MemoryError(
            f"{what}, most likely because its rows do not fit in the memory of a worker; make "
            "partitions smaller with repartition or rechunk, or give workers more memory or fewer "
            "threads."
        ) from error
