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
        """Outlier scores (n,) of inputs, the same as `predict` gives."""
        return self.predict(x)

    @abstractmethod
    def predict(self, x: Any) -> Array:
        """Outlier scores (n,) of a batch of n inputs; high means out-of-distribution.

        A tensor of inputs gives a tensor of scores, an array gives an array; both in float64.
        """

    @abstractmethod
    def _reference(self) -> Reference:
        """Scores of training rows that set the threshold, with leverages if these count too."""

    def _score_and_leverage(self, x: Any) -> tuple[Array, Array | None]:
        """Outlier scores (n,) and leverages (n,) of inputs; None if the score alone decides."""
        return self.predict(x), None

    def score_samples(self, x: Any) -> Array:
        """Scores (n,) of n inputs, high for ordinary ones: minus `predict`, as in scikit-learn.

        `x` is one batch of inputs, an array or a tensor, as `predict` takes it. For a loader, call
        this for each of its batches, unless `predict` of the detector says that it takes loaders.
        """
        return -self.predict(x)

    def decision_function(self, x: Any, *, level: float = DEFAULT_LEVEL) -> Array:
        """Threshold minus outlier score (n,) of inputs; 0 or more for trusted inputs. Eq. (O1).

        A share `level` of the training rows does not exceed the threshold. An input whose score
        passes but whose leverage h is above the threshold t of the leverage gets log(1 + t) − log(1
        + h) instead: negative, and in nats as the regret is.
        """
        level = check_level(level, of="training scores")
        scores, leverage = self._score_and_leverage(x)
        return _margin(self._thresholds(level), scores, leverage)

    def trusted(self, x: Any, *, level: float = DEFAULT_LEVEL) -> Array:
        """Whether to trust each input, as booleans (n,).

        False if the score, or the leverage in detectors that use it, is above the threshold that a
        share `level` of the training rows does not exceed.
        """
        level = check_level(level, of="training scores")
        scores, leverage = self._score_and_leverage(x)
        trusted: Array = self._thresholds(level).trusts(scores, leverage)
        return trusted

    def threshold(self, level: Any = DEFAULT_LEVEL) -> float:
        """Largest score to trust, not exceeded by a share `level` of training rows. Eq. (O1).

        Detectors with a leverage compare that with a threshold too: ask ``trusted``.
        """
        return self._thresholds(check_level(level, of="training scores")).regret

    def _thresholds(self, level: float) -> Thresholds:
        return self._reference().thresholds(level)


class ScoreDetector(Detector):
    """Base of a detector whose score needs no fit; training rows only set the threshold."""

    training_scores_: FloatArray | None = None

    def fit(self, loader: Any) -> Self:
        """Learn the threshold from training inputs and return the detector.

        The score itself needs no fit. `loader` is a loader of batches, an array or a tensor.
        """
        self.training_scores_ = scores_of(self.predict, loader, "training set")
        return self

    def _reference(self) -> Reference:
        return Reference(required_scores(self, self.training_scores_))


class FeatureScoreDetector(ScoreDetector):
    """Base of detectors that score features; features may be given directly instead of inputs."""

    @abstractmethod
    def predict_features(self, features: Array) -> Array:
        """Outlier scores (n,) of features (n, d); high means out-of-distribution."""

    def fit_features(self, features: Any, y: Any = None) -> Self:
        """Learn the threshold from features (n, d) of training rows; labels `y` are ignored."""
        self.training_scores_ = scores_of(self.predict_features, features, "training set")
        return self


def required_scores(detector: Detector, scores: FloatArray | None) -> FloatArray:
    """The given training scores of a detector; raises InputError if None, before the fit."""
    if scores is None:
        raise InputError(
            f"This {type(detector).__name__} has no threshold because it has seen no training "
            "rows; call fit(loader) first."
        )
    return scores


def _margin(thresholds: Thresholds, scores: Array, leverage: Array | None) -> Array:
    """Distance (n,) below the thresholds; negative exactly for rows that are not trusted."""
    xp = array_namespace(scores)
    # an infinite score is an outlier even if the limit itself is infinite
    margin = xp.where(xp.isinf(scores), -xp.abs(scores), thresholds.regret - scores)
    if leverage is None:
        return margin
    limit = max(thresholds.leverage, 0.0)  # −inf only if no regret passes either
    excess = xp.where(leverage <= limit, xp.zeros_like(leverage), leverage - limit)
    by_regret = (leverage <= limit) | (margin < 0)
    return xp.where(by_regret, margin, -xp.log1p(excess / (1 + limit)))
