"""Probability that a predicted class is wrong, calibrated on rows that the model has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp

from pnml.core.arrays import FloatArray
from pnml.core.conditions import POSITIVE

# Log-odds beyond this are cut: models in float32 give probabilities of exactly 0 and 1.
_MOST_DOUBT = 100.0


@dataclass(frozen=True)
class WrongProbability:
    """Probability that the predicted class is wrong, from the largest class probability.

    Platt scaling: logistic function of offset + slope · log-odds of being wrong. Eq. (T23).
    """

    offset: float
    slope: Annotated[
        float, POSITIVE
    ]  # > 0, so that rows keep the order of their largest probabilities

    @classmethod
    def of(
        cls, log_p: FloatArray, wrong: npt.NDArray[np.bool_], weights: FloatArray
    ) -> WrongProbability:
        """Fit offset and slope by maximum likelihood on rows that the model has not seen.

        `log_p` (n, classes) are the model's log-probabilities, `wrong` (n,) says where its class is
        wrong. Platt's targets, slightly inside 0 and 1, keep the fit finite where no row is wrong.
        """
        doubt = _doubt(log_p)
        total, bad = float(weights.sum()), float(weights @ wrong)
        target = np.where(wrong, (bad + 1) / (bad + 2), 1 / (total - bad + 2))

        def loss(at: FloatArray) -> tuple[float, FloatArray]:
            z = at[0] + at[1] * doubt
            value = -weights @ (target * log_expit(z) + (1 - target) * log_expit(-z)) / total
            pull = weights * (expit(z) - target) / total
            return float(value), np.array([pull.sum(), pull @ doubt])

        bounds = [(None, None), (1e-3, 10.0)]
        found = minimize(loss, np.array([0.0, 1.0]), jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(float(found.x[0]), float(found.x[1]))

    def at(self, log_p: FloatArray) -> FloatArray:
        """Probability (n,) that the most probable class by `log_p` (n, classes) is wrong.

        >>> WrongProbability(0.0, 1.0).at(np.log([[0.9, 0.1]])).round(3)
        array([0.1])
        """
        wrong: FloatArray = expit(self.offset + self.slope * _doubt(log_p))
        return wrong


def _doubt(log_p: FloatArray) -> FloatArray:
    """Log-odds (n,) that the most probable class is wrong, computed without cancellation."""
    best = log_p.argmax(axis=1)[:, None]
    others = log_p.copy()
    np.put_along_axis(others, best, -np.inf, axis=1)
    with np.errstate(divide="ignore"):
        odds = logsumexp(others, axis=1) - np.take_along_axis(log_p, best, axis=1)[:, 0]
    doubt: FloatArray = np.maximum(odds, -_MOST_DOUBT)
    return doubt
