"""How the learners that were tried on a table do on rows left out, beside a constant guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray

BASELINE = "baseline"


@dataclass(frozen=True)
class LearnerScore:
    """How a learner, or the baseline, does on training rows of a table that are left out."""

    name: str
    log_loss: float  # mean, nats a row
    error: float  # root mean squared error, or share of wrong labels; NaN where not known


def left_out_score(name: str, estimator: Any) -> LearnerScore:
    """Score of a fitted learner, from its folds or by leave-one-out."""
    folds = getattr(estimator, "cross_fitted_", None)
    if folds is not None:
        error = folds.mean_error
        if not hasattr(estimator, "classes_"):
            error = float(np.sqrt(folds.mean_squared_error))
        return LearnerScore(name, folds.log_loss, error)
    loo = estimator.loo_
    if hasattr(loo, "residuals"):
        there = np.isfinite(loo.residuals) & (loo.weights > 0)
        square = np.average(loo.residuals[there] ** 2, weights=loo.weights[there])
        return LearnerScore(name, loo.log_loss, float(np.sqrt(square)))
    return LearnerScore(name, loo.log_loss, loo.error_rate)


def baseline_of_values(mean: float, variance: float) -> LearnerScore:
    """Score of the guess that every amount is the mean, with normal errors."""
    log_loss = 0.5 * (np.log(2 * np.pi * variance) + 1)
    return LearnerScore(BASELINE, float(log_loss), float(np.sqrt(variance)))


def baseline_of_classes(labels: npt.NDArray[Any], weights: FloatArray | None) -> LearnerScore:
    """Score of the guess that labels are as frequent everywhere as in training.

    >>> baseline_of_classes(np.array(["a", "a", "a", "b"]), None)
    LearnerScore(name='baseline', log_loss=0.5623..., error=0.25)
    """
    _, place = np.unique(labels, return_inverse=True)
    counts = np.bincount(place, weights)
    share = counts[counts > 0] / counts.sum()
    return LearnerScore(BASELINE, float(-share @ np.log(share)), float(1 - share.max()))
