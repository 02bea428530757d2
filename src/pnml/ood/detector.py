"""The interface of all detectors, and detectors whose verdict is a quantile of their score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from array_api_compat import array_namespace

from pnml.core.arrays import Array, FloatArray
from pnml.core.trust import DEFAULT_LEVEL, Reference, Thresholds, check_level
from pnml.errors import InputError
from pnml.ood.network_logits import scores_of


class Detector(ABC):
    """Base of detectors: outlier scores of inputs, and verdicts from training rows alone.

    Two conventions meet here. `predict` follows pytorch-ood: a score that is **high for
    outliers**. `score_samples` and `decision_function` follow scikit-learn: high for ordinary
    rows, and 0 or more for rows that pass the threshold. The verdict for each row, which is
    ``predict`` in scikit-learn, is `trusted` here.

    Examples
    --------
    >>> import torch
    >>> from pnml.ood import MaxLogit
    >>> detector = MaxLogit(torch.nn.Identity()).fit([9 * torch.eye(3)])
    >>> new = torch.tensor([[9.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    >>> detector.predict(new), detector.trusted(new)
    (tensor([-9., -1.], dtype=torch.float64), tensor([ True, False]))
    """

    def __call__(self, x: Any) -> Array:
        """The scores of `predict`."""
        return self.predict(x)

    @abstractmethod
    def predict(self, x: Any) -> Array:
        """Outlier scores (n,) of inputs; high means out-of-distribution.

        Tensors give a tensor, arrays an array; float64.
        """

    @abstractmethod
    def _reference(self) -> Reference:
        """Scores of training rows, with leverages if these have a say."""

    def _score_and_leverage(self, x: Any) -> tuple[Array, Array | None]:
        """Outlier scores (n,) and leverages (n,) of inputs; None if the score alone decides."""
        return self.predict(x), None

    def score_samples(self, x: Any) -> Array:
        """Scores (n,) of how ordinary inputs are, high in-distribution, as in scikit-learn."""
        return -self.predict(x)

    def decision_function(self, x: Any, *, level: float = DEFAULT_LEVEL) -> Array:
        """How far inputs are on the ordinary side of the threshold: 0 or more passes. Eq. (O1).

        An input that only its leverage h excludes, above the threshold t of the leverage, gets
        log(1 + t) − log(1 + h): negative, and in nats as the regret is.
        """
        level = check_level(level, of="training scores")
        scores, leverage = self._score_and_leverage(x)
        return _margin(self._thresholds(level), scores, leverage)

    def trusted(self, x: Any, *, level: float = DEFAULT_LEVEL) -> Array:
        """Whether to trust each input: False if stranger than this share of the training rows."""
        level = check_level(level, of="training scores")
        scores, leverage = self._score_and_leverage(x)
        trusted: Array = self._thresholds(level).trusts(scores, leverage)
        return trusted

    def threshold(self, level: Any = DEFAULT_LEVEL) -> float:
        """Threshold on the score: this share of training rows does not exceed it. Eq. (O1)."""
        return self._thresholds(check_level(level, of="training scores")).regret

    def _thresholds(self, level: float) -> Thresholds:
        return self._reference().thresholds(level)


class ScoreDetector(Detector):
    """Base of a detector whose score needs no fit; training rows only set the threshold."""

    training_scores_: FloatArray | None = None

    def fit(self, loader: Any) -> Self:
        """Learn the threshold from training inputs; the score itself needs no fit."""
        self.training_scores_ = scores_of(self.predict, loader, "training set")
        return self

    def _reference(self) -> Reference:
        return Reference(required_scores(self, self.training_scores_))


class FeatureScoreDetector(ScoreDetector):
    """Base of a detector by a score of features, which may be given instead of inputs."""

    @abstractmethod
    def predict_features(self, features: Array) -> Array:
        """Outlier scores (n,) of features (n, d)."""

    def fit_features(self, features: Any, y: Any = None) -> Self:
        """Learn the threshold from the features of training rows; labels are ignored."""
        self.training_scores_ = scores_of(self.predict_features, features, "training set")
        return self


def required_scores(detector: Detector, scores: FloatArray | None) -> FloatArray:
    """The training scores of a detector; raises if there are none yet."""
    if scores is None:
        raise InputError(
            f"This {type(detector).__name__} has no threshold because it has seen no training "
            "rows; call fit(loader) first."
        )
    return scores


def _margin(thresholds: Thresholds, scores: Array, leverage: Array | None) -> Array:
    """Distance (n,) to the threshold; negative exactly for rows that are not trusted."""
    xp = array_namespace(scores)
    # an infinite score is an outlier even if the limit itself is infinite
    margin = xp.where(xp.isinf(scores), -xp.abs(scores), thresholds.regret - scores)
    if leverage is None:
        return margin
    limit = max(thresholds.leverage, 0.0)  # −inf only if no regret passes either
    excess = xp.where(leverage <= limit, xp.zeros_like(leverage), leverage - limit)
    by_regret = (leverage <= limit) | (margin < 0)
    return xp.where(by_regret, margin, -xp.log1p(excess / (1 + limit)))
