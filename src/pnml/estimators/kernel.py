"""Kernel ridge regression with a regret for every row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from pnml.core import gaussian
from pnml.core.arrays import EPS, FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.geometry import attribution
from pnml.core.leave_one_out import NOISE_FLOOR, PNML, Folds, LeaveOneOut
from pnml.errors import InputError
from pnml.estimators.base import RegretRegressorMixin
from pnml.estimators.selection import select
from pnml.estimators.validation import (
    check_flag,
    check_number_or_loo,
    check_training_rows,
    is_number,
    like_input,
    refuse_too_little,
)

_BLOCK_NUMBERS = 2**22


class KernelPNMLRegressor(RegretRegressorMixin, BaseEstimator):
    """Least squares on a kernel's features: regret grows away from the training rows.

    Fitting costs O(n³) in the number of rows n, scoring O(n²) a row.

    Parameters
    ----------
    kernel : str, callable or scikit-learn Gaussian-process kernel, default="rbf"
        A name that ``sklearn.metrics.pairwise.pairwise_kernels`` knows, a function of two rows, or
        an object such as ``RBF(2.0) + DotProduct()``, used as it is.
    alpha : float or "loo", default="loo"
        Ridge penalty, above 0. ``"loo"`` as in PNMLRegressor.
    fit_intercept : bool, default=True
        Fit an unpenalised intercept, by centring in the kernel's feature space.
    noise_variance : float or "loo", default="loo"
        As in PNMLRegressor.
    gamma : "scale" or float, default="scale"
        Width of the rbf, laplacian, poly, sigmoid and chi2 kernels; ``"scale"`` is
        ``1 / (n_features * X.var())``.
    degree, coef0 : float
        Further parameters of the poly and sigmoid kernels.
    kernel_params : dict, optional
        Keyword arguments for a callable kernel.

    Examples
    --------
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = KernelPNMLRegressor(gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> near, far = model.regret([[3.0], [30.0]])
    >>> bool(near < far)
    True
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        alpha: Any = "loo",
        fit_intercept: bool = True,
        noise_variance: Any = "loo",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.noise_variance = noise_variance
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows X (n, n_features) and targets y (n,)."""
        alpha = check_number_or_loo("alpha", self.alpha, positive=True)
        noise = check_number_or_loo("noise_variance", self.noise_variance, positive=True)
        check_flag("fit_intercept", self.fit_intercept)
        X, y = check_training_rows(self, X, y)
        refuse_too_little(y, {"noise_variance": noise, "alpha": alpha})
        X = np.asarray(X, dtype=float)
        self._check_kernel()
        self.gamma_ = self._width(X)
        self.X_fit_ = X
        self._center(self._kernel(X, X))
        self._y_mean = float(y.mean()) if self.fit_intercept else 0.0
        self._z = self._U.T @ (y - self._y_mean)
        self._choose(y, alpha, noise)
        return self

    def _center(self, G: FloatArray) -> None:
        """Eigenvectors of the (centred) kernel matrix, and what centres a new row."""
        self._column_means = G.mean(axis=0) if self.fit_intercept else np.zeros(len(G))
        self._grand_mean = float(G.mean()) if self.fit_intercept else 0.0
        G = G - self._column_means - self._column_means[:, None] + self._grand_mean
        h2, U = eigh(G)
        keep = h2 > 10 * len(G) * EPS * max(float(h2[-1]), 0.0)
        self._h2 = h2[keep][::-1].copy()
        self._U = np.ascontiguousarray(U[:, keep][:, ::-1])

    def _choose(self, y: FloatArray, alpha: float | None, noise: float | None) -> None:
        share = 1 / len(y) if self.fit_intercept else 0.0
        rest = y - self._y_mean - self._U @ self._z

        def folds(alphas: FloatArray) -> list[Folds]:
            return [Folds(self._U, self._z, rest, self._h2, alphas, np.ones(len(y)), share)]

        choice = select(
            folds,
            PNML,
            alpha,
            noise,
            h2=self._h2,
            interpolates=True,  # or nearly so: a rich kernel has directions down to round-off
            floor=NOISE_FLOOR * float(np.var(y)),
        )
        self.alpha_, self.noise_variance_ = choice.alpha, choice.noise_variance
        self._loo = choice.loo
        self._intercept_share = share

    def explain(self, X: Any) -> Any:
        """Share of each feature in the leverage of each row: (n, n_features), ≥ 0. Eq. (A5).

        The leverage without the intercept's part is shared in proportion to what the feature adds
        to it, first alone and then beside all others, its absence being its training mean.
        """
        X = self._checked(X)
        leverage = self._leverage(X)
        means = self.X_fit_.mean(axis=0)
        at_mean = self._leverage(means[None])
        drops = np.empty(X.shape)
        for j in range(X.shape[1]):
            without, alone = np.array(X, dtype=float), np.tile(means, (len(X), 1))
            without[:, j], alone[:, j] = means[j], X[:, j]
            gain = leverage - self._leverage(without) + self._leverage(alone) - at_mean
            drops[:, j] = np.maximum(gain, 0.0)
        return like_input(attribution.shares(drops, leverage - self._intercept_share), X)

    def _check_kernel(self) -> None:
        known = sorted(name for name in PAIRWISE_KERNEL_FUNCTIONS)
        if isinstance(self.kernel, str) and self.kernel not in known:
            raise InputError(
                f"kernel is {self.kernel!r}, which is not known here; pass a function, a kernel of "
                f"sklearn.gaussian_process, or one of {', '.join(known)}."
            )

    def _width(self, X: FloatArray) -> float:
        if isinstance(self.gamma, str) and self.gamma == "scale":
            spread = float(X.var())
            return 1 / (X.shape[1] * spread) if spread > 0 else 1.0
        if not is_number(self.gamma) or self.gamma <= 0:
            raise InputError(
                f"gamma is {self.gamma!r}, but it must be a finite number greater than 0 or "
                '"scale"; '
                'pass gamma="scale" to have it follow the spread of X.'
            )
        return float(self.gamma)

    def _kernel(self, A: FloatArray, B: FloatArray) -> FloatArray:
        if isinstance(self.kernel, Kernel):
            values = self.kernel(A, B)
        elif callable(self.kernel):
            values = pairwise_kernels(A, B, metric=self.kernel, **(self.kernel_params or {}))
        else:
            values = pairwise_kernels(
                A,
                B,
                metric=self.kernel,
                filter_params=True,
                gamma=self.gamma_,
                degree=self.degree,
                coef0=self.coef0,
            )
        return np.asarray(values, dtype=float)

    def _prior(self, X: FloatArray) -> FloatArray:
        """k(x, x) of each row."""
        if isinstance(self.kernel, Kernel):
            return np.asarray(self.kernel.diag(X), dtype=float)
        if isinstance(self.kernel, str) and self.kernel in ("rbf", "laplacian"):
            return np.ones(len(X))
        return np.array([self._kernel(row[None], row[None])[0, 0] for row in X])

    def _solve_rows(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and leverage of rows. Eq. (R4)."""
        mean, leverage = np.empty(len(X)), np.empty(len(X))
        step = max(1, _BLOCK_NUMBERS // len(self.X_fit_))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            rows = np.asarray(X[part], dtype=float)
            k = self._kernel(rows, self.X_fit_)
            row_means = k.mean(axis=1) if self.fit_intercept else np.zeros(len(k))
            prior = self._prior(rows) - 2 * row_means + self._grand_mean
            k = k - row_means[:, None] - self._column_means + self._grand_mean
            c = k @ self._U
            mean[part] = self._y_mean + c @ (self._z / (self._h2 + self.alpha_))
            explained = np.sum(c * c / (self._h2 + self.alpha_), axis=1)
            leverage[part] = gaussian.kernel_leverage(prior, explained, self.alpha_)
        return mean, leverage + self._intercept_share

    def _leverage(self, X: FloatArray) -> FloatArray:
        return self._solve_rows(X)[1]

    def _distribution(self, X: FloatArray) -> Normal:
        mean, leverage = self._solve_rows(X)
        std = np.sqrt(self.noise_variance_) * gaussian.spread(leverage)
        return Normal(mean, std, gaussian.regret(leverage))

    def _leave_one_out(self) -> LeaveOneOut:
        return self._loo

    def _hides_nonfinite(self) -> bool:
        return True  # a kernel may map an infinite value to a finite number
