"""The fitted estimator behind a plot, and the rows it receives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pnml.core.arrays import FloatArray
from pnml.core.trust import Reference
from pnml.errors import InputError
from pnml.estimators.base import evidence_of
from pnml.learners.protocol import BoolArray
from pnml.plots.network import is_last_layer, regrets_and_verdicts


@dataclass(frozen=True)
class ScoredRows:
    """Regrets of new rows beside those of training rows, and the verdicts on the new rows."""

    new: FloatArray  # (m,)
    training: FloatArray  # (n,)  each left out in turn
    weights: FloatArray  # (n,)
    threshold: float  # largest trusted regret
    trusted: BoolArray  # (m,)


def name_of(estimator: Any) -> str:
    """Name of an estimator; for a Pipeline, the name of its last step."""
    return type(estimator[-1] if isinstance(estimator, Pipeline) else estimator).__name__


def fitted_with_regret(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The estimator with a regret (the last step of a Pipeline), and X as it receives it."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(model, "regret"):
        raise InputError(
            f"estimator is a {name_of(estimator)}, which has no regret to draw; pass a fitted "
            "estimator of pnml, or a Pipeline that ends in one."
        )
    return last_step(estimator, X)


def score_rows(estimator: Any, X: Any, level: float) -> ScoredRows:
    """Regrets and verdicts on X by an estimator, or by a network with pNML on its last layer."""
    if is_last_layer(estimator):
        new, trusted = regrets_and_verdicts(estimator, X, level)
        training = estimator.sample_regrets_
        limit = estimator.regret_threshold(level)
        return ScoredRows(new, training, np.ones(len(training)), limit, trusted)
    model, rows = fitted_with_regret(estimator, X)
    reference: Reference = model.reference_
    thresholds = reference.thresholds(level)
    if hasattr(model, "learner_"):  # one call: every regret may cost refits
        evidence = evidence_of(model, rows)
        new, trusted = evidence.regret, thresholds.trusts(*evidence)
    else:
        new, trusted = model.regret(rows), model.trusted(rows, level)
    weights = np.ones(len(reference.regrets)) if reference.weights is None else reference.weights
    return ScoredRows(new, reference.regrets, weights, thresholds.regret, trusted)


def last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The estimator (the last step of a Pipeline), and X transformed by the steps before it."""
    check_is_fitted(estimator)
    if not isinstance(estimator, Pipeline):
        return estimator, X
    if X is not None and len(estimator) > 1:
        X = estimator[:-1].transform(X)
    return estimator[-1], X
