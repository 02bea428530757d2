"""Solver of labelled problems to a certified tolerance, many at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.logistic.certificate import Curvature, probability_error
from pnml.core.logistic.fixed_point import fixed_point
from pnml.core.logistic.lbfgs import Search
from pnml.core.logistic.preconditioner import Preconditioner, Reach
from pnml.core.logistic.training import IntArray, LabelledProblems, Objective

# Finished problems are dropped when they reach this share of the running ones.
_DROP = 0.2
# Forecasts count once the doubt is below this; their error is this many times their change, and
# no less than the bound over that.
_LOCAL, _CAUTION, _BEYOND = 0.05, 8.0, 100.0


@dataclass(frozen=True)
class Genies:
    """Genies of P problems, a problem being one row with one of its possible labels.

    A genie is the logistic model refitted with that row and label; `log_prob` is what it gives the
    label, and `error` bounds or estimates the numerical error of that probability.
    """

    log_prob: FloatArray  # (P,)
    error: FloatArray  # (P,)  of the probability
    steps: IntArray  # (P,)  number of steps taken
    open: npt.NDArray[np.bool_]  # (P,)  not accurate enough yet

    @classmethod
    def unknown(cls, size: int) -> Genies:
        """Genies of `size` problems before the first step, for `improve` and `close` to fill in.

        All are open, with `log_prob` NaN (not known yet), `error` infinite and 0 `steps`.
        """
        nothing = np.zeros(size, dtype=np.int64)
        return cls(np.full(size, np.nan), np.full(size, np.inf), nothing, np.ones(size, dtype=bool))

    def improve(self, ids: IntArray, log_prob: FloatArray, error: FloatArray) -> None:
        """Replace probabilities of open problems, in place, where the new error is smaller.

        `ids` (p,) are the problems of `log_prob` (p,) and `error` (p,). Closed problems stay as
        they are, so that no result depends on the others in its batch.
        """
        better = (error < self.error[ids]) & self.open[ids]
        at = ids[better]
        self.log_prob[at], self.error[at] = log_prob[better], error[better]

    def close(self, owner: IntArray, tol: float) -> None:
        """Count a step; close problems that are accurate, alone or on average over their row.

        `owner` (P,) is the index of each problem's row, `tol` the largest error of a probability.
        """
        self.steps[self.open] += 1
        mean = np.bincount(owner, self.error) / np.maximum(np.bincount(owner), 1)
        self.open[(self.error <= tol) | (mean <= tol)[owner]] = False


@dataclass(frozen=True)
class Solver:
    """Solver that refits the logistic model for many problems, each a row with one label."""

    objective: Objective
    preconditioner: Preconditioner
    curvature: Curvature
    tol: float  # of a probability, in the mean over the labels of a row
    most_steps: int

    def solve(
        self, problems: LabelledProblems, labels: IntArray, owner: IntArray, reach: Reach
    ) -> Genies:
        """Genies of the problems: the probability of each label by the model refitted with it.

        Parameters
        ----------
        problems : LabelledProblems, P of them
        labels : array (P,)
            The labels whose probabilities are returned.
        owner : array (P,)
            Index of each problem's row in `reach`.
        reach : Reach
            How pulls at the added rows move the weights and their logits.
        """
        near = reach.of_problems(owner)
        logits = problems.rows @ self.objective.weight.T
        u = fixed_point(logits, near.matrix, problems.target, problems.own)
        around = _Around.of(self.preconditioner, near, logits, u, problems.own)
        P = len(problems)
        start = np.zeros((P, self.objective.weight.size))
        slopes = self.objective.slope + self.objective.added_gradient(start, problems)
        search = Search(np.arange(P), start, slopes)
        way = near.steps(u)
        forecast = _Forecast.of(self._log_prob(way, search.ids, problems, labels))
        genies = Genies.unknown(P)
        for count in range(1, self.most_steps + 1):
            search.go(way, lambda points, ids: self.objective.gradient(points, problems[ids]))
            way = search.direction(around)
            log_prob = self._log_prob(search.points, search.ids, problems, labels)
            doubt = self._doubt(search) / np.sqrt(problems.row_weight[search.ids])
            bound = probability_error(log_prob, doubt)
            genies.improve(search.ids, log_prob, bound)
            next_log_prob = self._log_prob(search.points + way, search.ids, problems, labels)
            moved = forecast.moved(search.ids, next_log_prob)
            if count > 1:  # the first forecast equals the current value, so this gap is its change
                moved = moved + np.abs(next_log_prob - log_prob)
            error = _forecast_error(search, way, np.maximum(log_prob, next_log_prob), moved)
            local = np.where(doubt < _LOCAL, np.maximum(error, bound / _BEYOND), np.inf)
            genies.improve(search.ids, next_log_prob, local)
            genies.close(owner, self.tol)
            # A search whose sums left the floats would not come back: its error stays as it is.
            finite = np.isfinite(way).all(axis=1)
            open_ = genies.open[search.ids] & finite
            if not open_.any():
                break
            if np.mean(open_) <= 1 - _DROP or not finite.all():
                search.keep(open_)
                way = way[open_]
        return genies

    def _log_prob(
        self, points: FloatArray, ids: IntArray, problems: LabelledProblems, labels: IntArray
    ) -> FloatArray:
        """Log-probability (p,) of the labels of the problems `ids`."""
        log_prob = self.objective.problem_log_prob(points, problems[ids])
        return np.asarray(log_prob[np.arange(len(ids)), labels[ids]])

    def _doubt(self, search: Search) -> FloatArray:
        """Bound (p,) on the error of arcsin √p, from the gradients. Eq. (H6)."""
        training = self.objective.training
        slopes = search.slopes.reshape(-1, *training.shape)
        bounds: FloatArray = self.curvature.doubt(slopes, training.intercept)
        return bounds


def _forecast_error(
    search: Search, way: FloatArray, log_prob: FloatArray, moved: FloatArray
) -> FloatArray:
    """Error (p,) of the forecast probabilities, from their latest changes. Eq. (H9)."""
    decrement = -np.einsum("pi,pi->p", search.slopes, way)
    error: FloatArray = np.exp(log_prob) * np.expm1(np.minimum(_CAUTION * moved + decrement, 1.0))
    return error


@dataclass
class _Forecast:
    """Forecasts of the log-probability of each problem, from its latest steps."""

    latest: FloatArray  # (P,)
    change: FloatArray  # (P,)  between the last two forecasts

    @classmethod
    def of(cls, first: FloatArray) -> _Forecast:
        return cls(first.copy(), np.zeros(len(first)))

    def moved(self, ids: IntArray, forecast: FloatArray) -> FloatArray:
        """The larger of the last two changes, after taking in a new forecast."""
        change = np.abs(forecast - self.latest[ids])
        larger = np.maximum(change, self.change[ids])
        self.latest[ids], self.change[ids] = forecast, change
        return larger


@dataclass(frozen=True)
class _Around:
    """The preconditioner with the added row included, evaluated at the fixed point."""

    shared: Preconditioner
    near: Reach
    gain: FloatArray  # (P, C, C)  (I + S A)⁻¹ S

    @classmethod
    def of(
        cls,
        shared: Preconditioner,
        near: Reach,
        logits: FloatArray,
        u: FloatArray,
        own: FloatArray,
    ) -> _Around:
        z = logits + (near.matrix @ u[..., None])[..., 0]
        q = np.exp(z - z.max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
        eye = np.eye(q.shape[1])
        S = own[:, None, None] * (q[:, :, None] * eye - q[:, :, None] * q[:, None, :])
        return cls(shared, near, np.linalg.solve(eye + S @ near.matrix, S))

    def __call__(self, v: FloatArray, ids: IntArray) -> FloatArray:
        near, gain = self.near.of_problems(ids), self.gain[ids]
        pulled = (gain @ near.pulls(v)[..., None])[..., 0]
        return self.shared(v) - near.steps(pulled)
