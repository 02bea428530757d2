"""Least-squares estimators: rows in memory by SVD, streams by a Gram, one face for both."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Predictive
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.forgetting import without
from pnml.core.statistic.gram import Gram, sample_rows
from pnml.errors import InputError
from pnml.estimators.base import RegretRegressorMixin
from pnml.estimators.lasso import LassoSolution
from pnml.estimators.least_squares import Method, Rows, Solution, solve
from pnml.estimators.validation import (
    check_flag,
    check_number_or_loo,
    check_training_rows,
    check_weights,
    like_input,
    refuse_too_little,
    refuse_unspread,
)


class LeastSquaresMixin(RegretRegressorMixin):
    """What estimators of one penalty, one noise and one spectrum share."""

    _method: ClassVar[Method]
    alpha: Any
    fit_intercept: bool
    noise_variance: Any
    _solution: Solution | LassoSolution | None

    def _settings(self) -> tuple[float | None, float | None, bool]:
        """Penalty and noise, None where they are to be chosen; whether there is an intercept."""
        alpha = check_number_or_loo("alpha", self.alpha, positive=False)
        noise = check_number_or_loo("noise_variance", self.noise_variance, positive=True)
        return alpha, noise, check_flag("fit_intercept", self.fit_intercept)

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> Self:
        alpha, noise, intercept = self._asked = self._settings()
        X, y = check_training_rows(self, X, y)
        weights = check_weights(sample_weight, X)
        refuse_too_little(y, {"noise_variance": noise, "alpha": alpha}, weights)
        self._statistic: Factor | Gram = Factor.of(X, y, weights)
        rows = Rows(X, y, np.ones(len(X)) if weights is None else weights)
        used = rows.weights > 0
        self._sample = sample_rows(X[used], y[used, None], rows.weights[used])
        self._solution = solve(
            self._statistic, rows, self._method, alpha, noise, intercept=intercept
        )
        return self

    def _add_rows(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._asked = self._settings()
        first = not hasattr(self, "_statistic")
        X, y = check_training_rows(self, X, y, reset=first)
        weights = check_weights(sample_weight, X)
        seen = Gram.empty(X.shape[1], 1) if first else self._counted()
        self._statistic = seen.plus_rows(X, y, weights)
        self._solution = None  # found again when next asked for
        return self

    def _counted(self) -> Gram:
        """What is known of the rows as moments and a sample, however they were learnt."""
        held = self._statistic
        return held.gram(self._sample) if isinstance(held, Factor) else held

    def _forget_rows(self, X: Any, y: Any, sample_weight: Any) -> Self:
        check_is_fitted(self)
        X, y = check_training_rows(self, X, y, reset=False)
        weights = check_weights(sample_weight, X)
        held = self._counted()
        rest = without(held, Gram.of(X, y, weights, keep=len(X)))
        if not rest.rows:
            raise InputError(
                f"All {held.rows} rows would be forgotten, and a model of none says nothing; "
                "make a new estimator instead."
            )
        self._asked = self._settings()
        self._statistic = rest
        self._solution = None
        return self

    def fit_gram(self, gram: Gram) -> Self:
        """Learn from rows that a `Gram` with one target has counted, wherever they were read.

        Parameters
        ----------
        gram : pnml.core.statistic.gram.Gram
            Its sample of rows stands for them where single rows are asked for, as after
            `partial_fit`.
        """
        self._asked = self._settings()
        if gram.xy.shape[1] != 1:
            raise InputError(
                f"The Gram has {gram.xy.shape[1]} targets, but a regressor learns one; "
                "build it with one column of targets."
            )
        self.n_features_in_ = len(gram.x_mean)
        self._statistic = gram
        self._solution = None
        return self

    def _solved(self) -> Solution | LassoSolution:
        check_is_fitted(self)
        if self._solution is None:
            gram = cast(Gram, self._statistic)  # rows in memory are solved as they come
            alpha, noise, intercept = self._asked
            mean = float(gram.y_mean[0])
            constant = bool(gram.yy[0, 0] <= 1e-24 * gram.weight * mean**2)
            wanted = {"noise_variance": noise, "alpha": alpha}
            refuse_unspread(gram.rows, constant, mean, wanted)
            self._solution = solve(
                gram, Rows.of_sample(gram), self._method, alpha, noise, intercept=intercept
            )
        return self._solution

    @property
    def spectrum_(self) -> Spectrum:
        """Singular directions of the training rows."""
        return self._solved().spectrum

    @property
    def alpha_(self) -> float:
        """The penalty in use."""
        return self._solved().choice.alpha

    @property
    def noise_variance_(self) -> float:
        """The noise variance in use."""
        return self._solved().choice.noise_variance

    @property
    def coef_(self) -> FloatArray:
        """Slopes of the fit, (n_features,)."""
        return self._solved().slopes

    @property
    def intercept_(self) -> float:
        """Prediction of the fit at the origin."""
        spectrum = self.spectrum_
        return float(spectrum.y_mean[0] - spectrum.center @ self.coef_)

    def _leave_one_out(self) -> LeaveOneOut:
        return self._solved().choice.loo

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_statistic")

    def explain(self, X: Any) -> Any:
        """Share of each feature in the leverage of each row: (n, n_features), ≥ 0.

        The rows sum to the leverage ``K − 1`` less the intercept's ``1/n``; for ordinary and ridge
        pNML ``K = exp(regret)``. Where the regret is infinite, the features that carry the row
        outside the training span are infinite.
        """
        X = self._checked(X)
        return like_input(self._looked_at(X, self._solved().explain), X)

    def _distribution(self, X: FloatArray) -> Predictive:
        return self._solved().predictive(X)

    def _regret(self, X: FloatArray) -> FloatArray:
        return self._solved().regret(X)
