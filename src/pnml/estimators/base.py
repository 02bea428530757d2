"""What every estimator here can tell about a row, once it can tell its distribution."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Predictive
from pnml.core.leave_one_out import LeaveOneOut
from pnml.errors import InputError
from pnml.estimators.validation import (
    check_rows,
    is_number,
    like_input,
    refuse_extreme,
    refuse_nonfinite,
)


class TrustMixin:
    """Trust in a row from its regret and those of the training rows."""

    @abstractmethod
    def _judged(self, X: Any, level: float) -> FloatArray:
        """Regret of rows as they were passed; infinite where a row must not be trusted."""

    @abstractmethod
    def _leave_one_out(self) -> Any:
        """What leaving training rows out has shown; it has a ``threshold(level)``."""

    def trusted(self, X: Any, level: float = 0.99) -> Any:
        """Whether each row's regret is as small as those of training rows.

        A row is trusted if its regret does not pass the `level` quantile of the leave-one-out
        regrets of the training rows; of a classifier's rows, the leverage must pass no such
        quantile either. Rows outside everything else in training, which have an infinite regret
        or leverage, do not count there and are never trusted.
        """
        if not is_number(level) or not 0 < level <= 1:
            raise InputError(
                f"level is {level!r}, but it is a quantile of the training regrets; "
                "pass a number above 0 and at most 1, for instance level=0.99."
            )
        regret = self._judged(X, level)
        return np.isfinite(regret) & (regret <= self._leave_one_out().threshold(level))


class RegretRegressorMixin(TrustMixin, RegressorMixin):
    """Prediction, interval, regret and trust from one predictive distribution."""

    @abstractmethod
    def _distribution(self, X: FloatArray) -> Predictive:
        """Distribution of the labels of validated rows."""

    @abstractmethod
    def _leave_one_out(self) -> LeaveOneOut:
        """What leaving training rows out has shown."""

    def _mean(self, X: FloatArray) -> FloatArray:
        return self._distribution(X).mean

    def _regret(self, X: FloatArray) -> FloatArray:
        return self._distribution(X).regret

    def predict_dist(self, X: Any) -> Any:
        """Distribution of the label of each row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        A frozen value with ``mean``, ``std``, ``mode``, ``regret``, ``log_prob(y)``, ``cdf(y)``,
        ``ppf(q)``, ``interval(coverage)`` and ``sample(n_samples, random_state)``, in float64.
        """
        return self._looked_at(self._checked(X), self._distribution)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predicted label of each row: the mean of its distribution.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        return_std : bool
            Also return the standard deviation of each label, as scikit-learn's Bayesian models do.
        """
        X = self._checked(X)
        if return_std:
            dist = self._looked_at(X, self._distribution)
            return like_input(dist.mean, X), like_input(dist.std, X)
        return like_input(self._looked_at(X, self._mean), X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Central interval (n, 2) that holds each label with probability `coverage`."""
        X = self._checked(X)
        return like_input(self._looked_at(X, self._distribution).interval(coverage), X)

    def regret(self, X: Any) -> Any:
        """Regret of each row in nats: how far hindsight could have beaten us there. ≥ 0.

        Infinite where the row goes outside everything seen in training and no penalty holds it.
        """
        X = self._checked(X)
        return like_input(self._looked_at(X, self._regret), X)

    @property
    def loo_(self) -> LeaveOneOut:
        """Leave-one-out residuals, sds, regrets and log-losses of the training rows."""
        check_is_fitted(self)
        return self._leave_one_out()

    def _judged(self, X: Any, level: float) -> FloatArray:
        regret: FloatArray = self._looked_at(self._checked(X), self._regret)
        return regret

    def _hides_nonfinite(self) -> bool:
        """Whether a NaN or inf in a row could fail to reach the result, so that we look first."""
        return False

    def _looked_at(self, X: Any, compute: Callable[[FloatArray], Any]) -> Any:
        """What `compute` makes of rows, if they hold no NaN or inf."""
        with np.errstate(invalid="ignore", over="ignore"):
            result = compute(X)
            refuse_nonfinite(self, X, result if isinstance(result, np.ndarray) else result.mean)
        return result

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        X = check_rows(self, X)
        if self._hides_nonfinite():
            refuse_nonfinite(self, X)
            refuse_extreme("X", X)
        return X
