"""Least squares of several targets at once: one geometry, one penalty, a noise for each target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.find_relations import relations_of
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import NOISE_FLOOR, LeaveOneOut, Path, folds_of
from pnml.core.relations import Relations
from pnml.core.selection import penalties, select, shared_penalty
from pnml.core.statistic.factor import Factor
from pnml.core.trust import Evidence, Reference
from pnml.learners.least_squares import NOTHING, ORDINARY, LeastSquares, Method
from pnml.learners.protocol import Inputs


@dataclass(frozen=True)
class ManyTargets:
    """Fitted least squares of k targets: one learner per target, all with the same penalty.

    The regret of a row, in nats per target, is the mean over targets; for pNML all are equal.
    Eq. (R5).
    """

    targets: tuple[LeastSquares, ...]

    inputs: ClassVar[Inputs] = Inputs(shows_nonfinite=True)

    @property
    def first(self) -> LeastSquares:
        """The learner of the first target; leverages are the same for all targets."""
        return self.targets[0]

    @property
    def relations(self) -> Relations | None:
        """Linear relations between columns that all training rows keep; None if not known."""
        return self.first.relations

    @property
    def spectrum(self) -> Spectrum:
        """Spectrum (singular directions) of the training rows, with all k targets."""
        spectra = [target.spectrum for target in self.targets]
        return replace(
            spectra[0],
            z=np.hstack([one.z for one in spectra]),
            y_mean=np.concatenate([one.y_mean for one in spectra]),
            unexplained=np.concatenate([one.unexplained for one in spectra]),
        )

    @property
    def noise_variances(self) -> FloatArray:
        """Noise variance (k,) of each target."""
        return np.array([target.choice.noise_variance for target in self.targets])

    @property
    def slopes(self) -> FloatArray:
        """Slopes (k, d) of the ridge fits, a row for each target."""
        return np.array([target.slopes for target in self.targets])

    def predictive(self, X: FloatArray) -> Normal:
        """Normal distributions of the k labels of rows: mean and std (n, k), regret (n,)."""
        if self.first.method is ORDINARY:
            leverage = self.leverage(X)  # once for all targets
            std = np.sqrt(self.noise_variances) * gaussian.spread(leverage)[:, None]
            return Normal(self.mean(X), std, gaussian.regret(leverage))
        parts = [target.predictive(X) for target in self.targets]
        mean, std = (np.column_stack([getattr(p, n) for p in parts]) for n in ("mean", "std"))
        return Normal(mean, std, np.mean([part.regret for part in parts], axis=0))

    def mean(self, X: FloatArray) -> FloatArray:
        """Means (n, k) of the predictive distributions of rows."""
        return np.column_stack([target.mean(X) for target in self.targets])

    def leverage(self, X: FloatArray) -> FloatArray:
        """Leverage (n,) of rows, the same for all targets. Eq. (S2)."""
        return self.first.leverage(X)

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret (n,) of rows in nats per target: the mean over targets. Eq. (R5)."""
        if self.first.method is ORDINARY:
            return self.first.regret(X)
        regrets: FloatArray = np.mean([target.regret(X) for target in self.targets], axis=0)
        return regrets

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """Regret, and which rows break linear relations between columns (`Relations.broken`).

        At penalty 0 the regret is infinite outside the span of the training rows. Pass the `regret`
        (n,) if it is already known.
        """
        return self.first.evidence(X, self.regret(X) if regret is None else regret)

    def explain(self, X: FloatArray) -> FloatArray:
        """Part (n, d) of each row's leverage that each feature causes, ≥ 0."""
        return self.first.explain(X)

    @cached_property
    def loo(self) -> LeaveOneOut:
        """Leave-one-out results of the training rows: residuals and sds are (n, k).

        Regrets and log-losses are (n,), means over the k targets.
        """
        parts = [target.choice.loo for target in self.targets]
        return LeaveOneOut(
            np.column_stack([part.residuals for part in parts]),
            np.column_stack([part.sds for part in parts]),
            np.mean([part.regrets for part in parts], axis=0),
            np.mean([part.log_losses for part in parts], axis=0),
            parts[0].weights,
            parts[0].path,
        )

    @property
    def reference(self) -> Reference:
        """Left-out regrets of the training rows, from which thresholds of trust are taken."""
        return self.loo.reference


def solve_many(
    factor: Factor,
    X: FloatArray,
    Y: FloatArray,
    weights: FloatArray,
    method: Method,
    alpha: float | None,
    noise_variance: float | None,
    *,
    intercept: bool,
) -> ManyTargets:
    """Fit least squares to targets Y (n, k), with one ridge penalty `alpha` for all. Eq. (R5).

    `factor` summarises the weighted rows X (n, d) and Y. Leave-one-out chooses `alpha`, and one
    `noise_variance` per target, where they are None.
    """
    spectrum = Spectrum.of_factor(factor, intercept=intercept, unit_columns=alpha == 0)
    d, k = len(factor.x_mean), Y.shape[1]
    squares = np.sum(factor.R[:, d:] ** 2, axis=0)  # (k,)
    full = len(spectrum.h2) + int(intercept) >= factor.rows
    interpolates = full or bool(np.any(spectrum.unexplained <= NOTHING * squares))
    floors = NOISE_FLOOR * squares / factor.weight
    singles = [_single(spectrum, j) for j in range(k)]
    folds = [partial(folds_of, singles[j], X, Y[:, j], weights) for j in range(k)]
    path: Path | None = None
    if alpha is None:
        settings = [(folds[j], noise_variance, float(floors[j])) for j in range(k)]
        grid = penalties(spectrum.h2, interpolates)
        path, best = shared_penalty(settings, method.folds, grid, interpolates)
        alpha = float(path.alphas[best])
    relations = relations_of(X, weights, factor)
    targets = []
    for j in range(k):
        exact = singles[j].mean_square if method is ORDINARY and factor.whole else None
        choice = select(
            folds[j],
            method.folds,
            alpha,
            noise_variance,
            h2=spectrum.h2,
            interpolates=interpolates,
            floor=float(floors[j]),
            exact_noise=exact,
        )
        choice = replace(choice, loo=replace(choice.loo, path=path))
        targets.append(LeastSquares(method, singles[j], choice, relations))
    return ManyTargets(tuple(targets))


def _single(spectrum: Spectrum, target: int) -> Spectrum:
    """The spectrum with one of its targets."""
    one = slice(target, target + 1)
    return replace(
        spectrum,
        z=np.ascontiguousarray(spectrum.z[:, one]),
        y_mean=spectrum.y_mean[one],
        unexplained=spectrum.unexplained[one],
    )
