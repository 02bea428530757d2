"""Multinomial logistic regression with an ℓ2 penalty, fitted to the last digit."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE
from pnml.core.logistic.certificate import Curvature
from pnml.core.logistic.lbfgs import Search
from pnml.core.logistic.preconditioner import (
    Preconditioner,
    passing_preconditioner,
    preconditioner,
)
from pnml.core.logistic.screening import Screen
from pnml.core.logistic.training import IntArray, LabelledProblems, Objective, TrainingRows
from pnml.core.softmax import log_softmax
from pnml.errors import InputError

_STAGES, _STEPS_A_STAGE = 12, 25
# Largest error of arcsin √p that the fit leaves; the error of genies is added to it.
_EXACT = 1e-10


@dataclass(frozen=True)
class LogisticModel:
    """Logistic regression: weights W that minimise Σ CE + (α/2)‖W‖², intercepts free. Eq. (H1).

    CE is the cross-entropy of a training row; the intercepts carry no penalty.
    """

    objective: Objective = field(repr=False)  # around the optimum
    alpha: Annotated[float, NOT_NEGATIVE]

    @classmethod
    def fit(
        cls,
        rows: FloatArray,
        labels: npt.ArrayLike,
        n_classes: int,
        *,
        alpha: float,
        intercept: bool = True,
        sample_weight: npt.ArrayLike | None = None,
        start: tuple[FloatArray, FloatArray] | None = None,
    ) -> Self:
        """The model fitted to rows (N, m) with labels 0 … C−1.

        Parameters
        ----------
        rows : array (N, m)
        labels : array of integers (N,)
        n_classes : int
        alpha : float
            Strength of the penalty, 0 or more.
        intercept : bool
        sample_weight : array (N,), optional
            How many copies of each row to count.
        start : pair of arrays (C, m) and (C,), optional
            Weights and intercepts near the optimum, if they are known.

        Examples
        --------
        >>> model = LogisticModel.fit(np.array([[0.0], [1.0], [3.0]]), [0, 0, 1], 2, alpha=1.0)
        >>> np.exp(model.log_prob(np.array([[2.0]]))).round(3)
        array([[0.548, 0.452]])
        """
        rows = np.asarray(rows, dtype=np.float64)
        y = np.asarray(labels, dtype=np.int64)
        weights = (
            np.ones(len(rows))
            if sample_weight is None
            else np.asarray(sample_weight, dtype=np.float64)
        )
        _check(rows, y, weights, n_classes, alpha)
        if intercept:
            _refuse_empty_classes(y, weights, n_classes)
        training = TrainingRows.of(rows, y, weights, n_classes, float(alpha), intercept)
        weight = np.zeros(training.shape)
        if start is not None:
            weight[:, : rows.shape[1]] = start[0]
            if intercept:
                weight[:, -1] = start[1] + start[0] @ training.center
        return cls(_optimum(training, weight), float(alpha))

    @property
    def weight(self) -> FloatArray:
        """Weights (C, m): C classes, m columns."""
        return self.objective.weight[:, : len(self.objective.training.center)]

    @property
    def bias(self) -> FloatArray:
        """Intercepts (C,); zeros where there are none."""
        if not self.objective.training.intercept:
            return np.zeros(len(self.objective.weight))
        return np.asarray(
            self.objective.weight[:, -1] - self.weight @ self.objective.training.center
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.objective.training.n_classes

    def log_prob(self, rows: FloatArray) -> FloatArray:
        """Log-probabilities (T, C) of rows (T, m)."""
        design = self.objective.training.design_rows(np.asarray(rows, dtype=np.float64))
        log_prob_rows: FloatArray = log_softmax(design @ self.objective.weight.T)
        return log_prob_rows

    @cached_property
    def preconditioner(self) -> Preconditioner:
        """The inverse of the Hessian at the optimum, or an approximation to it."""
        return preconditioner(self.objective)

    @cached_property
    def curvature(self) -> Curvature:
        """Lower bounds on the curvature of the loss, for the error bounds of refits."""
        return Curvature.of(self.objective)

    @cached_property
    def screen(self) -> Screen:
        """Bound that finds labels whose genie gains too little probability to need a refit."""
        return Screen.of(self.objective.training, self.preconditioner)


def _optimum(training: TrainingRows, weight: FloatArray) -> Objective:
    """The objective around its minimum, in stages with a new preconditioner each."""
    for _ in range(_STAGES):
        weight, done = _stage(training.at(weight))
        if done:
            break
    objective = training.at(weight)
    if training.penalty[0] == 0:
        _refuse_separable(objective)
    return objective


def _stage(objective: Objective) -> tuple[FloatArray, bool]:
    """A better weight matrix, and whether it is the last."""
    training, weight = objective.training, objective.weight
    C, M = training.shape
    nothing = LabelledProblems(np.zeros((1, M)), np.zeros((1, C)), np.zeros(1), np.ones(1))
    search = Search(np.zeros(1, dtype=np.int64), np.zeros((1, C * M)), objective.slope)
    around, curvature = passing_preconditioner(objective), Curvature.of(objective)
    done = False
    for step in range(_STEPS_A_STAGE):
        doubt = curvature.doubt(search.slopes.reshape(1, C, M), training.intercept)
        done = bool(doubt[0] < _EXACT)
        if done:
            break
        way = search.direction(lambda v, ids: around(v))
        if step and not np.any(search.points + way != search.points):
            return weight + search.points.reshape(C, M), True  # only round-off is left
        search.go(way, lambda points, ids: objective.gradient(points, nothing))
    return weight + search.points.reshape(C, M), done


def _refuse_separable(objective: Objective) -> None:
    training = objective.training
    own = objective.log_prob[training.labels, np.arange(len(training.labels))]
    if np.max(-own[training.weights > 0]) < 1e-3 or np.abs(objective.weight).max() > 1e6:
        raise InputError(
            "The classes can be told apart without error, so that without a penalty every label "
            f"can be fitted: the regret is log {training.n_classes} = "
            f"{np.log(training.n_classes):.3f} everywhere; pass alpha above 0."
        )


def _check(
    rows: FloatArray, labels: IntArray, weights: FloatArray, n_classes: int, alpha: float
) -> None:
    if rows.ndim != 2 or len(rows) != len(labels) or len(rows) != len(weights):
        raise InputError(
            f"The rows have shape {rows.shape}, the labels {labels.shape} and the weights "
            f"{weights.shape}; pass a table (N, m) with one label and one weight a row."
        )
    if not (np.isfinite(alpha) and alpha >= 0):
        raise InputError(
            f"alpha is {alpha}, but a penalty is finite and at least 0; pass such one."
        )
    if not np.all(np.isfinite(rows)):
        raise InputError("The rows hold NaN or infinite values; take them out or fill them first.")
    if n_classes < 2:
        raise InputError(f"There is {n_classes} class, but a label needs two to choose from.")
    if not np.any(weights > 0) or weights.min() < 0:
        raise InputError("There is no row of positive weight, or one below 0; pass weights ≥ 0.")
    if labels.min() < 0 or labels.max() >= n_classes:
        raise InputError(
            f"The labels go from {labels.min()} to {labels.max()}, but there are {n_classes} "
            f"classes; pass integers from 0 to {n_classes - 1}."
        )


def _refuse_empty_classes(labels: IntArray, weights: FloatArray, n_classes: int) -> None:
    counts = np.bincount(labels, weights, minlength=n_classes)
    if np.any(counts == 0):
        raise InputError(
            f"Class {int(np.argmin(counts))} of {n_classes} has no row, and its free intercept no "
            "optimum; leave the class out, or fit without intercepts."
        )
