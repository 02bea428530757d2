"""The two bases of estimators: they check rows and pass them to a fitted learner, a value.

An estimator has ``learner_`` once it is fitted (`pnml.learners.protocol`). Do not override
anything here: learners differ in the value only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Predictive
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.core.trust import DEFAULT_LEVEL, Evidence, Reference, check_level
from pnml.core.user_types import ArrayOrFrame, BoolArray, LabelArray
from pnml.estimators.estimator import Estimator
from pnml.estimators.validation import check_rows, check_values
from pnml.estimators.wrapped import check_table
from pnml.learners.finite import like_input, refuse_nonfinite
from pnml.learners.protocol import Classification, Learner, Regression


class RegressorBase(RegressorMixin, Estimator):
    """Base of regressors: prediction, interval, regret, trust and reasons of a learner."""

    learner_: Regression

    def predict_dist(self, X: ArrayOrFrame) -> Predictive:
        """Predictive distribution of the label of each row, one object for all n rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        A frozen value with ``mean``, ``std``, ``mode``, ``regret``, ``log_prob(y)``, ``cdf(y)``,
        ``ppf(q)``, ``interval(coverage)`` and ``sample(n_samples, random_state)``, in float64.
        """
        dist: Predictive = _ask_learner(self, checked_rows(self, X), self.learner_.predictive)
        return dist

    @overload
    def predict(self, X: ArrayOrFrame, return_std: Literal[False] = False) -> FloatArray: ...
    @overload
    def predict(
        self, X: ArrayOrFrame, return_std: Literal[True]
    ) -> tuple[FloatArray, FloatArray]: ...
    def predict(
        self, X: ArrayOrFrame, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predicted label of each row: the mean of its distribution.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        return_std : bool
            Return a pair: the predictions, and the standard deviation of each label, as
            scikit-learn's Bayesian models do.
        """
        X = checked_rows(self, X)
        if return_std:
            dist = _ask_learner(self, X, self.learner_.predictive)
            return like_input(dist.mean, X), like_input(dist.std, X)
        return like_input(_ask_learner(self, X, self.learner_.mean), X)

    def predict_interval(self, X: ArrayOrFrame, coverage: float = 0.9) -> FloatArray:
        """Lower and upper end (n, 2) of the interval that holds each label at rate `coverage`.

        As much probability lies below it as above it.
        """
        X = checked_rows(self, X)
        return like_input(_ask_learner(self, X, self.learner_.predictive).interval(coverage), X)

    def regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret (n,) of the rows in nats, ≥ 0: by how much hindsight beats the prediction.

        Hindsight is the model fitted with the row and its true label added. The regret is infinite
        where the row is outside the span of the training rows and there is no penalty.
        """
        X = checked_rows(self, X)
        return like_input(_ask_learner(self, X, self.learner_.regret), X)

    def trusted(self, X: ArrayOrFrame, level: float = DEFAULT_LEVEL) -> BoolArray:
        """Whether each row is trusted, (n,): its regret is as small as those of training rows.

        A row is trusted if its regret is at most the `level` quantile of the finite regrets in
        ``reference_``. Never trusted are rows of infinite regret, rows with a value unseen in
        training, and rows that break a linear relation of the training rows. Eq. (X1).
        """
        return verdicts(self, X, level)

    def explain(self, X: ArrayOrFrame) -> FloatArray:
        """Part of each row's leverage that each feature causes: (n, n_features), ≥ 0.

        The parts of a row sum to its leverage, less ``1/n`` for an intercept with n training
        rows; for ordinary and ridge pNML, kernels and trees the leverage is ``exp(regret) − 1``.
        Where the regret is infinite, the features that carry the row outside the training span
        have an infinite part.
        """
        X = checked_rows(self, X)
        return like_input(_ask_learner(self, X, self.learner_.explain), X)

    @property
    def loo_(self) -> LeaveOneOut:
        """Leave-one-out residuals, standard deviations, regrets and log-losses of training rows."""
        check_is_fitted(self)
        loo: LeaveOneOut = self.learner_.loo
        return loo

    @property
    def reference_(self) -> Reference:
        """Regrets of training rows, each left out, in nats; the yardstick of ``trusted``."""
        check_is_fitted(self)
        return self.learner_.reference


class ClassifierBase(ClassifierMixin, Estimator):
    """Base of classifiers: probabilities, regret, trust and reasons of a learner."""

    learner_: Classification
    classes_: Any  # an attribute of some, a property of others

    def predict(self, X: ArrayOrFrame) -> LabelArray:
        """Most probable class of each row by the pNML probabilities."""
        best = np.argmax(self.predict_log_proba(X), axis=1)
        predicted: LabelArray = self.classes_[best]
        return predicted

    def predict_proba(self, X: ArrayOrFrame) -> FloatArray:
        """The pNML probabilities (n, C) of the C classes, in the order of ``classes_``.

        Always float64: float32 would lose the small probabilities beside one near 1.
        """
        prob: FloatArray = self.predict_dist(X).prob
        return prob

    def predict_log_proba(self, X: ArrayOrFrame) -> FloatArray:
        """Logarithms (n, C) of the pNML probabilities of the C classes; −inf for probability 0."""
        log_prob: FloatArray = self.predict_dist(X).log_prob
        return log_prob

    def predict_dist(self, X: ArrayOrFrame) -> Categorical:
        """Probabilities and regrets of rows in one object, which has them as attributes.

        ``prob`` and ``log_prob`` are (n, C) over the C classes, ``regret`` is (n,) in nats, all in
        float64. If rows cost refits, one call does half the work of two.
        """
        rows = checked_rows(self, X)
        return self.learner_.predictive(rows)

    def regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret (n,) of the rows in nats, ≥ 0: by how much hindsight beats the prediction.

        Hindsight is the model fitted with the row and its true label added. With C classes the
        regret is at most ``log C``, for a row that can be fitted perfectly with any label.
        """
        rows = checked_rows(self, X)
        return self.learner_.regret(rows)

    def relative_regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret (n,) of rows divided by log C: comparable between models with C classes each."""
        return self.regret(X) / float(np.log(len(self.classes_)))

    def trusted(self, X: ArrayOrFrame, level: float = DEFAULT_LEVEL) -> BoolArray:
        """Whether each row is trusted, (n,): its regret and leverage are as in training rows.

        A row is trusted if its regret and its leverage are at most the `level` quantiles of the
        regrets and leverages in ``reference_``, taken over training rows of finite leverage. Never
        trusted are rows of infinite leverage, rows with a value unseen in training, and rows that
        break a linear relation of the training rows.
        """
        return verdicts(self, X, level)

    def explain(self, X: ArrayOrFrame) -> FloatArray:
        """Part of each row's leverage that each feature causes: (n, features), ≥ 0.

        For a Pipeline inside, the features are those that its last step sees.
        """
        rows = checked_rows(self, X)
        return self.learner_.explain(rows)

    @property
    def loo_(self) -> LabelsLeftOut:
        """Leave-one-out leverages, regrets and log-losses of the training rows."""
        check_is_fitted(self)
        loo: LabelsLeftOut = self.learner_.loo
        return loo

    @property
    def reference_(self) -> Reference:
        """Regrets and leverages of left-out training rows, the yardstick of ``trusted``."""
        check_is_fitted(self)
        return self.learner_.reference


def learner_of(estimator: BaseEstimator) -> Learner | None:
    """The ``learner_`` of a fitted estimator, or of the ``estimator_`` inside it, or None.

    A learner is the fitted value that answers for validated rows; models of others have none.
    """
    learner: Learner | None = getattr(estimator, "learner_", None)
    if learner is None and hasattr(estimator, "estimator_"):
        return learner_of(estimator.estimator_)
    return learner


def evidence_of(estimator: BaseEstimator, X: ArrayOrFrame) -> Evidence:
    """What the verdict on rows is made of: regret (n,), and leverage and flags where used.

    `estimator` is a fitted RegressorBase or ClassifierBase.
    """
    X = checked_rows(estimator, X)
    evidence: Evidence = _ask_learner(estimator, X, estimator.learner_.evidence)
    return evidence


def verdicts(estimator: BaseEstimator, X: ArrayOrFrame, level: float) -> BoolArray:
    """Whether each row is trusted, (n,), by a fitted RegressorBase or ClassifierBase.

    `level` is the quantile of the training regrets that is the threshold.
    """
    level = check_level(level)
    evidence = evidence_of(estimator, X)
    verdicts: BoolArray = estimator.learner_.reference.thresholds(level).trusts(*evidence)
    return verdicts


def checked_rows(estimator: BaseEstimator, X: ArrayOrFrame) -> Any:
    """Rows X, validated, in the form that the learner of a fitted estimator takes.

    An array (n, d); X itself where the learner reads a table or names of columns; a list with the
    rows for each member where the estimator combines several.
    """
    check_is_fitted(estimator)
    inputs = estimator.learner_.inputs
    if inputs.members or inputs.table:
        check_table(estimator, X, reset=False)
        return (
            [checked_rows(member, X) for member in estimator.estimators_] if inputs.members else X
        )
    rows = check_rows(estimator, X)
    check_values(estimator, rows, inputs)
    return X if inputs.names and hasattr(X, "columns") else rows


def _ask_learner(estimator: BaseEstimator, X: ArrayOrFrame, ask: Callable[[Any], Any]) -> Any:
    """Result of a learner method on rows; raises if NaN or infinity in the rows reaches it."""
    with np.errstate(invalid="ignore", over="ignore"):
        result = ask(X)
        if estimator.learner_.inputs.shows_nonfinite:
            refuse_nonfinite(estimator, X, _numbers(result))
    return result


def _numbers(result: Any) -> Any:
    """Numbers (n, …) of a learner's result that are NaN for a row that holds NaN."""
    if isinstance(result, np.ndarray):
        return result
    return result.regret if isinstance(result, Evidence) else result.mean
