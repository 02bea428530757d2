"""Least squares over all models, each weighted by how lucky its norm would be."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np

from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram, sample_rows
from pnml.core.user_types import ArrayOrFrame, NumberOrLoo
from pnml.errors import InputError
from pnml.estimators.available import available_if
from pnml.estimators.registry import register
from pnml.estimators.regressor import StreamingRegressor
from pnml.estimators.validation import check_training_rows, refuse_too_little
from pnml.learners.lasso import solve_lasso
from pnml.learners.least_squares import LUCKY


def _streams(estimator: LpNMLRegressor) -> bool:
    if estimator.penalty == "l1":
        raise AttributeError(
            'Rows cannot come part by part with penalty="l1", whose path needs all at once; '
            'call fit, or use penalty="l2".'
        )
    return True


class LpNMLRegressor(StreamingRegressor):
    """Linear regressor by luckiness pNML: prefers small slopes, suits many features per row.

    Parameters
    ----------
    penalty : "l2" or "l1", default="l2"
        The luckiness of a model with slopes θ: ``exp(−alpha ‖θ‖₂² / 2σ²)`` or
        ``exp(−alpha ‖θ‖₁ / σ²)``. The fit at its centre is ridge regression or the lasso, whose
        ``alpha`` is that of scikit-learn's ``Ridge``, and n times that of its ``Lasso``.
    alpha : float or "loo", default="loo"
        The weight of the norm. ``"loo"`` takes the one with the smallest pooled leave-one-out
        log-loss; where there are no more rows than features, the largest within one standard
        error of it. With ``"l1"`` at most 200 rows are left out, drawn evenly.
    fit_intercept : bool, default=True
        Fit an intercept, to which the norm does not apply.
    noise_variance : float or "loo", default="loo"
        As in PNMLRegressor.

    Attributes
    ----------
    coef_, intercept_ : slopes (n_features,) and intercept of the ridge or lasso fit
    alpha_, noise_variance_ : the weight of the norm and the noise, as given or by leave-one-out
    loo_ : leave-one-out residuals, sds, regrets, log-losses, and the path where alpha="loo"

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 30))
    >>> model = LpNMLRegressor().fit(X, X[:, 0] + 0.1 * rng.normal(size=20))
    >>> model.predict_interval(X[:2]).shape
    (2, 2)
    >>> bool(model.regret(10 * X[:1])[0] > model.regret(X[:1])[0])
    True
    """

    _method = LUCKY

    def __init__(
        self,
        *,
        penalty: Literal["l2", "l1"] = "l2",
        alpha: NumberOrLoo = "loo",
        fit_intercept: bool = True,
        noise_variance: NumberOrLoo = "loo",
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.noise_variance = noise_variance

    def fit(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Fit to rows in memory, more accurately than by parts.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,) or, with ``penalty="l2"``, (n, n_targets)
            Several targets as in PNMLRegressor.
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count; with ``penalty="l2"`` only.
        """
        self._check_penalty()
        if self.penalty == "l2":
            return self._fit_rows(X, y, sample_weight)
        if sample_weight is not None:
            raise InputError(
                'sample_weight was passed, but penalty="l1" counts every row once; '
                'repeat rows instead, or use penalty="l2".'
            )
        alpha, noise, intercept = self._asked = self._settings()
        X, y = check_training_rows(self, X, y)
        refuse_too_little(y, {"noise_variance": noise, "alpha": alpha})
        self._statistic = Factor.of(X, y)
        self._sample = sample_rows(X, y[:, None], np.ones(len(X)))
        self._learner = solve_lasso(self._statistic, X, y, alpha, noise, intercept=intercept)
        return self

    @available_if(_streams)
    def partial_fit(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Learn from more rows; only sums over them and a sample of them are kept.

        With ``penalty="l2"`` only: the lasso's path needs all rows at once.
        """
        self._check_penalty()
        return self._add_rows(X, y, sample_weight)

    @available_if(_streams)
    def forget(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Unlearn rows, exactly as they were learnt; with ``penalty="l2"`` only.

        The model is then that of the other rows, up to round-off; see `PNMLRegressor.forget`.
        """
        self._check_penalty()
        return self._forget_rows(X, y, sample_weight)

    @available_if(_streams)
    def fit_gram(self, gram: Gram) -> Self:
        """Fit from a `Gram`, the sums over training rows; with ``penalty="l2"`` only.

        Parameters
        ----------
        gram : pnml.core.statistic.gram.Gram
        """
        self._check_penalty()
        return super().fit_gram(gram)

    def _check_penalty(self) -> None:
        if self.penalty not in ("l2", "l1"):
            raise InputError(
                f"penalty is {self.penalty!r}, which is not known here; "
                'pass penalty="l2" or penalty="l1".'
            )


register(
    "lpnml",
    LpNMLRegressor,
    task="regression",
    about="luckiness, small slopes",
    streams=True,
    weighs=True,
    place=1,
)
register(
    "lpnml-l1",
    lambda: LpNMLRegressor(penalty="l1"),
    task="regression",
    about="luckiness, few slopes",
    rows=2_000,
    place=3,
)
