"""What each learner says of traced rows: the outputs of its graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pnml.core import gaussian, luckiness, softmax
from pnml.core.luckiness import RidgeTerms
from pnml.errors import InputError
from pnml.estimators.classifier import PNMLClassifier
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml.learners.least_squares import LUCKY, Solution
from pnml.learners.one_step import OneStep
from pnml.onnx.operations import xp
from pnml.onnx.traced import Traced

Outputs = dict[str, Traced]

_KNOWN = (
    "PNMLRegressor, LpNMLRegressor with penalty='l2', PNMLClassifier with method='analytic', "
    "Pipelines that end in one of them, models of pnml fit made of them, and LastLayerPNML can be"
)


def solution_of(model: PNMLRegressor | LpNMLRegressor) -> Solution:
    """The fitted least squares inside a regressor."""
    solution = model._solved()
    if not isinstance(solution, Solution):
        raise InputError(
            'LpNMLRegressor(penalty="l1") follows a path of its own for every row, which is no '
            'fixed graph and cannot be exported to ONNX; export one with penalty="l2".'
        )
    return solution


def check(model: Any) -> None:
    """Raise where a learner is none that a graph can be made of, or not fitted."""
    if not isinstance(model, PNMLRegressor | LpNMLRegressor | PNMLClassifier):
        raise InputError(f"A {type(model).__name__} cannot be exported to ONNX; {_KNOWN}.")
    check_is_fitted(model)
    if not isinstance(model, PNMLClassifier):
        solution_of(model)
    elif not isinstance(model._genie, OneStep):
        raise InputError(
            'PNMLClassifier(method="refit") is trained again for every row, which is no fixed '
            'graph and cannot be exported to ONNX; export one with method="analytic".'
        )


def regression(solution: Solution, X: Traced) -> Outputs:
    """Prediction, standard deviation and regret of rows."""
    geometry, choice = solution.geometry, solution.choice
    X.graph.bounded = choice.alpha > 0  # else rows may leave the span
    if solution.method is LUCKY:
        return _lucky(lucky_terms(solution, X), choice.noise_variance)
    leverage = geometry.leverage(X, choice.alpha)
    return {
        "prediction": _fit(solution, X),
        "std": np.sqrt(choice.noise_variance) * gaussian.spread(leverage),
        "regret": gaussian.regret(leverage),
    }


def lucky_terms(solution: Solution, X: Traced) -> RidgeTerms:
    """What the luckiness learner is made of. Eq. (L1)."""
    geometry, alpha = solution.geometry, solution.choice.alpha
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


def _fit(solution: Solution, X: Traced) -> Any:
    """The ridge fit to rows. Eq. (S4)."""
    spectrum = solution.spectrum
    return (X - spectrum.center) @ solution.slopes + float(spectrum.y_mean[0])


def classification(model: PNMLClassifier, log_p: Traced, rows: Traced) -> Outputs:
    """Log-probabilities and regret, from those of the classifier inside and its features."""
    rows.graph.bounded = model.alpha_ > 0
    if model.normalize:
        norms = xp.sqrt(xp.vecdot(rows, rows))[..., None]
        rows = rows / xp.where(norms > 0, norms, 1.0)
    found = softmax.predictive(log_p, model.spectrum_.leverage(rows, model.alpha_))
    return {"log_prob": found.log_prob, "regret": found.regret}
