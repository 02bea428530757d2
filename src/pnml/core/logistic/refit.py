"""One refit for each label of each row: the pNML of logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.logistic.genies import Solver
from pnml.core.logistic.model import LogisticModel
from pnml.core.logistic.screening import left_out as screened
from pnml.core.logistic.training import IntArray, LabelledProblems
from pnml.core.softmax import log_softmax
from pnml.errors import InputError

# Function of rows done and all rows.
Progress = Callable[[int, int], None]

# Bytes that the steps of a group of problems and their memory may take.
_MAX_MEMORY = 2**29
_COPIES = 60  # arrays of the size of the steps in memory at once
_AT_ONCE = 400  # problems: a larger group is no faster
_MOST_STEPS = 500
# Share of the tolerance for labels without a refit; refits get the rest.
_SCREENED = 0.2
# Reported errors are at least this share of the tolerance: a lucky last step does not count.
_FINEST = 0.25


@dataclass(frozen=True)
class Refits:
    """Results for T rows, each refitted with each of C labels: genies, regret and errors."""

    log_genie: FloatArray  # (T, C)  log-probability of each label by the model refitted with it
    error: FloatArray  # (T,)  bound or estimate of the error of the regret, left-out part included
    left_out: FloatArray  # (T,)  most that labels without a refit could add to Σ genie
    converged: npt.NDArray[np.bool_]  # (T,)  whether the error is within the tolerance
    steps: IntArray  # (T, C)  steps of each refit; 0 for labels without one

    @property
    def regret(self) -> FloatArray:
        """Regret (T,), in nats: log of the sum of the C genies' probabilities. Eq. (H8)."""
        top = self.log_genie.max(axis=1)
        log_sum: FloatArray = top + np.log(np.sum(np.exp(self.log_genie - top[:, None]), axis=1))
        return np.clip(log_sum, 0.0, np.log(self.log_genie.shape[1]))

    @property
    def log_prob(self) -> FloatArray:
        """Logarithms (T, C) of the pNML probabilities."""
        return self.log_genie - self.regret[:, None]


def refit(
    model: LogisticModel, rows: FloatArray, *, tol: float = 1e-4, progress: Progress | None = None
) -> Refits:
    """Refits of the logistic model with each row and each of its labels in turn. Eq. (H8).

    Parameters
    ----------
    model : LogisticModel
    rows : array (T, m)
    tol : float
        Largest error of a regret, in nats.
    progress : function of rows done and all rows, optional

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LogisticModel.fit(X, [0, 0, 1, 1], 2, alpha=1.0)
    >>> refit(model, np.array([[0.0], [30.0]])).regret.round(3)
    array([0.279, 0.655])
    """
    values = np.asarray(rows, dtype=np.float64)
    width = len(model.objective.training.center)
    if values.ndim != 2 or values.shape[1] != width or not np.all(np.isfinite(values)):
        raise InputError(
            f"The rows have shape {values.shape}, but finite rows of {width} columns, as in "
            "training, are needed; pass an array (T, m) without NaN."
        )
    design, one_hot = model.objective.training.design_rows(values), np.eye(model.n_classes)

    def problems(part: slice) -> LabelledProblems:
        rows = design[part]
        return LabelledProblems.new(
            rows.repeat(len(one_hot), axis=0), np.tile(one_hot, (len(rows), 1))
        )

    return _solved(model, problems, len(design), tol, progress, may_screen=True)


def refit_left_out(
    model: LogisticModel,
    index: npt.ArrayLike,
    *,
    tol: float = 1e-4,
    progress: Progress | None = None,
) -> Refits:
    """Refits with each label of training rows, each row left out first. Eq. (H11).

    Adding a row with its own label restores the training rows; another label replaces its label. So
    each genie is one refit of the objective of all rows. If a row counts more than once, one copy
    is left out.

    Parameters
    ----------
    model : LogisticModel
    index : array of integers (T,)
        Indices of training rows.
    tol : float
        Largest error of a regret, in nats.
    progress : function of rows done and all rows, optional
    """
    training, one_hot = model.objective.training, np.eye(model.n_classes)
    index_rows = np.asarray(index, dtype=np.int64)

    def problems(part: slice) -> LabelledProblems:
        row = index_rows[part].repeat(len(one_hot))
        copies = np.minimum(training.weights[row], 1.0)
        labels = np.tile(one_hot, (len(index_rows[part]), 1))
        exchange = labels - copies[:, None] * one_hot[training.labels[row]]
        row_weight = training.weights[row] - copies + 1
        return LabelledProblems(training.values[row], exchange, 1 - copies, row_weight)

    return _solved(model, problems, len(index_rows), tol, progress, may_screen=False)


def _solved(
    model: LogisticModel,
    problems: Callable[[slice], LabelledProblems],
    total: int,
    tol: float,
    progress: Progress | None,
    *,
    may_screen: bool,
) -> Refits:
    """The refits of `total` rows; `problems(rows)` makes the problems of a slice of rows."""
    if not tol > 0:
        raise InputError(f"tol is {tol}, but a tolerance is above 0; pass such one.")
    C = model.n_classes
    step = max(1, _problems_at_once(model) // C)
    log_genie, wrong = np.empty((total, C)), np.empty((total, C))
    unfitted, steps = np.empty(total), np.empty((total, C), dtype=np.int64)
    for start in range(0, total, step):
        rows = slice(start, min(start + step, total))
        log_genie[rows], wrong[rows], unfitted[rows], steps[rows] = _group(
            model, problems(rows), tol, may_screen
        )
        if progress is not None:
            progress(rows.stop, total)
    share = (wrong.sum(axis=1) + unfitted) / np.maximum(np.sum(np.exp(log_genie), axis=1), 1.0)
    error = np.maximum(-np.log1p(-np.minimum(share, 1 - 1e-16)), _FINEST * tol)
    return Refits(log_genie, error, unfitted, error <= tol, steps)


def _group(
    model: LogisticModel, problems: LabelledProblems, tol: float, screen: bool
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Log-genies, errors (T, C), left-out gains (T,) and steps (T, C) of a group of rows."""
    C = model.n_classes
    owner, labels = np.divmod(np.arange(len(problems)), C)
    reach = model.preconditioner.reach(problems.rows[::C])
    log_prob: FloatArray = log_softmax(problems.rows[::C] @ model.objective.weight.T)
    log_genie = log_prob.copy()
    out, unfitted = np.zeros(log_genie.shape, dtype=bool), np.zeros(len(log_genie))
    if screen:
        gains = model.screen.gains(log_prob, reach.matrix)
        out = screened(gains, _SCREENED * tol)
        unfitted = np.sum(np.where(out, gains, 0.0), axis=1)
    error, steps = np.zeros(log_genie.shape), np.zeros(log_genie.shape, dtype=np.int64)
    share = (-np.expm1(-tol) - unfitted.max(initial=0.0)) / C  # what screening leaves
    solver = Solver(model.objective, model.preconditioner, model.curvature, share, _MOST_STEPS)
    fitted = np.flatnonzero(~out)
    size = _problems_at_once(model)
    for start in range(0, len(fitted), size):
        part = fitted[start : start + size]
        genies = solver.solve(problems[part], labels[part], owner[part], reach)
        log_genie.flat[part], error.flat[part] = genies.log_prob, genies.error
        steps.flat[part] = genies.steps
    return log_genie, error, unfitted, steps


def _problems_at_once(model: LogisticModel) -> int:
    """Number of problems in a group, limited by memory and by the gain in speed."""
    return max(1, min(_AT_ONCE, _MAX_MEMORY // (8 * _COPIES * model.objective.weight.size)))
