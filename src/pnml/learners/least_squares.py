"""Least squares, ordinary, ridge or with ℓ2 luckiness, from rows in memory or streamed sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from pnml.core import gaussian, leave_one_out, luckiness
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Predictive
from pnml.core.find_relations import relations_of
from pnml.core.geometry import attribution
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import NOISE_FLOOR, folds_of
from pnml.core.leave_one_out import Learner as FoldRule
from pnml.core.relations import Relations, broken_by
from pnml.core.selection import Choice, select
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.forgetting import warn_if_worn
from pnml.core.statistic.gram import Gram
from pnml.core.trust import Evidence
from pnml.learners.chosen import Chosen
from pnml.learners.protocol import Inputs

# Rows are interpolated if the residual is below this share of the targets' squares: a stream,
# which computes it as a difference, cannot resolve much less.
NOTHING = 1e-13


@dataclass(frozen=True)
class Rows:
    """Rows used for leave-one-out: all training rows, or the sample kept of a stream."""

    X: FloatArray  # (n, d)
    y: FloatArray  # (n,)
    weights: FloatArray  # (n,)

    @classmethod
    def of_sample(cls, gram: Gram) -> Rows:
        """The sample of training rows that a Gram (sums over a stream of rows) has kept."""
        rows = gram.sample.rows
        return cls(rows[:, :-2], rows[:, -2], rows[:, -1])


@dataclass(frozen=True)
class Method:
    """The kind of least-squares learner, as two functions: its leave-one-out, its prediction.

    `ORDINARY` is pNML with an optional ridge penalty, `LUCKY` is pNML with ℓ2 luckiness.
    """

    folds: FoldRule
    predictive: Callable[[Spectrum, FloatArray, float, float], Predictive]


ORDINARY = Method(leave_one_out.PNML, gaussian.predictive)
LUCKY = Method(leave_one_out.LUCKINESS, luckiness.predictive)


@dataclass(frozen=True)
class LeastSquares(Chosen):
    """Fitted least-squares learner: the spectrum of the training rows, its penalty and noise."""

    method: Method
    spectrum: Spectrum
    choice: Choice
    relations: Relations | None = None  # of the columns; None in a file of an older version

    inputs: ClassVar[Inputs] = Inputs(shows_nonfinite=True)

    @property
    def slopes(self) -> FloatArray:
        """Slopes (d,) of the ridge fit."""
        return self.spectrum.coefficients(self.choice.alpha)[:, 0]

    @cached_property
    def geometry(self) -> Spectrum:
        """`spectrum` plus the directions in which no training row varies: same leverages, faster.

        Unchanged without a penalty, or where adding them would lose accuracy.
        """
        return self.spectrum.completed(self.choice.alpha)

    def predictive(self, X: FloatArray) -> Predictive:
        """Predictive distribution of the label of each row."""
        return self.method.predictive(
            self.geometry, X, self.choice.alpha, self.choice.noise_variance
        )

    def mean(self, X: FloatArray) -> FloatArray:
        """Mean (n,) of the predictive distribution; for pNML it is the ridge prediction."""
        if self.method is ORDINARY:
            return self.spectrum.fitted(X, self.choice.alpha)
        return self.predictive(X).mean

    def leverage(self, X: FloatArray) -> FloatArray:
        """Leverage (n,): how strongly a row would pull a fit that includes it to the row's label.

        At penalty 0 it is infinite outside the span of the training rows. Eq. (S2).
        """
        leverage: FloatArray = self.geometry.leverage(X, self.choice.alpha)
        return leverage

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret (n,) of rows, in nats; for pNML it is log(1 + leverage). Eq. (R1)."""
        if self.method is ORDINARY:
            regret: FloatArray = gaussian.regret(self.leverage(X))
            return regret
        return self.predictive(X).regret

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """Regret, and which rows break linear relations between columns (`Relations.broken`).

        At penalty 0 the regret is infinite outside the span of the training rows. Pass the `regret`
        (n,) if it is already known.
        """
        broken = broken_by(self.relations, X)
        return Evidence(self.regret(X) if regret is None else regret, broken=broken)

    def explain(self, X: FloatArray) -> FloatArray:
        """Part (n, d) of each row's leverage that each feature causes, ≥ 0.

        The parts of a row sum to its leverage without that of the intercept.
        """
        return attribution.explain(self.geometry, X, self.choice.alpha)


def solve(
    statistic: Factor | Gram,
    rows: Rows,
    method: Method,
    alpha: float | None,
    noise_variance: float | None,
    *,
    intercept: bool,
    later: bool = False,
) -> LeastSquares:
    """Fit least squares from a `statistic` of all training rows: a QR factor, or streamed sums.

    `rows` are used for leave-one-out, which chooses `alpha` (the ridge penalty) and
    `noise_variance` where they are None. With `later`, leave-one-out results are computed at the
    first use of `loo`.
    """
    unit_columns = alpha == 0  # without a penalty the units of a column mean nothing
    if isinstance(statistic, Factor):
        spectrum = Spectrum.of_factor(statistic, intercept=intercept, unit_columns=unit_columns)
        y_squares = float(np.sum(statistic.R[:, -1] ** 2))
    else:
        spectrum = Spectrum.of_gram(statistic, intercept=intercept, unit_columns=unit_columns)
        y_squares = float(statistic.yy[0, 0])
    unexplained = float(spectrum.unexplained[0])
    full = len(spectrum.h2) + int(intercept) >= statistic.rows
    choice = select(
        partial(folds_of, spectrum, rows.X, rows.y, rows.weights),
        method.folds,
        alpha,
        noise_variance,
        h2=spectrum.h2,
        interpolates=full or unexplained <= NOTHING * y_squares,
        floor=NOISE_FLOOR * y_squares / statistic.weight,
        # for pNML the pooled noise is the mean squared residual, which no sample need estimate
        exact_noise=spectrum.mean_square if method is ORDINARY and statistic.whole else None,
        later=later,
    )
    if isinstance(statistic, Gram):
        spectrum.warn_if_lossy(choice.alpha, rows.X)
        warn_if_worn(statistic, spectrum, choice.alpha)
    relations = relations_of(rows.X, rows.weights, statistic)
    return LeastSquares(method, spectrum, choice, relations)
