"""How the learners that were tried on a table do on rows left out, beside a constant guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import ANY_NUMBER
from pnml.core.softmax_leave_one_out import leave_labels_out
from pnml.estimators.cross_fitting import out_of_fold_log_probabilities
from pnml.estimators.fit_params import FitParams

BASELINE = "baseline"


@dataclass(frozen=True)
class LearnerScore:
    """How a learner, or the baseline, does on training rows of a table that are left out.

    `log_loss` is the mean in nats per row; `error` is the root mean squared error or the share of
    wrong labels, NaN if not known.
    """

    name: str
    log_loss: Annotated[float, ANY_NUMBER]  # mean, nats per row
    error: Annotated[
        float, ANY_NUMBER
    ]  # root mean squared error, or share of wrong labels; NaN where not known


_FOLDS = 5


def left_out_score(name: str, estimator: Any) -> LearnerScore:
    """Score of a fitted learner on training rows left out: by its folds, or one row at a time."""
    folds = getattr(estimator, "cross_fitted_", None)
    if folds is not None:
        loss = float(np.average(_finite(folds.log_losses), weights=folds.weights))
        error = (
            folds.mean_error if hasattr(estimator, "classes_") else folds.mean_squared_error**0.5
        )
        return LearnerScore(name, loss, float(error))
    loo = estimator.loo_
    if hasattr(loo, "residuals"):
        there = np.isfinite(loo.residuals) & (loo.weights > 0)
        square = np.average(loo.residuals[there] ** 2, weights=loo.weights[there])
        return LearnerScore(name, loo.log_loss, float(np.sqrt(square)))
    return LearnerScore(name, loo.log_loss, loo.error_rate)


def folded_score(
    name: str, estimator: Any, X: FloatArray, y: npt.NDArray[Any], weights: FloatArray | None
) -> LearnerScore:
    """Score of a classifier on training rows left out, by fitting it again in 5 folds.

    For learners whose own leave-one-out uses probabilities of a fit that has seen the row. `X` is
    (n, width), `y` (n,), and `weights` (n,) or None.
    """
    counts = np.ones(len(y)) if weights is None else weights
    log_p = out_of_fold_log_probabilities(
        estimator.estimator, X, y, FitParams.plain(weights), _FOLDS, 0, estimator.classes_
    )
    labels = np.searchsorted(estimator.classes_, y)
    loo = leave_labels_out(log_p, labels, estimator.loo_.leverages, counts)
    losses = float(np.average(_finite(loo.log_losses), weights=counts))
    return LearnerScore(name, losses, loo.error_rate)


def _finite(losses: FloatArray) -> FloatArray:
    """Log-losses (n,), with log(n + 1) in place of inf, as for a class that no other fold had."""
    return np.where(np.isposinf(losses), np.log1p(len(losses)), losses)


def baseline_of_values(mean: float, variance: float) -> LearnerScore:
    """Score of guessing the mean for every row, with normal errors of this variance."""
    log_loss = 0.5 * (np.log(2 * np.pi * variance) + 1)
    return LearnerScore(BASELINE, float(log_loss), float(np.sqrt(variance)))


def baseline_of_classes(labels: npt.NDArray[Any], weights: FloatArray | None) -> LearnerScore:
    """Score of guessing the training shares of the labels for every row.

    >>> baseline_of_classes(np.array(["a", "a", "a", "b"]), None)
    LearnerScore(name='baseline', log_loss=0.5623..., error=0.25)
    """
    _, place = np.unique(labels, return_inverse=True)
    counts = np.bincount(place, weights)
    share = counts[counts > 0] / counts.sum()
    return LearnerScore(BASELINE, float(-share @ np.log(share)), float(1 - share.max()))
