"""Trust in the predictions of a regressor that you already have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.distributions.tabulated import Tabulated
from pnml.core.trust import DEFAULT_LEVEL, Thresholds, check_level
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.estimators.cross_fitting import out_of_fold_errors
from pnml.estimators.fit_model import is_kind
from pnml.estimators.score_frame import score_frame
from pnml.estimators.trusted_base import TrustedBase
from pnml.estimators.validation import as_targets, check_weights, refuse_extreme
from pnml.estimators.wrapped import check_table
from pnml.learners.cross_fitted import CrossFitted, value_log_losses
from pnml.learners.expected_error import ExpectedError
from pnml.learners.trusted_model import ReadRows, TrustedModel
from pnml.learners.trusted_values import TrustedValues, expected_errors


class TrustedRegressor(RegressorMixin, TrustedBase):
    """Wrapper of your own regressor that says which of its predictions not to trust.

    The predictions are the model's own. The regret is exact for a class of models around yours.
    For trees: the splits as they are, any values of the fitted leaves, each cut to the cell of its
    training rows, and a linear part, under a ridge penalty. For linear models: any slopes, under
    the model's own ridge penalty. For any other model: all linear functions of the columns and of
    Fourier features of them.

    Parameters
    ----------
    estimator : regressor or Pipeline, optional
        It is cloned and fitted. Tree ensembles of scikit-learn, LightGBM, XGBoost and CatBoost are
        scored by their leaves, linear models by their columns, also as the last step of a
        Pipeline, in a search or in a TransformedTargetRegressor, and any other regressor by Fourier
        features. Columns that its first steps drop have no say in the verdict. Trees that cannot
        read the words of a data frame get codes of them. With ``LinearRegression`` on as many
        columns as rows nothing is trusted, since every row leaves the span of the others; take
        ``Ridge`` there. By default scikit-learn's ``HistGradientBoostingRegressor``.
    prefit : bool, default=False
        Whether `estimator` is fitted already and is to be used as it is, as one in a
        ``FrozenEstimator`` always is. ``fit`` then wants its
        training rows, and ``calibrate`` other rows before errors and intervals are available.
    cv : int or cross-validation splitter, default=5
        Folds whose left-out errors calibrate ``expected_error`` and intervals. A number means
        that many shuffled folds.
    random_state : int or None, default=None
        Seed of the default estimator and of the folds.

    Attributes
    ----------
    estimator_ : the fitted model
    learner_ : what was learnt from the training rows: leverages, verdicts, expected errors
    reference_ : left-out regrets of the training rows, and how far each is beyond the others
    cross_fitted_ : errors and log-losses of the training rows in folds; None for a prefit model
    explain_names_ : names of the columns of ``explain``
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 3))
    >>> model = TrustedRegressor(random_state=0).fit(X, np.sin(6 * X[:, 0]) + X[:, 1])
    >>> model.trusted([[0.5, 0.5, 0.5], [0.5, 0.5, 8.0]])
    array([ True, False])
    >>> model.explain([[0.5, 0.5, 8.0]]).argmax()
    np.int64(2)
    """

    learner_: TrustedValues

    def fit(
        self,
        X: ArrayOrFrame,
        y: ArrayOrFrame,
        sample_weight: ArrayOrFrame | None = None,
        groups: ArrayOrFrame | None = None,
        **params: Any,
    ) -> Self:
        """Fit the model, clones of it on folds for the expected errors, and the leverage of rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Any input that the model takes; for a prefit model, the rows that it was trained on.
            Whether they are those cannot be known.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            How many copies of each row to count, where the model can count them. Where a training
            row is left out, it is one copy of it; of a weight below 1, all of it.
        groups : array-like of shape (n,), optional
            Passed to the splitter `cv`.
        **params : other parameters of the model's ``fit``
        """
        X = self._check_arguments(X)
        if is_kind("classifier", self.estimator):
            raise InputError(
                f"estimator is a classifier ({type(self.estimator).__name__}); pass a regressor, "
                "or use TrustedClassifier."
            )
        y = as_targets(self, y)
        refuse_extreme("y", y)
        fit_params = self._params(X, y, sample_weight, groups, params)
        kind = HistGradientBoostingRegressor
        model, base = self._fit_inside(kind, X, y, y[:, None], fit_params)
        _refuse_several(self.estimator_, X)
        self.learner_ = TrustedValues(base, None)
        if self._refits:
            left_out = out_of_fold_errors(model, X, y, fit_params, self.cv, self.random_state)
            used = slice(None) if fit_params.weights is None else fit_params.weights > 0
            self.learner_ = _with_errors(base, fit_params.counted(X), y[used], left_out[used])
        return self

    def calibrate(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Calibrate ``expected_error`` and intervals with rows that the model was not fitted to.

        For prefit models, which cannot be fitted again to folds; for others these rows replace
        what the folds gave.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Ordinary rows that the model was not trained on, some fifty at least.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        """
        check_is_fitted(self)
        check_table(self, X, reset=False)
        y = as_targets(self, y)
        weights = check_weights(sample_weight, y)
        counts = np.ones(len(y)) if weights is None else weights
        base = self.learner_.base
        leverages = base.each(X, base.leverage)
        if len(leverages) != len(y):
            raise InputError(
                f"X has {len(leverages)} rows but y has {len(y)} values; pass exactly one target "
                "per row."
            )
        errors = np.abs(y - np.asarray(self.predict(X), dtype=float).ravel())
        known, _ = expected_errors(base, X, leverages, errors, counts)
        self.learner_ = replace(self.learner_, errors=known)
        return self

    @overload
    def predict(self, X: ArrayOrFrame, return_std: Literal[False] = False) -> FloatArray: ...
    @overload
    def predict(
        self, X: ArrayOrFrame, return_std: Literal[True]
    ) -> tuple[FloatArray, FloatArray]: ...
    def predict(
        self, X: ArrayOrFrame, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Prediction of each row, (n,), as the wrapped model makes it.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
        return_std : bool
            Return a pair: the predictions, and the standard deviations of ``predict_dist``, as
            scikit-learn's Bayesian models do.
        """
        check_is_fitted(self)
        check_table(self, X, reset=False)
        predicted = self.estimator_.predict(X)
        return (predicted, self.predict_dist(X).std) if return_std else predicted

    def expected_error(self, X: ArrayOrFrame) -> FloatArray:
        """Absolute error (n,) to expect on each row, in units of y.

        Computed from the errors of left-out rows in the same leaves and from the regret, calibrated
        so that its mean over ordinary rows is the mean error of the models of the folds.
        """
        known = self._errors("expected_error")
        errors: FloatArray = self._each(X, lambda rows: self.learner_.expected_error(known, rows))
        return errors

    def predict_dist(self, X: ArrayOrFrame) -> Tabulated:
        """Predictive distribution of the label of each row, around the model's own prediction.

        It has ``mean``, ``std``, ``regret``, ``log_prob(y)``, ``cdf(y)``, ``ppf(q)``,
        ``interval(coverage)`` and ``sample``.
        """
        known = self._errors("predict_dist")
        check_table(self, X, reset=False)
        base = self.learner_.base
        parts = [self.learner_.predictive(known, rows) for rows in base.in_parts(X)]
        return Tabulated(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.scale for part in parts]),
            np.concatenate([part.regret for part in parts]),
            known.scores,
        )

    def predict_interval(self, X: ArrayOrFrame, coverage: float = 0.9) -> FloatArray:
        """Lower and upper end (n, 2) of an interval for each label, wider for larger errors.

        Calibrated on out-of-fold errors: about a share `coverage` of ordinary rows falls inside.
        It is no guarantee for a finite number of rows, nor for shifted rows.
        """
        return self.predict_dist(X).interval(coverage)

    def score_frame(
        self, X: ArrayOrFrame, *, coverage: float = 0.9, level: float = DEFAULT_LEVEL
    ) -> Any:
        """All answers as one data frame, of polars where X is, else of pandas.

        Columns: prediction, lower, upper, expected_error, regret, trusted, because. A prefit model
        that is not calibrated leaves out lower, upper and expected_error.
        """
        limits = self.reference_.thresholds(check_level(level))
        check_table(self, X, reset=False)
        parts = [self._scored(rows, coverage, limits) for rows in self.learner_.base.in_parts(X)]
        return score_frame(
            X, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        )

    def _scored(self, rows: ReadRows, coverage: float, limits: Thresholds) -> dict[str, Any]:
        errors = self.learner_.errors
        evidence = self.learner_.evidence(rows)
        scored: dict[str, Any] = {}
        if errors is None:
            scored["prediction"] = np.asarray(self.estimator_.predict(rows.X)).ravel()
        else:
            dist = self.learner_.predictive(errors, rows)
            ends = dist.interval(coverage)
            scored["prediction"] = dist.mean
            scored |= {"lower": ends[:, 0], "upper": ends[:, 1], "expected_error": dist.scale}
        because = np.array(self._because(rows), dtype=object)
        return scored | {
            "regret": evidence.regret,
            "trusted": limits.trusts(*evidence),
            "because": because,
        }

    def _errors(self, name: str) -> ExpectedError:
        check_is_fitted(self)
        if self.learner_.errors is None:
            raise InputError(
                f"{name} needs errors on rows that the model was not trained on, which a prefit "
                "model does not give; pass such rows to calibrate(X, y), or prefit=False with a "
                "model that can be cloned."
            )
        return self.learner_.errors


def _with_errors(
    base: TrustedModel, X: ArrayOrFrame, y: FloatArray, left_out: FloatArray
) -> TrustedValues:
    """The model with the errors on its own training rows, each left out with its fold."""
    weights = base.weights
    errors, expected = expected_errors(base, X, base.leverages, left_out, weights)
    spread = float(np.sqrt(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)))
    losses = value_log_losses(left_out, expected, spread, weights)
    return TrustedValues(base, errors, CrossFitted(left_out, losses, weights))


def _refuse_several(model: BaseEstimator, X: ArrayOrFrame) -> None:
    """Raise where a fitted model predicts more than one number for a row."""
    predicted = np.asarray(model.predict(_safe_indexing(X, slice(0, 2))))
    if predicted.size != len(predicted):
        raise InputError(
            f"The {type(model).__name__} predicts {predicted.shape[1]} numbers for each row, but "
            "TrustedRegressor judges one; pass a model of one target."
        )
