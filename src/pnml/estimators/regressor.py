"""Ordinary and ridge least squares with a regret for every row."""

from __future__ import annotations

from typing import Any, Self, cast

from sklearn.base import BaseEstimator

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.estimators.least_squares import ORDINARY, Solution
from pnml.estimators.streaming import LeastSquaresMixin


class PNMLRegressor(LeastSquaresMixin, BaseEstimator):
    """Least squares that says, row by row, how far hindsight could beat it.

    Parameters
    ----------
    alpha : float or "loo", default=0.0
        Ridge penalty on the slopes, in the units of scikit-learn's ``Ridge``. ``"loo"`` takes the
        penalty with the smallest pooled leave-one-out log-loss; where there are no more rows than
        features, the largest penalty within one standard error of it.
    fit_intercept : bool, default=True
        Fit an intercept, which is never penalised.
    noise_variance : float or "loo", default="loo"
        Variance of the noise. ``"loo"`` minimises the pooled leave-one-out log-loss, and is at
        least a millionth of the variance of y.

    Attributes
    ----------
    coef_, intercept_ : slopes (n_features,) and intercept
    alpha_, noise_variance_ : the penalty and the noise in use
    loo_ : leave-one-out residuals, sds, regrets, log-losses, and the path where alpha="loo"
    spectrum_ : the geometry of the training rows
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> model = PNMLRegressor(fit_intercept=False).fit(
    ...     [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [0.0, 1.0, 2.5]
    ... )
    >>> model.regret([[1.0, 1.0], [9.0, 1.0]]).round(2)
    array([0.29, 3.51])
    >>> model.trusted([[1.0, 1.0], [9.0, 1.0]])
    array([ True, False])
    """

    _method = ORDINARY

    def __init__(
        self, *, alpha: Any = 0.0, fit_intercept: bool = True, noise_variance: Any = "loo"
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.noise_variance = noise_variance

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows in memory, to full accuracy.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count. Leave-one-out leaves one copy out.
        """
        return self._fit_rows(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows; only their moments and a sample of them are kept."""
        return self._add_rows(X, y, sample_weight)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows: the model is then that of the other rows, up to round-off.

        Round-off that the rows leave behind is kept count of. Where it comes near what is left,
        rows are refused and nothing changes, or the next answer comes with a `ConditionWarning`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            All of them exactly as they were learnt.

        Examples
        --------
        >>> model = PNMLRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.5, 9.0])
        >>> float(model.forget([[3.0]], [9.0]).coef_[0].round(9))
        1.25
        """
        return self._forget_rows(X, y, sample_weight)

    def _regret(self, X: FloatArray) -> FloatArray:
        solution = cast(Solution, self._solved())
        regret: FloatArray = gaussian.regret(solution.geometry.leverage(X, solution.choice.alpha))
        return regret

    def _mean(self, X: FloatArray) -> FloatArray:
        return self.spectrum_.fitted(X, self.alpha_)
