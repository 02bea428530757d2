"""ONNX outputs of each kind of learner, computed from traced rows."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pnml.core import gaussian, luckiness, softmax
from pnml.core.luckiness import RidgeTerms
from pnml.errors import InputError
from pnml.learners.lasso import Lasso
from pnml.learners.least_squares import LUCKY, LeastSquares
from pnml.learners.logistic_refit import LogisticRefit
from pnml.learners.one_step import OneStep
from pnml.learners.trusted_classes import TrustedClasses
from pnml.learners.trusted_values import TrustedValues
from pnml.onnx.operations import xp
from pnml.onnx.traced import Traced

Outputs = dict[str, Traced]

_KNOWN = (
    "PNMLRegressor, LpNMLRegressor with penalty='l2', PNMLClassifier with method='analytic', "
    "Pipelines that end in one of them, models of pnml fit made of them, and LastLayerPNML can be"
)


def learner_in(model: Any) -> Any:
    """The ``learner_`` of an estimator; raises if it is not fitted or cannot be exported."""
    if not hasattr(model, "learner_"):
        if hasattr(type(model), "reference_") and not hasattr(model, "estimator_"):
            check_is_fitted(model)
        raise InputError(f"A {type(model).__name__} cannot be exported to ONNX; {_KNOWN}.")
    refuse(model.learner_, type(model).__name__)
    return model.learner_


@singledispatch
def refuse(learner: Any, name: str) -> None:
    """Raise InputError if a learner cannot be exported; `name` is its estimator's class."""
    raise InputError(f"A {name} cannot be exported to ONNX; {_KNOWN}.")


@refuse.register(LeastSquares)
@refuse.register(OneStep)
def _(learner: Any, name: str) -> None:
    pass


@refuse.register
def _(learner: Lasso, name: str) -> None:
    raise InputError(
        f'{name}(penalty="l1") follows a path of its own for every row, which is no fixed graph '
        'and cannot be exported to ONNX; export one with penalty="l2".'
    )


@refuse.register
def _(learner: LogisticRefit, name: str) -> None:
    raise InputError(
        f'{name}(method="refit") is trained again for every row, which is no fixed graph and '
        'cannot be exported to ONNX; export one with method="analytic".'
    )


@refuse.register(TrustedValues)
@refuse.register(TrustedClasses)
def _trusted(learner: Any, name: str) -> None:
    raise InputError(
        f"A {name} cannot be exported to ONNX, since no graph here computes the leaves or features "
        "of the model inside that its regret needs; keep it with pnml.save, or export estimator_ "
        "alone with the converter of its own library."
    )


@singledispatch
def outputs(learner: Any, X: Traced, log_p: Traced | None) -> Outputs:
    """Outputs of the graph by name, for traced rows X (n, d).

    `log_p` (n, C) are the log-probabilities of the wrapped classifier, or None for a regressor.
    """
    raise TypeError(f"no graph is known of a {type(learner).__name__}")


@outputs.register
def regression(learner: LeastSquares, X: Traced, log_p: Traced | None = None) -> Outputs:
    """Outputs for a regressor: traced ``prediction``, ``std`` and ``regret`` (nats), each (n,)."""
    geometry, choice = learner.geometry, learner.choice
    X.graph.bounded = choice.alpha > 0  # else rows may leave the span
    if learner.method is LUCKY:
        return _lucky(lucky_terms(learner, X), choice.noise_variance)
    leverage = geometry.leverage(X, choice.alpha)
    return {
        "prediction": _fit(learner, X),
        "std": np.sqrt(choice.noise_variance) * gaussian.spread(leverage),
        "regret": gaussian.regret(leverage),
    }


@outputs.register
def classification(learner: OneStep, X: Traced, log_p: Traced | None = None) -> Outputs:
    """Outputs for a classifier: traced ``log_prob`` (n, C) and ``regret`` (n,) in nats."""
    geometry = learner.geometry
    X.graph.bounded = geometry.alpha > 0
    if geometry.normalize:
        norms = xp.sqrt(xp.vecdot(X, X))[..., None]
        X = X / xp.where(norms > 0, norms, 1.0)
    predictive = softmax.predictive(log_p, geometry.spectrum.leverage(X, geometry.alpha))
    return {"log_prob": predictive.log_prob, "regret": predictive.regret}


def lucky_terms(learner: LeastSquares, X: Traced) -> RidgeTerms:
    """Traced terms (n,) of each row that define the luckiness prediction and regret. Eq. (L1)."""
    geometry, alpha = learner.geometry, learner.choice.alpha
    h2 = geometry.h2
    a, outside = geometry.coordinates(X)
    b2 = xp.vecdot(outside, outside)
    beyond = b2 / alpha if alpha > 0 else xp.where(b2 > 0, np.inf, b2)
    shrunk = np.sqrt(h2) * geometry.z[:, 0] / (h2 + alpha)
    linear = a @ np.column_stack([shrunk, alpha * shrunk / (h2 + alpha)])
    square = (a * a) @ np.column_stack([1 / (h2 + alpha), alpha / (h2 + alpha) ** 2])
    terms: Any = (
        linear[..., 0] + float(geometry.y_mean[0]),
        square[..., 0] + beyond + geometry.intercept_share,
        linear[..., 1],
        square[..., 1] + beyond,
    )
    return RidgeTerms(*terms)


def _lucky(terms: RidgeTerms, noise_variance: float) -> Outputs:
    """The shifted mean and the width between Bayes and pNML. Eq. (L2)."""
    K: Any = 1.0 + terms.leverage
    thin: Any = 1.0 + terms.spread
    lost = xp.isinf(K)
    shifted = terms.fit - K * terms.pull / thin
    std = np.sqrt(noise_variance) * K / xp.sqrt(thin)
    regret: Any = luckiness.regret(terms, noise_variance)
    return {
        "prediction": xp.where(lost, terms.fit, shifted),
        "std": xp.where(lost, np.inf, std),
        "regret": regret,
    }


def _fit(learner: LeastSquares, X: Traced) -> Any:
    """Traced ridge predictions (n,) of rows. Eq. (S4)."""
    spectrum = learner.spectrum
    return (X - spectrum.center) @ learner.slopes + float(spectrum.y_mean[0])
