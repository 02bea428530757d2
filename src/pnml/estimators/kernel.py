"""Kernel ridge regression with a regret for every row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.user_types import ArrayOrFrame, NumberOrLoo
from pnml.errors import InputError
from pnml.estimators.base import RegressorBase
from pnml.estimators.registry import register
from pnml.estimators.validation import (
    check_flag,
    check_number_or_loo,
    check_training_rows,
    is_number,
    refuse_too_little,
)
from pnml.learners.kernel import KernelRidge, solve_kernel
from pnml.learners.kernel_function import KernelFunction, refuse_endless

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel


class KernelPNMLRegressor(RegressorBase):
    """Kernel regressor with a regret that grows away from the training rows.

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
        Coefficient of the rbf, laplacian, poly, sigmoid and chi2 kernels; ``"scale"`` is
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

    learner_: KernelRidge

    def __init__(
        self,
        *,
        kernel: str | Callable[..., float] | Kernel = "rbf",
        alpha: NumberOrLoo = "loo",
        fit_intercept: bool = True,
        noise_variance: NumberOrLoo = "loo",
        gamma: float | Literal["scale"] = "scale",
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

    def fit(self, X: ArrayOrFrame, y: ArrayOrFrame) -> Self:
        """Learn from rows X (n, n_features) and targets y (n,)."""
        alpha = check_number_or_loo("alpha", self.alpha, positive=True)
        noise = check_number_or_loo("noise_variance", self.noise_variance, positive=True)
        intercept = check_flag("fit_intercept", self.fit_intercept)
        self._check_kernel()
        X, y = check_training_rows(self, X, y)
        refuse_too_little(y, {"noise_variance": noise, "alpha": alpha})
        X = np.asarray(X, dtype=float)
        kernel = self.kernel_function(self._width(X))
        self.learner_ = solve_kernel(kernel, X, y, alpha, noise, intercept=intercept)
        return self

    @property
    def X_fit_(self) -> FloatArray:
        """The training rows, (n, n_features)."""
        check_is_fitted(self)
        return self.learner_.X

    @property
    def gamma_(self) -> float:
        """The kernel coefficient as a number: `gamma`, or what ``gamma="scale"`` stands for.

        That is ``1 / (n_features * X.var())`` of the training rows X, and 1 if X is constant.
        """
        check_is_fitted(self)
        return self.learner_.kernel.gamma

    @property
    def alpha_(self) -> float:
        """The ridge penalty of the fit: alpha as given, or as leave-one-out selected it."""
        check_is_fitted(self)
        return self.learner_.choice.alpha

    @property
    def noise_variance_(self) -> float:
        """Variance of the noise in the labels: as given, or as leave-one-out estimated it."""
        check_is_fitted(self)
        return self.learner_.choice.noise_variance

    def kernel_function(self, gamma: float) -> KernelFunction:
        """The kernel of this estimator with a given gamma: called with two sets of rows.

        It returns the kernels between each row of the one and each row of the other.
        """
        return KernelFunction(self.kernel, gamma, self.degree, self.coef0, self.kernel_params)

    def _check_kernel(self) -> None:
        refuse_endless(self.kernel)
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


register(
    "kernel",
    KernelPNMLRegressor,
    task="regression",
    about="smooth, not linear",
    rows=2_000,
    place=5,
)
