"""The regret as the difficulty of a row, for other conformal libraries."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.user_types import ArrayOrFrame, EstimatorLike
from pnml.errors import InputError
from pnml.estimators.regressor import PNMLRegressor


class RegretDifficulty(BaseEstimator):
    """Difficulty of each row for MAPIE and crepes: exp(regret / 2), large where rows are rare.

    crepes takes it as ``de``, MAPIE as the ``residual_estimator`` of a ``ResidualNormalisedScore``
    with ``prefit=True``. The model whose residuals are scaled may be any other.

    Parameters
    ----------
    estimator : a regressor of this library, default=PNMLRegressor()
        One that is already fitted goes in a ``sklearn.frozen.FrozenEstimator``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> easy, hard = (
    ...     RegretDifficulty()
    ...     .fit(X, X[:, 0] + rng.normal(size=50))
    ...     .apply([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
    ... )
    >>> bool(1 <= easy < hard)
    True
    """

    def __init__(self, estimator: EstimatorLike | None = None) -> None:
        self.estimator = estimator

    def fit(self, X: ArrayOrFrame, y: ArrayOrFrame) -> Self:
        """Fit the regressor to rows X (n, n_features) and targets y (n,); calibrate on others."""
        estimator = PNMLRegressor() if self.estimator is None else clone(self.estimator)
        if not hasattr(estimator, "regret"):
            raise InputError(
                f"estimator is a {type(estimator).__name__}, which has no regret to tell hard "
                "rows by; pass one of pnml's regressors, for instance PNMLRegressor()."
            )
        self.estimator_ = estimator.fit(X, y)
        self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def apply(self, X: ArrayOrFrame) -> FloatArray:
        """Difficulty (n,) of the rows, exp(regret / 2), ≥ 1; infinite where the regret is."""
        check_is_fitted(self)
        return np.exp(self.estimator_.regret(X) / 2)

    def predict(self, X: ArrayOrFrame) -> FloatArray:
        """Difficulty (n,) of rows, as `apply`; MAPIE calls it by this name."""
        return self.apply(X)
