"""Learners that tell the label of a row with an interval, most of them with a density."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import BayesianRidge

from pnml.core import gaussian, leave_one_out
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal, Predictive
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor
from pnml.estimators.kernel import KernelPNMLRegressor
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml.learners.least_squares import Method, Rows, solve

COVERAGE = 0.9
# Widths of a kernel that are tried, over that of 1 / (d · variance).
_WIDTHS = (1 / 16, 1 / 4, 1.0, 4.0)
_FOURIER = 300  # random features
_LOOKED_AT = 1_000  # rows on which their width is chosen


@dataclass(frozen=True)
class Told:
    """What a learner says of the labels of rows."""

    mean: FloatArray  # (n,)
    interval: FloatArray  # (n, 2)  at 90 %
    log_prob: Callable[[FloatArray], FloatArray] | None = None  # of labels (n,), nats
    regret: FloatArray | None = None  # (n,)  nats
    trusted: npt.NDArray[np.bool_] | None = None  # (n,)

    @classmethod
    def of(cls, dist: Predictive) -> Told:
        """Mean, interval and density of a predictive distribution."""
        return cls(dist.mean, dist.interval(COVERAGE), dist.log_prob)

    @classmethod
    def by(cls, model: Any, new: FloatArray) -> Told:
        """What a fitted estimator of this package says, with the regret and trust of each row."""
        dist = model.predict_dist(new)
        return replace(cls.of(dist), regret=dist.regret, trusted=model.trusted(new))


# From training rows, their labels and new rows to what is said of the new rows.
Learner = Callable[[FloatArray, FloatArray, FloatArray], Told]


def pnml(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Ridge pNML, penalty and noise by leave-one-out."""
    return Told.by(PNMLRegressor(alpha="loo").fit(X, y), new)


def luckiness(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Luckiness pNML with an ℓ2 norm, as it comes."""
    return Told.by(LpNMLRegressor().fit(X, y), new)


def kernel_pnml(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Kernel pNML with an rbf, its width by leave-one-out too."""
    return Told.by(chosen_kernel(X, y), new)


def chosen_kernel(X: FloatArray, y: FloatArray) -> KernelPNMLRegressor:
    """Kernel pNML of the width with the least leave-one-out log-loss."""
    models = (KernelPNMLRegressor(gamma=gamma).fit(X, y) for gamma in _gammas(X))
    best: KernelPNMLRegressor = _best(models)
    return best


def fourier_pnml(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Ridge pNML on the columns and random Fourier features of them."""
    few, widths = slice(_LOOKED_AT), _gammas(X)
    maps = [RBFSampler(gamma=g, n_components=_FOURIER, random_state=0).fit(X) for g in widths]
    tried = [PNMLRegressor(alpha="loo").fit(mapped(f, X[few]), y[few]) for f in maps]
    best = maps[tried.index(_best(tried))]
    model = PNMLRegressor(alpha="loo").fit(mapped(best, X), y)
    return Told.by(model, mapped(best, new))


def mapped(sampler: RBFSampler, X: FloatArray) -> FloatArray:
    """The columns, and random features of them behind."""
    return np.hstack([X, sampler.transform(X)])


def _gammas(X: FloatArray) -> FloatArray:
    gammas: FloatArray = np.array(_WIDTHS) / X.shape[1]
    return gammas


def _best(models: Iterable[Any]) -> Any:
    return min(models, key=lambda model: model.loo_.log_loss)


def ridge(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Ridge regression with noise of one size, both by leave-one-out."""
    return _by_leave_one_out(Method(leave_one_out.RIDGE, _as_wide_everywhere), X, y, new)


def bayes(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Bayesian ridge regression, prior and noise by leave-one-out. Eq. (R3)."""
    return _by_leave_one_out(Method(leave_one_out.BAYES, _bayesian), X, y, new)


def _by_leave_one_out(method: Method, X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    rows = Rows(X, y, np.ones(len(X)))
    return Told.of(solve(Factor.of(X, y), rows, method, None, None, intercept=True).predictive(new))


def _as_wide_everywhere(s: Spectrum, X: FloatArray, alpha: float, noise_variance: float) -> Normal:
    std = np.full(len(X), np.sqrt(noise_variance))
    return Normal(s.fitted(X, alpha), std, np.zeros(len(X)))


def _bayesian(s: Spectrum, X: FloatArray, alpha: float, noise_variance: float) -> Normal:
    leverage = s.leverage(X, alpha)
    std = np.sqrt(noise_variance) * gaussian.bayes_spread(leverage)
    return Normal(s.fitted(X, alpha), std, np.zeros(len(X)))


def least_squares(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Least squares with the prediction interval of the textbook, Student's.

    A direction that no training row has is passed over, as statsmodels does.
    """
    A, B = (np.column_stack([np.ones(len(rows)), rows]) for rows in (X, new))
    U, h, Vt = np.linalg.svd(A, full_matrices=False)
    kept = h > len(A) * np.finfo(float).eps * h[0]
    z, whitened = U[:, kept].T @ y, B @ (Vt[kept].T / h[kept])
    free = len(A) - int(kept.sum())
    noise = float(np.sum((y - U[:, kept] @ z) ** 2)) / free
    spread = np.sqrt(noise * (1 + np.vecdot(whitened, whitened)))
    mean = whitened @ z
    reach = student.ppf((1 + COVERAGE) / 2, free) * spread
    ends = np.column_stack([mean - reach, mean + reach])
    return Told(mean, ends, lambda truth: student.logpdf(truth, free, mean, spread))


def bayesian_ridge(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """BayesianRidge of scikit-learn, its prior and noise by the evidence."""
    return _normal(BayesianRidge(), X, y, new)


def gaussian_process(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """GaussianProcessRegressor of scikit-learn: an rbf, its size, width and noise by evidence."""
    kernel = ConstantKernel() * RBF(np.sqrt(X.shape[1])) + WhiteKernel(0.1)
    return _normal(GaussianProcessRegressor(kernel), X, y, new)


def _normal(model: Any, X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what it has reached is its answer
        mean, std = model.fit(X, y).predict(new, return_std=True)
    return Told.of(Normal(mean, std, np.zeros(len(mean))))
