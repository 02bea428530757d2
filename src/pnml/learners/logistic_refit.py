"""Classifier with an exact genie: the logistic regression is refitted for every label of a row."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NAN
from pnml.core.logistic import LogisticModel, Refits, refit, refit_left_out
from pnml.core.softmax import Categorical
from pnml.core.softmax_leave_one_out import LabelsLeftOut
from pnml.core.trust import Evidence, Reference
from pnml.errors import ConditionWarning, InputError
from pnml.learners.finite import like_input
from pnml.learners.last_step import LastStep, last_of, ridge_of
from pnml.learners.one_step import LeftOutSample, OnLastStep, Training, sampled_rows
from pnml.runtime.caller import stacklevel_of_caller


@dataclass(frozen=True)
class LogisticPNML(LabelsLeftOut):
    """Leave-one-out results of logistic refits. Eq. (H11).

    The k rows are all training rows, or 200 drawn at random if there are more. If a row counts
    several times, one copy is left out. Arrays are (k,), and `log_prob` is (k, classes).
    """

    index: Annotated[npt.NDArray[np.int64], "n"]  # indices of the training rows
    log_prob: Annotated[FloatArray, "n c", NOT_NAN]  # pNML probabilities of all labels
    errors: Annotated[
        FloatArray, "n", NOT_NAN
    ]  # bounds or estimates of the errors of the regrets, nats


@dataclass(frozen=True)
class LogisticRefit(OnLastStep):
    """Learner whose genie is the logistic regression refitted with row and label. Eq. (H8)."""

    model: LogisticModel
    leverages: Annotated[FloatArray, "s"]  # of the sampled rows, among the other rows
    tol: float  # largest numerical error of a regret, nats

    @staticmethod
    def check(estimator: Any) -> None:
        """Raise InputError if an estimator ends in no LogisticRegression that can be refitted.

        An ℓ1 penalty, liblinear and class weights make another objective than Eq. (H12).
        """
        step = last_of(estimator)
        if type(step) is not LogisticRegression:
            raise InputError(
                f'estimator is a {type(step).__name__}, but method="refit" trains logistic '
                "regressions; pass a LogisticRegression or a Pipeline that ends in one, or "
                'method="analytic".'
            )
        for wrong, cure in _refusals(step):
            raise InputError(
                f'estimator is a LogisticRegression with {wrong}, which method="refit" does not '
                f'minimise; pass one with {cure}, or method="analytic".'
            )

    @classmethod
    def of(cls, training: Training) -> LogisticRefit:
        """The refit learner of a fitted logistic regression, from its training rows."""
        rows = sampled_rows(training.weights)
        leverages = training.geometry.left_out(training.step.values, training.weights)
        return cls(
            training.classifier,
            training.geometry,
            _trained(training),
            leverages[rows],
            training.tol,
        )

    @property
    def reference(self) -> Reference:
        """Left-out regrets and leverages of training rows, for the thresholds of trust."""
        return self.loo.reference

    def predictive(self, X: Any) -> Categorical:
        """pNML log-probabilities (n, classes) and regrets (n,) of rows, by a refit per label."""
        refits = self._refits(LastStep.of(self.classifier, X))
        return Categorical(softmax.log_softmax(refits.log_genie), refits.regret)

    def regret(self, X: Any) -> FloatArray:
        """Regrets (n,) in nats, in the dtype of the rows; costs as much as `predictive`."""
        step = LastStep.of(self.classifier, X)
        rows = self.geometry.rows(step.values)
        regret: FloatArray = like_input(self._refits(step).regret, rows)
        return regret

    def evidence(self, X: Any, regret: FloatArray | None = None) -> Evidence:
        """Regret, leverage and broken relations of rows, which decide whether they are trusted.

        Pass the `regret` (n,) if it is known, to save the refits. Eqs. (F8), (X2).
        """
        step = LastStep.of(self.classifier, X)
        regrets = self._refits(step).regret if regret is None else regret
        leverage, broken = self.geometry.leverage(step.values), self.geometry.broken(step.values)
        return Evidence(regrets, leverage, broken=broken)

    @cached_property
    def loo(self) -> LogisticPNML:
        """Leave-one-out results of up to 200 training rows, computed on first use.

        Costs a refit for every label of every such row.
        """
        training = self.model.objective.training
        rows = sampled_rows(training.weights)
        refits = refit_left_out(self.model, rows, tol=self.tol)
        _warn_unsure(refits, self.tol)
        log_prob: FloatArray = softmax.log_softmax(refits.log_genie)
        own = training.labels[rows]
        return LogisticPNML(
            leverages=self.leverages,
            regrets=refits.regret,
            log_losses=-log_prob[np.arange(len(rows)), own],
            weights=training.weights[rows],
            index=rows,
            log_prob=log_prob,
            errors=refits.error,
            wrong=(log_prob.argmax(axis=1) != own) * 1.0,
        )

    @property
    def sample(self) -> LeftOutSample:
        """Leave-one-out results of the sampled training rows, for a union of classifiers."""
        return LeftOutSample(self.loo.log_prob, self.loo.regrets, self.loo.leverages)

    def _refits(self, step: LastStep) -> Refits:
        refits = refit(self.model, np.asarray(step.values, dtype=float), tol=self.tol)
        _warn_unsure(refits, self.tol)
        return refits


def strength(model: LogisticRegression, n_classes: int) -> float:
    """ℓ2 penalty of the equivalent softmax model of a LogisticRegression. Eq. (H12).

    1/C for three or more classes; 2/C for two, as the softmax model then has two rows of weights.

    >>> strength(LogisticRegression(C=0.5), 2), strength(LogisticRegression(C=0.5), 3)
    (4.0, 2.0)
    """
    ridge = ridge_of(model) or 0.0
    return 2 * ridge if n_classes == 2 else ridge


def _trained(training: Training) -> LogisticModel:
    """The logistic regression as a softmax model, fitted on to full precision."""
    model, values = training.step.classifier, np.asarray(training.step.values, dtype=float)
    _refuse_foreign(model, training)
    coef, bias = np.asarray(model.coef_, dtype=float), np.asarray(model.intercept_, dtype=float)
    if len(model.classes_) == 2:
        coef, bias = np.vstack([-coef / 2, coef / 2]), np.append(-bias / 2, bias / 2)
    alpha = strength(model, len(model.classes_))
    try:
        return LogisticModel.fit(
            values,
            training.labels,
            len(model.classes_),
            alpha=alpha,
            intercept=bool(model.fit_intercept),
            sample_weight=training.weights,
            start=(coef, bias),
        )
    except InputError as error:
        if alpha > 0:
            raise
        C = len(model.classes_)
        raise InputError(
            "The classes can be told apart without error, so that without a penalty every label "
            f"can be fitted and the regret is log {C} = {np.log(C):.3f} everywhere; pass a "
            "LogisticRegression with a finite C, such as C=1.0."
        ) from error


def _refuse_foreign(model: LogisticRegression, training: Training) -> None:
    """Raise if a frozen classifier was fitted to other columns or classes."""
    width = training.step.values.shape[1]
    if model.coef_.shape[1] != width:
        raise InputError(
            f"The fitted LogisticRegression has {model.coef_.shape[1]} features, but X has "
            f"{width}; pass the same columns as it was fitted to."
        )
    counts = np.bincount(training.labels, training.weights, minlength=len(model.classes_))
    for label, count in zip(model.classes_.tolist(), counts, strict=True):
        if not count > 0:
            raise InputError(
                f"Class {label!r} has no row with a weight above 0, but it is trained again with "
                "every other row; add such rows, or fit without this class."
            )


def _refusals(model: LogisticRegression) -> list[tuple[str, str]]:
    """Settings that deviate from Eq. (H12), in words, each with the setting to pass instead."""
    weights = model.class_weight
    even = weights is None or (
        isinstance(weights, Mapping) and all(weight == 1 for weight in weights.values())
    )
    rules = [
        (ridge_of(model) is None, "an ℓ1 penalty", "l1_ratio=0"),
        (model.solver == "liblinear", 'solver="liblinear"', 'solver="lbfgs"'),
        (
            not even,
            f"class_weight={weights!r}",
            "class_weight=None, and the weights of rows as sample_weight to fit",
        ),
        (
            getattr(model, "multi_class", "auto") not in ("auto", "deprecated"),
            f"multi_class={getattr(model, 'multi_class', None)!r}",
            'multi_class="auto"',
        ),
    ]
    return [(wrong, cure) for is_so, wrong, cure in rules if is_so]


def _warn_unsure(refits: Refits, tol: float) -> None:
    unsure = int(np.sum(~refits.converged))
    if unsure:
        warnings.warn(
            f"The regrets of {unsure} of {len(refits.converged)} rows are not certain to "
            f"tol={tol:g}: the largest error may be {np.max(refits.error):.2g} nats; scale the "
            "features, pass a smaller C, or a larger tol.",
            ConditionWarning,
            stacklevel=stacklevel_of_caller(),
        )
