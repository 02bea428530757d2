"""Least squares with a regret for every row: rows in memory by SVD, streams by a Gram."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Self, cast

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.later import Later
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.forgetting import without
from pnml.core.statistic.gram import Gram, sample_rows
from pnml.core.statistic.row_sample import RowSample
from pnml.core.user_types import ArrayOrFrame, NumberOrLoo
from pnml.errors import InputError
from pnml.estimators.base import RegressorBase
from pnml.estimators.registry import register
from pnml.estimators.validation import (
    check_flag,
    check_number_or_loo,
    check_training_rows,
    check_weights,
    refuse_too_little,
    refuse_unspread,
)
from pnml.learners.lasso import Lasso
from pnml.learners.least_squares import ORDINARY, LeastSquares, Method, Rows, solve
from pnml.learners.many_targets import ManyTargets, solve_many
from pnml.runtime.one_at_a_time import one_at_a_time

_MOST_KEPT = 2**22  # numbers of rows that are kept until their first use, as in a RowSample


class StreamingRegressor(RegressorBase):
    """Base of linear regressors that learn from rows at once, part by part, or from a Gram."""

    _method: ClassVar[Method]
    alpha: NumberOrLoo
    fit_intercept: bool
    noise_variance: NumberOrLoo
    _learner: LeastSquares | Lasso | ManyTargets | None  # None: solved on next use
    _sample: RowSample | Later[RowSample]

    def _settings(self) -> tuple[float | None, float | None, bool]:
        """Penalty and noise, None where they are to be chosen; whether there is an intercept."""
        alpha = check_number_or_loo("alpha", self.alpha, positive=False)
        noise = check_number_or_loo("noise_variance", self.noise_variance, positive=True)
        return alpha, noise, check_flag("fit_intercept", self.fit_intercept)

    @one_at_a_time
    def _fit_rows(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None
    ) -> Self:
        self._asked = self._settings()
        X, y = check_training_rows(self, X, y, several=True)
        return self._fit_checked(X, y, check_weights(sample_weight, X))

    def _fit_checked(
        self, X: FloatArray, y: FloatArray, weights: FloatArray | None, *, later: bool = False
    ) -> Self:
        """Learn from valid rows; `later` puts off what only verdicts and more rows need."""
        alpha, noise, intercept = self._asked
        for target in y.T if y.ndim == 2 else [y]:
            refuse_too_little(target, {"noise_variance": noise, "alpha": alpha}, weights)
        self._statistic: Factor | Gram = Factor.of(X, y, weights)
        if y.ndim == 2:
            self.__dict__.pop("_sample", None)  # of an earlier fit
            counts = np.ones(len(X)) if weights is None else weights
            self._learner = solve_many(
                self._statistic, X, y, counts, self._method, alpha, noise, intercept=intercept
            )
            return self
        rows = Rows(X, y, np.ones(len(X)) if weights is None else weights)
        used = slice(None) if weights is None else weights > 0
        sample = Later(partial(sample_rows, X[used], y[used, None], rows.weights[used]))
        self._sample = sample if later else sample.value
        self._learner = solve(
            self._statistic, rows, self._method, alpha, noise, intercept=intercept, later=later
        )
        return self

    @one_at_a_time
    def _add_rows(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None
    ) -> Self:
        self._asked = self._settings()
        first = not hasattr(self, "_statistic")
        X, y = check_training_rows(self, X, y, reset=first)
        weights = check_weights(sample_weight, X)
        seen = Gram.empty(X.shape[1], 1) if first else self._counted()
        self._statistic = seen.plus_rows(X, y, weights)
        self._learner = None
        return self

    def _counted(self) -> Gram:
        """The Gram of all rows learnt so far."""
        statistic = self._statistic
        if isinstance(self._learner, ManyTargets):
            raise InputError(
                f"The model was fitted to {len(self._learner.targets)} targets, but rows come or "
                "go part by part with one target only; fit all rows at once, or a model per target."
            )
        if isinstance(statistic, Gram):
            return statistic
        sample = self._sample
        return statistic.gram(sample.value if isinstance(sample, Later) else sample)

    @one_at_a_time
    def _forget_rows(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None
    ) -> Self:
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
        self._learner = None
        return self

    @one_at_a_time
    def fit_gram(self, gram: Gram) -> Self:
        """Fit from a `Gram`: the sums over training rows in place of the rows, with one target.

        Parameters
        ----------
        gram : pnml.core.statistic.gram.Gram
            Its sample of rows is used where single rows are needed, as after `partial_fit`.
        """
        self._asked = self._settings()
        if gram.xy.shape[1] != 1:
            raise InputError(
                f"The Gram has {gram.xy.shape[1]} targets, but a regressor learns one; "
                "build it with one column of targets."
            )
        self.n_features_in_ = len(gram.x_mean)
        self._statistic = gram
        self._learner = None
        return self

    @property
    def learner_(self) -> LeastSquares | Lasso | ManyTargets:  # type: ignore[override]
        """The fitted value that answers for rows; after ``partial_fit`` computed on first use."""
        learner: LeastSquares | Lasso | ManyTargets | None = getattr(self, "_learner", None)
        if learner is None:
            check_is_fitted(self)
            learner = self._solved()
        return learner

    @one_at_a_time
    def _solved(self) -> LeastSquares | Lasso | ManyTargets:
        """The learner of all rows so far; a lock makes rows that come meanwhile wait."""
        if self._learner is None:
            self._learner = self._solved_stream()
        return self._learner

    def _solved_stream(self) -> LeastSquares:
        gram = cast(Gram, self._statistic)  # rows in memory are solved as they come
        alpha, noise, intercept = self._asked
        mean = float(gram.y_mean[0])
        constant = bool(gram.yy[0, 0] <= 1e-24 * gram.weight * mean * mean)
        refuse_unspread(gram.rows, constant, mean, {"noise_variance": noise, "alpha": alpha})
        sample = Rows.of_sample(gram)
        return solve(gram, sample, self._method, alpha, noise, intercept=intercept)

    @property
    def spectrum_(self) -> Spectrum:
        """Singular value decomposition of the training rows: directions and scales."""
        return self.learner_.spectrum

    @property
    def alpha_(self) -> float:
        """The ridge penalty of the fit: alpha as given, or as leave-one-out selected it."""
        learner = self.learner_
        return (learner.first if isinstance(learner, ManyTargets) else learner).choice.alpha

    @property
    def noise_variance_(self) -> float | FloatArray:
        """Variance of the noise, as given or by leave-one-out; (n_targets,) for several targets."""
        learner = self.learner_
        if isinstance(learner, ManyTargets):
            return learner.noise_variances
        return learner.choice.noise_variance

    @property
    def coef_(self) -> FloatArray:
        """Slopes of the fit: (n_features,), or (n_targets, n_features) for several targets."""
        return self.learner_.slopes

    @property
    def intercept_(self) -> float | FloatArray:
        """The intercept, the prediction for a row of zeros; (n_targets,) for several targets."""
        spectrum = self.spectrum_
        if isinstance(self.learner_, ManyTargets):
            at_origin: FloatArray = spectrum.y_mean - self.coef_ @ spectrum.center
            return at_origin
        return float(spectrum.y_mean[0] - spectrum.center @ self.coef_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = getattr(self, "penalty", "l2") == "l2"  # not the lasso
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_statistic")


class PNMLRegressor(StreamingRegressor):
    """Least-squares regressor with a regret for each row: how far hindsight could beat it.

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
    alpha_, noise_variance_ : the penalty and the noise, as given or by leave-one-out
    loo_ : leave-one-out residuals, sds, regrets, log-losses, and the path where alpha="loo"
    spectrum_ : singular value decomposition of the training rows
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
        self,
        *,
        alpha: NumberOrLoo = 0.0,
        fit_intercept: bool = True,
        noise_variance: NumberOrLoo = "loo",
    ) -> None:
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
        y : array-like of shape (n,) or (n, n_targets)
            With several targets ``predict`` is (n, n_targets) and ``predict_interval``
            (n, n_targets, 2); one penalty serves all, each has its noise, and ``regret`` (n,) is
            in nats per target. Eq. (R5).
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count. Leave-one-out leaves one copy out.
        """
        return self._fit_rows(X, y, sample_weight)

    @one_at_a_time
    def _fit_own_rows(self, X: FloatArray, y: FloatArray) -> Self:
        """Learn from valid rows that nobody else holds, so that they may be kept for later."""
        self._asked = self._settings()
        self.n_features_in_ = X.shape[1]
        return self._fit_checked(X, y, None, later=X.size <= _MOST_KEPT)

    def partial_fit(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Learn from more rows; only sums over them and a sample of them are kept."""
        return self._add_rows(X, y, sample_weight)

    def forget(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Unlearn rows: the model is then that of the other rows, up to round-off.

        The round-off of removed rows is tracked. If it is large beside the remaining rows, the call
        raises and changes nothing, or the next answer comes with a `ConditionWarning`.

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


register(
    "pnml",
    lambda: PNMLRegressor(alpha="loo"),
    task="regression",
    about="ridge regression",
    streams=True,
    weighs=True,
    place=0,
)
register(
    "ols",
    PNMLRegressor,
    task="regression",
    about="least squares, no penalty",
    streams=True,
    weighs=True,
    place=2,
)
