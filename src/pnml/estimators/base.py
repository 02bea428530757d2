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
        """Distribution of the label of each row.

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
            Also return the standard deviation of each label, as scikit-learn's Bayesian models do.
        """
        X = checked_rows(self, X)
        if return_std:
            dist = _ask_learner(self, X, self.learner_.predictive)
            return like_input(dist.mean, X), like_input(dist.std, X)
        return like_input(_ask_learner(self, X, self.learner_.mean), X)

    def predict_interval(self, X: ArrayOrFrame, coverage: float = 0.9) -> FloatArray:
        """Central interval (n, 2) that holds each label with probability `coverage`."""
        X = checked_rows(self, X)
        return like_input(_ask_learner(self, X, self.learner_.predictive).interval(coverage), X)

    def regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret of each row in nats: how far hindsight could have beaten us there. ≥ 0.

        Infinite where the row is outside the span of the training rows and there is no penalty.
        """
        X = checked_rows(self, X)
        return like_input(_ask_learner(self, X, self.learner_.regret), X)

    def trusted(self, X: ArrayOrFrame, level: float = DEFAULT_LEVEL) -> BoolArray:
        """Whether each row's regret is as small as those of training rows.

        A row is trusted if its regret does not pass the `level` quantile of the regrets in
        ``reference_``. Rows outside everything else in training, which have an infinite regret,
        do not count there and are never trusted; nor are rows with a value unseen in training, or
        that break a linear relation of the training rows. Eq. (X1).
        """
        return verdicts(self, X, level)

    def explain(self, X: ArrayOrFrame) -> FloatArray:
        """Share of each feature in the leverage of each row: (n, n_features), ≥ 0.

        The rows sum to the leverage ``K − 1`` less the intercept's ``1/n``; for ordinary and ridge
        pNML, kernels and trees ``K = exp(regret)``. Where the regret is infinite, the features
        that carry the row outside the training span are infinite.
        """
        X = checked_rows(self, X)
        return like_input(_ask_learner(self, X, self.learner_.explain), X)

    @property
    def loo_(self) -> LeaveOneOut:
        """Leave-one-out residuals, sds, regrets and log-losses of the training rows."""
        check_is_fitted(self)
        loo: LeaveOneOut = self.learner_.loo
        return loo

    @property
    def reference_(self) -> Reference:
        """Regrets of training rows that ``trusted`` compares those of new rows with."""
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
        """The pNML probabilities (n, C) of the classes, in the order of ``classes_``.

        Always float64: float32 would lose the small probabilities beside one near 1.
        """
        prob: FloatArray = self.predict_dist(X).prob
        return prob

    def predict_log_proba(self, X: ArrayOrFrame) -> FloatArray:
        """Logarithms (n, C) of the pNML probabilities; −inf where the classifier gives 0."""
        log_prob: FloatArray = self.predict_dist(X).log_prob
        return log_prob

    def predict_dist(self, X: ArrayOrFrame) -> Categorical:
        """Probabilities and regrets of rows at once: ``prob``, ``log_prob`` and ``regret``.

        In float64. If rows cost refits, one call does half the work of two.
        """
        rows = checked_rows(self, X)
        return self.learner_.predictive(rows)

    def regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret of each row in nats: how far hindsight could have beaten us there.

        From 0 to at most ``log C``, where every label can be fitted.
        """
        rows = checked_rows(self, X)
        return self.learner_.regret(rows)

    def relative_regret(self, X: ArrayOrFrame) -> FloatArray:
        """Regret of each row as a fraction of log C, comparable between numbers of classes."""
        return self.regret(X) / float(np.log(len(self.classes_)))

    def trusted(self, X: ArrayOrFrame, level: float = DEFAULT_LEVEL) -> BoolArray:
        """Whether each row's regret and leverage are as small as those of training rows.

        A row is trusted if its regret does not pass the `level` quantile of the regrets in
        ``reference_``, nor its leverage that of the leverages there. Rows outside everything else
        in training, whose leverage is infinite, do not count there and are never trusted; nor are
        rows with a value unseen in training, or that break a linear relation of the training rows.
        """
        return verdicts(self, X, level)

    def explain(self, X: ArrayOrFrame) -> FloatArray:
        """Share of each feature in the leverage of each row: (n, n_features), ≥ 0."""
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
        """Regrets and leverages of training rows that ``trusted`` compares new rows with."""
        check_is_fitted(self)
        return self.learner_.reference


def learner_of(estimator: BaseEstimator) -> Learner | None:
    """The learner of a fitted estimator, or of the one inside it; None for other models."""
    learner: Learner | None = getattr(estimator, "learner_", None)
    if learner is None and hasattr(estimator, "estimator_"):
        return learner_of(estimator.estimator_)
    return learner


def evidence_of(estimator: BaseEstimator, X: ArrayOrFrame) -> Evidence:
    """Evidence for the verdict on rows by any estimator of the two bases."""
    X = checked_rows(estimator, X)
    evidence: Evidence = _ask_learner(estimator, X, estimator.learner_.evidence)
    return evidence


def verdicts(estimator: BaseEstimator, X: ArrayOrFrame, level: float) -> BoolArray:
    """Verdicts on rows by any estimator of the two bases: trusted or not."""
    level = check_level(level)
    evidence = evidence_of(estimator, X)
    verdicts: BoolArray = estimator.learner_.reference.thresholds(level).trusts(*evidence)
    return verdicts


def checked_rows(estimator: BaseEstimator, X: ArrayOrFrame) -> Any:
    """Validated rows for the learner of a fitted estimator."""
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
    """Numbers (n, …) of a result in which a NaN of a row would show."""
    if isinstance(result, np.ndarray):
        return result
    return result.regret if isinstance(result, Evidence) else result.mean
