"""Scorers for scikit-learn's searches: log-loss of distributions, interval score, AURC.

Greater is better, as in scikit-learn: each is the negative of its loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.metadata_routing import UNUSED

from pnml.errors import InputError
from pnml.metrics.checks import share, weighted_mean
from pnml.metrics.prediction_intervals import interval_score
from pnml.metrics.risk_coverage import aurc

Score = Callable[[Any, Any, Any, Any], float]


class Scorer(BaseEstimator):
    """A scorer: call it with an estimator, rows and their labels; greater is better.

    `log_loss_scorer`, `interval_scorer` and `aurc_scorer` make one. It returns the negative of
    ``loss(estimator, X, y, sample_weight)``; `needs` is the method that the estimator must have.
    With metadata routing, ``set_score_request(sample_weight=True)`` passes weights on to it.

    Examples
    --------
    >>> from pnml import PNMLRegressor
    >>> model = PNMLRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.1, 1.9, 3.0])
    >>> round(log_loss_scorer()(model, [[1.5]], [1.5]), 2)
    1.56
    """

    # `estimator` is the model that is scored, and no metadata.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"estimator": UNUSED}

    def __init__(self, loss: Score, needs: str) -> None:
        self.loss = loss
        self.needs = needs

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of a fitted estimator on rows X with labels y; greater is better."""
        return self.score(estimator, X, y, sample_weight)

    def score(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The same as a call: the score of a fitted estimator on rows X with labels y."""
        if not hasattr(estimator, self.needs):
            raise InputError(
                f"The scorer asks a model for {self.needs}, which {type(estimator).__name__} does "
                "not have; score an estimator of pnml."
            )
        return -self.loss(estimator, X, y, sample_weight)


def log_loss_scorer() -> Scorer:
    """Scorer: the mean log-probability (classes) or log-density (numbers) of the true labels.

    A density has the unit of one over the label, so compare models of the same label only.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import GridSearchCV
    >>> from pnml import PNMLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grid = {"alpha": [1e-4, 1e-2, 1.0]}
    >>> search = GridSearchCV(PNMLRegressor(), grid, scoring=log_loss_scorer()).fit(X, y)
    >>> search.best_params_, round(float(search.best_score_), 2)
    ({'alpha': 0.0001}, -5.42)
    """
    return Scorer(_log_loss, "predict_dist")


def interval_scorer(coverage: float = 0.9) -> Scorer:
    """Scorer: the negative Winkler score of the intervals of this coverage. Eq. (M11).

    Examples
    --------
    >>> from pnml import PNMLRegressor
    >>> model = PNMLRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.1, 1.9, 3.0])
    >>> interval_scorer(0.5)(model, [[1.5]], [9.0]) < interval_scorer(0.5)(
    ...     model, [[1.5]], [1.5]
    ... ) < 0
    True
    """
    share(coverage, "coverage")

    def loss(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
        interval = estimator.predict_interval(X, coverage=coverage)
        return interval_score(
            np.asarray(y), np.asarray(interval), coverage=coverage, sample_weight=sample_weight
        )

    return Scorer(loss, "predict_interval")


def aurc_scorer() -> Scorer:
    """Scorer: the negative area under the risk–coverage curve. Eq. (M8).

    How much is gained by leaving out the rows that the model doubts. Rows are ranked by
    ``expected_error`` where the model has it, else by the regret; the loss of a row is its absolute
    error, or for classes 1 where the prediction is wrong. It takes no weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pnml import PNMLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> -0.1 < aurc_scorer()(PNMLClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2]) <= 0
    True
    """
    return Scorer(_aurc, "regret")


def _log_loss(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    dist, labels = estimator.predict_dist(X), np.asarray(y)
    if not is_classifier(estimator):
        return -weighted_mean(np.asarray(dist.log_prob(labels)), sample_weight)
    place = {label: k for k, label in enumerate(estimator.classes_.tolist())}
    strange = [label for label in labels.tolist() if label not in place]
    if strange:
        raise InputError(
            f"y holds {strange[0]!r}, which is not among the classes of the estimator; leave such "
            "rows out."
        )
    columns = [place[label] for label in labels.tolist()]
    return -weighted_mean(np.asarray(dist.log_prob)[np.arange(len(labels)), columns], sample_weight)


def _aurc(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    if sample_weight is not None:
        raise InputError("The area under the risk–coverage curve has no weights; pass none.")
    labels, prediction = np.asarray(y), np.asarray(estimator.predict(X))
    if is_classifier(estimator):
        loss = (prediction != labels).astype(np.float64)
    else:
        loss = np.abs(prediction - labels)
    doubt = getattr(estimator, "expected_error", estimator.regret)(X)
    return aurc(loss, -np.asarray(doubt))
