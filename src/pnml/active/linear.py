"""Active learning in least squares: the regret after adding a row, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.geometry.rank_one import Whitened
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor
from pnml.errors import InputError
from pnml.runtime.checks import check_count, is_number


def linear_scores(
    X: Any, pool: Any, targets: Any, *, alpha: float = 0.0, fit_intercept: bool = True
) -> FloatArray:
    """Mean regret of the targets in nats after labelling each of N pool rows, (N,). Eq. (I7).

    The model is linear, by least squares, whose regret does not depend on the labels. The smallest
    score is the best row.

    Parameters
    ----------
    X : array (n, d)
        Labelled rows.
    pool : array (N, d)
        Rows that can be labelled.
    targets : array (T, d)
        Rows to be predicted.
    alpha : float, default=0.0
        Ridge penalty. At 0 the regret is infinite if a target is outside the span of the rows.
    fit_intercept : bool, default=True
        Whether the model has an intercept, which is not penalised.

    Examples
    --------
    >>> labelled, pool = [[0.0], [1.0]], [[0.5], [5.0]]
    >>> linear_scores(labelled, pool, [[6.0]]).round(2)
    array([4.12, 0.91])
    """
    state, n_pool, n_targets = _start(X, pool, targets, alpha, fit_intercept)
    missing, regret = state.after_each(n_pool, n_targets)
    return np.where(missing > 0, np.inf, regret)


def linear_select(
    X: Any,
    pool: Any,
    targets: Any,
    n: int = 1,
    *,
    alpha: float = 0.0,
    fit_intercept: bool = True,
) -> npt.NDArray[np.intp]:
    """Positions (n,) of pool rows to label, picked one by one for least target regret. Eq. (I7).

    If targets are outside the span of the labelled rows at alpha = 0, rows that bring most of them
    into the span come first, which is the limit of a penalty that goes to 0, Eq. (I9). Ties go to
    the first. The other parameters are those of `linear_scores`.

    >>> linear_select([[0.0], [1.0]], [[0.5], [5.0], [4.0]], [[6.0], [0.0]], 2)
    array([1, 2])
    """
    state, n_pool, n_targets = _start(X, pool, targets, alpha, fit_intercept)
    n = check_count("n", n, n_pool, "rows in the pool")
    left = np.arange(n_pool)
    picks = np.empty(n, dtype=np.intp)
    for t in range(n):
        missing, regret = state.after_each(len(left), n_targets)
        best = int(np.lexsort((regret, missing))[0])  # stable: ties go to the first
        picks[t] = left[best]
        state = state.with_row(best).without(best)
        left = np.delete(left, best)
    return picks


def _start(
    X: Any, pool: Any, targets: Any, alpha: float, fit_intercept: bool
) -> tuple[Whitened, int, int]:
    """Pool rows, then targets, in coordinates of the labelled rows, and the number of each kind."""
    if not is_number(alpha, 0.0):
        raise InputError(
            f"alpha is {alpha!r}, but a finite number of at least 0 is needed; pass one."
        )
    rows, pool_rows, target_rows = (
        _rows(values, name) for values, name in ((X, "X"), (pool, "pool"), (targets, "targets"))
    )
    for values, name in ((pool_rows, "pool"), (target_rows, "targets")):
        if values.shape[1] != rows.shape[1]:
            raise InputError(
                f"The {name} has {values.shape[1]} columns but X has {rows.shape[1]}; pass the "
                "same columns, in the same order."
            )
    unit_columns = alpha == 0  # without a penalty the units of a column mean nothing
    factor = Factor.of(rows)
    spectrum = Spectrum.of_factor(factor, intercept=fit_intercept, unit_columns=unit_columns)
    both = np.vstack([pool_rows, target_rows])
    return Whitened.of(spectrum, both, float(alpha)), len(pool_rows), len(target_rows)


def _rows(values: Any, name: str) -> FloatArray:
    """Finite rows (n, d), at least one."""
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The {name} cannot be read as rows of equally many numbers; pass an array (n, d)."
        ) from error
    if rows.ndim != 2 or 0 in rows.shape:
        raise InputError(
            f"The {name} has shape {rows.shape}, but at least one row of at least one number is "
            "needed; pass an array (n, d)."
        )
    if not np.isfinite(rows).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(rows))[0])
        raise InputError(
            f"The {name} holds {rows[row, column]} (row {row}, column {column}), which has no "
            "place among regrets; fill it in or drop such rows."
        )
    return rows
