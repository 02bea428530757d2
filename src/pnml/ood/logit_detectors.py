"""Detectors that score logits: MSP, MaxLogit and Energy."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, Self

from array_api_compat import array_namespace

from pnml.core.arrays import Array
from pnml.core.softmax import log_softmax
from pnml.errors import InputError
from pnml.ood.detector import FeatureScoreDetector
from pnml.ood.network_logits import Model, logits_of


class LogitDetector(FeatureScoreDetector):
    """Base of detectors that score logits; logits may be given directly instead of inputs.

    Parameters
    ----------
    model : network or callable, optional
        Computes logits from inputs; not needed if logits are given.
    """

    def __init__(self, model: Model | None = None) -> None:
        self.model = model

    @staticmethod
    @abstractmethod
    def score(logits: Array) -> Array:
        """Outlier scores (n,) of logits (n, C) of C classes; high means out-of-distribution."""

    def predict(self, x: Any) -> Array:
        """Outlier scores (n,) of inputs; high means out-of-distribution."""
        return self.predict_features(logits_of(self.model, x))

    def fit_features(self, logits: Any, y: Any = None) -> Self:
        """Learn the threshold from logits (n, C) of training rows; labels `y` are ignored."""
        return super().fit_features(logits, y)

    def predict_features(self, logits: Array) -> Array:
        """Outlier scores (n,) of logits (n, C), which are the features of this detector."""
        return self.score(logits)


def check_temperature(temperature: Any) -> float:
    """The temperature of a logit detector as a float; raises unless it is finite and above 0."""
    number = float(temperature) if isinstance(temperature, Real) else 0.0
    if not 0 < number < float("inf"):
        raise InputError(
            f"temperature is {temperature!r}, but logits are divided by it; pass a finite number "
            "above 0."
        )
    return number


class MSP(LogitDetector):
    """Detector by logits: one minus the maximum softmax probability. Eq. (O2).

    Computed as the sum over the other classes, so that rows whose maximum rounds to 1 keep their
    order.

    >>> import numpy as np
    >>> MSP().predict_features(np.array([[2.0, 0.0], [0.5, 0.0]])).round(3)
    array([0.119, 0.378])
    """

    @staticmethod
    def score(logits: Array) -> Array:
        """Outlier scores (n,): 1 − largest softmax probability of logits (n, C). Eq. (O2)."""
        log_p = log_softmax(logits)
        xp = array_namespace(log_p)
        first = xp.argmax(log_p, axis=-1)
        classes = xp.arange(log_p.shape[-1], device=getattr(log_p, "device", None))
        others = xp.where(classes == first[..., None], xp.zeros_like(log_p), xp.exp(log_p))
        return xp.sum(others, axis=-1)


class MaxLogit(LogitDetector):
    """Detector by logits: the negative largest logit. Eq. (O3).

    >>> import numpy as np
    >>> MaxLogit().predict_features(np.array([[2.0, 0.0], [0.5, 0.0]]))
    array([-2. , -0.5])
    """

    @staticmethod
    def score(logits: Array) -> Array:
        """Outlier scores (n,): the negative largest of logits (n, C). Eq. (O3)."""
        xp = array_namespace(logits)
        return -xp.max(xp.astype(logits, xp.float64), axis=-1)


class Energy(LogitDetector):
    """Detector by logits: their free energy. Eq. (O4).

    Parameters
    ----------
    model : network or callable, optional
        Computes logits from inputs; not needed if logits are given.
    temperature : float, default=1
        Logits are divided by it before their log-sum-exp, which is then multiplied by it.

    Examples
    --------
    >>> import numpy as np
    >>> Energy().predict_features(np.array([[2.0, 0.0], [0.5, 0.0]])).round(3)
    array([-2.127, -0.974])
    """

    def __init__(self, model: Model | None = None, *, temperature: float = 1.0) -> None:
        super().__init__(model)
        self.temperature = check_temperature(temperature)

    @staticmethod
    def score(logits: Array, temperature: float = 1.0) -> Array:
        """Outlier scores (n,): −T log Σ exp(z/T) of logits z (n, C) at temperature T. Eq. (O4)."""
        xp = array_namespace(logits)
        z = xp.astype(logits, xp.float64) / temperature
        # log Σ exp z is the largest logit minus its log-probability
        return -temperature * (xp.max(z, axis=-1) - xp.max(log_softmax(z), axis=-1))

    def predict_features(self, logits: Array) -> Array:
        """Outlier scores (n,) of logits (n, C), which are the features of this detector."""
        return self.score(logits, self.temperature)
