"""Least squares: ordinary, ridge and ℓ2 luckiness, from rows or from a statistic of them."""

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
    """Rows for leave-one-out of least squares: all of them, or the sample of a stream."""

    X: FloatArray  # (n, d)
    y: FloatArray  # (n,)
    weights: FloatArray  # (n,)

    @classmethod
    def of_sample(cls, gram: Gram) -> Rows:
        """The rows that a stream has kept."""
        rows = gram.sample.rows
        return cls(rows[:, :-2], rows[:, -2], rows[:, -1])


@dataclass(frozen=True)
class Method:
    """Method of a least-squares learner: scores of folds, and distribution of new rows."""

    folds: FoldRule
    predictive: Callable[[Spectrum, FloatArray, float, float], Predictive]


ORDINARY = Method(leave_one_out.PNML, gaussian.predictive)
LUCKY = Method(leave_one_out.LUCKINESS, luckiness.predictive)


@dataclass(frozen=True)
class LeastSquares(Chosen):
    """Fitted least-squares learner: the geometry, and the penalty and noise chosen on it."""

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
        """The spectrum with missing directions added, if a penalty makes that safe."""
        return self.spectrum.completed(self.choice.alpha)

    def predictive(self, X: FloatArray) -> Predictive:
        """Distribution of the labels of rows."""
        return self.method.predictive(
            self.geometry, X, self.choice.alpha, self.choice.noise_variance
        )

    def mean(self, X: FloatArray) -> FloatArray:
        """Predicted labels of rows; those of pNML are the ridge fit."""
        if self.method is ORDINARY:
            return self.spectrum.fitted(X, self.choice.alpha)
        return self.predictive(X).mean

    def leverage(self, X: FloatArray) -> FloatArray:
        """How much each row would pull its own prediction. Eq. (S2)."""
        leverage: FloatArray = self.geometry.leverage(X, self.choice.alpha)
        return leverage

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret of rows, in nats; that of pNML is log(1 + leverage). Eq. (R1)."""
        if self.method is ORDINARY:
            regret: FloatArray = gaussian.regret(self.leverage(X))
            return regret
        return self.predictive(X).regret

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """The regret, infinite outside the training span at penalty 0, and broken relations."""
        broken = broken_by(self.relations, X)
        return Evidence(self.regret(X) if regret is None else regret, broken=broken)

    def explain(self, X: FloatArray) -> FloatArray:
        """Share of each feature in the leverage of rows."""
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
    """Fit least squares; leave-one-out chooses alpha and noise_variance if they are None.

    With `later` the rows are kept, and each is left out at the first use of `loo`.
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
