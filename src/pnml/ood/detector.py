"""What every detector answers, whatever its score is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from array_api_compat import array_namespace

from pnml.core.arrays import Array, FloatArray
from pnml.core.trust import DEFAULT_LEVEL, Reference, Thresholds, check_level
from pnml.errors import InputError


class Detector(ABC):
    """Outlier scores of inputs, and a verdict on them from training rows alone.

    Two conventions meet here. `predict` is that of the detectors of pytorch-ood: a score that is
    **high for outliers**. `score_samples` and `decision_function` are those of scikit-learn: high
    for ordinary rows, and 0 or more for those that the threshold lets pass. What ``predict`` is in
    scikit-learn, a verdict for each row, is `trusted` here.

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
        """Scores of training rows, with leverages where these have a say."""

    def _score_and_leverage(self, x: Any) -> tuple[Array, Array | None]:
        """Outlier scores (n,) and leverages (n,) of inputs; None if the score alone decides."""
        return self.predict(x), None

    def score_samples(self, x: Any) -> Array:
        """How ordinary inputs are: high means in-distribution, as in scikit-learn."""
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
        """Whether inputs are as ordinary as this share of the training rows."""
        level = check_level(level, of="training scores")
        scores, leverage = self._score_and_leverage(x)
        trusted: Array = self._thresholds(level).trusts(scores, leverage)
        return trusted

    def threshold(self, level: Any = DEFAULT_LEVEL) -> float:
        """Score that this share of the training rows does not pass. Eq. (O1)."""
        return self._thresholds(check_level(level, of="training scores")).regret

    def _thresholds(self, level: float) -> Thresholds:
        return self._reference().thresholds(level)


def _margin(thresholds: Thresholds, scores: Array, leverage: Array | None) -> Array:
    """Distance (n,) to the threshold; negative exactly where a row is not trusted."""
    xp = array_namespace(scores)
    # an infinite score is an outlier also where the limit itself is infinite
    margin = xp.where(xp.isinf(scores), -xp.abs(scores), thresholds.regret - scores)
    if leverage is None:
        return margin
    limit = max(thresholds.leverage, 0.0)  # −inf only where the regret lets no row pass either
    excess = xp.where(leverage > limit, leverage - limit, xp.zeros_like(leverage))
    return xp.where(leverage <= limit, margin, xp.minimum(margin, -xp.log1p(excess / (1 + limit))))


def required_scores(detector: Detector, scores: FloatArray | None) -> FloatArray:
    """The training scores; raises where there are none yet."""
    if scores is None:
        raise InputError(
            f"This {type(detector).__name__} has no threshold because it has seen no training "
            "rows; call fit(loader) first."
        )
    return scores
