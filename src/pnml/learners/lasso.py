"""The lasso learner (ℓ1 luckiness): its fit, and the choice of its penalty and noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.distributions.piecewise import PiecewiseLogQuadratic
from pnml.core.find_relations import relations_of
from pnml.core.geometry import attribution
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.lasso.leave_one_out import L1Folds
from pnml.core.lasso.luckiness import L1Fit
from pnml.core.lasso.path import lasso
from pnml.core.leave_one_out import NOISE_FLOOR, LeaveOneOut, Path
from pnml.core.relations import Relations, broken_by
from pnml.core.selection import Choice, some_rows
from pnml.core.statistic.factor import Factor
from pnml.core.trust import Evidence
from pnml.errors import InputError
from pnml.learners.chosen import Chosen
from pnml.learners.protocol import Inputs, rises_with

# Penalties run from the one that empties the model to a share of the median feature's own.
_PENALTIES, _MOST_PENALTIES, _SMALLEST_PENALTY = 16, 40, 1e-3
# Noise variances run from the floor to this many mean squared residuals, and at least to a tenth
# of the variance of y. A larger maximum makes longer walks.
_NOISES, _RESIDUALS, _LEAST_REACH = 60, 4.0, 0.1
# A fold is a walk of milliseconds, so the path looks at fewer rows than the summary.
_PATH_ROWS, _SUMMARY_ROWS = 40, 200


@dataclass(frozen=True)
class Lasso(Chosen):
    """Fitted lasso learner: pNML with ℓ1 luckiness, a penalty on absolute slopes."""

    spectrum: Spectrum
    fit: L1Fit
    choice: Choice
    relations: Relations | None = None  # of the columns; None in a file of an older version

    inputs: ClassVar[Inputs] = Inputs()  # a slope of 0 would hide a NaN

    @property
    def slopes(self) -> FloatArray:
        """Slopes (d,) of the lasso fit."""
        return self.fit.coef

    def predictive(self, X: FloatArray) -> PiecewiseLogQuadratic:
        """Predictive distribution of the label of each row."""
        rows = np.asarray(X, dtype=float)
        return self.fit.predictive(rows, self.choice.noise_variance)

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret (n,) of rows, in nats; faster than the full predictive distribution."""
        rows = np.asarray(X, dtype=float)
        return self.fit.regret(rows, np.array([self.choice.noise_variance]))[:, 0]

    def mean(self, X: FloatArray) -> FloatArray:
        """Mean (n,) of the predictive distribution of each row."""
        return self.predictive(X).mean

    def leverage(self, X: FloatArray) -> FloatArray:
        """exp(regret) − 1 (n,) of rows, which stands for their leverage."""
        return rises_with(self.regret(X))

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """Regret, and which rows break linear relations between columns (`Relations.broken`).

        Pass the `regret` (n,) if it is already known.
        """
        broken = broken_by(self.relations, X)
        return Evidence(self.regret(X) if regret is None else regret, broken=broken)

    def explain(self, X: FloatArray) -> FloatArray:
        """Part (n, d) of exp(regret) − 1 that each feature causes, ≥ 0."""
        return attribution.explain_regret(self.spectrum, X, self.regret(X))


@dataclass(frozen=True)
class _Centred:
    """Training rows less their means; with no intercept, as they are."""

    X: FloatArray
    y: FloatArray
    intercept: bool

    def noises(self, coef: FloatArray) -> FloatArray:
        """Grid of noise variances to choose from, given the slopes of a fit."""
        variance = float(np.var(self.y))
        residual = float(np.mean((self.y - self.X @ coef) ** 2))
        reach = max(_RESIDUALS * residual, _LEAST_REACH * variance)
        return np.geomspace(NOISE_FLOOR * variance, reach, _NOISES)

    def folds(self, penalty: float, coef: FloatArray) -> L1Folds:
        n = len(self.X)
        return L1Folds.of(self.X, self.y, penalty, 1 - 1 / n if self.intercept else 1.0, coef)


def solve_lasso(
    factor: Factor,
    X: FloatArray,
    y: FloatArray,
    alpha: float | None,
    noise_variance: float | None,
    *,
    intercept: bool,
) -> Lasso:
    """Fit the lasso learner to rows X (n, d) and targets y (n,); `factor` summarises both.

    `alpha` is the penalty on absolute slopes. Leave-one-out chooses `alpha` and `noise_variance`
    where they are None.
    """
    if alpha == 0:
        raise InputError(
            'alpha is 0, but penalty="l1" weighs models by their norm and needs alpha > 0; '
            "use PNMLRegressor() for least squares without a penalty."
        )
    spectrum = Spectrum.of_factor(factor, intercept=intercept, unit_columns=False)
    rows = _Centred(X - spectrum.center, y - spectrum.y_mean[0], intercept)
    path = None
    if alpha is None:
        interpolates = len(X) <= len(spectrum.h2) + int(intercept)
        path, alpha = _choose(rows, noise_variance, interpolates)
    gram, moment = rows.X.T @ rows.X, rows.X.T @ rows.y
    omega = 1 / (1 + spectrum.intercept_share)
    y_mean = float(spectrum.y_mean[0])
    fit = L1Fit.of(gram, moment, alpha, spectrum.center, y_mean, omega)
    choice = _summarise(rows, fit, alpha, noise_variance, path)
    return Lasso(spectrum, fit, choice, relations_of(X, None, factor))


def _choose(rows: _Centred, noise_variance: float | None, interpolates: bool) -> tuple[Path, float]:
    """Penalty of least pooled loss over the grid, or the cautious one. Eq. (V3)."""
    gram, moment = rows.X.T @ rows.X, rows.X.T @ rows.y
    entries = np.abs(moment)[np.diagonal(gram) > 0]  # penalties at which features enter alone
    largest = float(entries.max(initial=0.0)) or 1.0
    least = max(_SMALLEST_PENALTY * float(np.median(entries)), 1e-9 * largest)
    per_decade = _PENALTIES / -np.log10(_SMALLEST_PENALTY)
    count = max(_PENALTIES, int(per_decade * np.log10(largest / least)))
    penalties = np.geomspace(largest, least, min(count, _MOST_PENALTIES))
    sample = some_rows(len(rows.X), _PATH_ROWS)
    coefs = lasso(gram, moment, penalties)
    scores = []
    for penalty, coef in zip(penalties, coefs, strict=True):
        noises = rows.noises(coef) if noise_variance is None else np.array([noise_variance])
        losses, _ = rows.folds(float(penalty), coef).losses(sample, noises)
        best = int(np.argmin(losses.mean(axis=0)))
        error = float(losses[:, best].std() / np.sqrt(len(sample)))
        scores.append((float(noises[best]), float(losses[:, best].mean()), error))
    noise, loss, errors = (np.array(column) for column in zip(*scores, strict=True))
    path = Path(penalties, noise, loss)
    at = path.cautious(float(errors[path.best()])) if interpolates else path.best()
    return path, float(penalties[at])


def _summarise(
    rows: _Centred, fit: L1Fit, alpha: float, noise_variance: float | None, path: Path | None
) -> Choice:
    """Noise variance and leave-one-out results at penalty `alpha`, as given or chosen."""
    if len(rows.X) < 2:
        nothing = np.zeros(0)
        loo = LeaveOneOut(nothing, nothing, nothing, nothing, nothing, path)
        return Choice(alpha, float(noise_variance or 0.0), loo)
    folds, sample = rows.folds(alpha, fit.coef), some_rows(len(rows.X), _SUMMARY_ROWS)
    if noise_variance is None:
        noises = rows.noises(fit.coef)
        losses, _ = folds.losses(sample, noises)
        noise_variance = float(noises[np.argmin(losses.mean(axis=0))])
    dist = folds.predictive(sample, noise_variance)
    y = rows.y[sample]
    loo = LeaveOneOut(
        y - dist.mean, dist.std, dist.regret, -dist.log_prob(y), np.ones(len(sample)), path
    )
    return Choice(alpha, noise_variance, loo)
