"""What every detector answers, whatever its score is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from pnml.core.arrays import Array, FloatArray
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
    def _usual_scores(self) -> FloatArray:
        """Outlier scores of training rows, against which new ones are held."""

    def score_samples(self, x: Any) -> Array:
        """How ordinary inputs are: high means in-distribution, as in scikit-learn."""
        return -self.predict(x)

    def decision_function(self, x: Any, *, level: float = 0.99) -> Array:
        """How far inputs are on the ordinary side of the threshold: 0 or more passes. Eq. (O1)."""
        scores = self.predict(x)
        xp = array_namespace(scores)
        limit = self.threshold(level)
        # an infinite score is an outlier also where the limit itself is infinite
        return xp.where(xp.isinf(scores) & (scores > 0), -scores, limit - scores)

    def trusted(self, x: Any, *, level: float = 0.99) -> Array:
        """Whether inputs are as ordinary as this share of the training rows."""
        return self.decision_function(x, level=level) >= 0

    def threshold(self, level: Any = 0.99) -> float:
        """Score that this share of the training rows does not pass. Eq. (O1)."""
        share = float(level) if isinstance(level, Real) else np.nan
        if not 0 < share <= 1:
            raise InputError(
                f"level is {level!r}, but it is a quantile of the training scores; pass a number "
                "above 0 and at most 1, for instance level=0.99."
            )
        scores = self._usual_scores()
        usual = scores[np.isfinite(scores)]
        return float(np.quantile(usual, share, method="inverted_cdf")) if len(usual) else -np.inf


def required_scores(detector: Detector, scores: FloatArray | None) -> FloatArray:
    """The training scores, or one sentence where there are none yet."""
    if scores is None:
        raise InputError(
            f"This {type(detector).__name__} has no threshold because it has seen no training "
            "rows; call fit(loader) first."
        )
    return scores
