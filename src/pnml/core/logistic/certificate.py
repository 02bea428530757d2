"""Error bounds on a genie's probability, relative to the exact refit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.logistic.preconditioner import hessian
from pnml.core.logistic.training import Objective

# On the way to the genie, a quarter of the curvature at the training optimum is assumed.
_SAFETY = 4.0


@dataclass(frozen=True)
class Curvature:
    """Lower bounds on the curvature of the logistic loss, along features and along intercepts.

    They bound how far a probability is from that of the exact refit.
    """

    features: float
    intercepts: float
    proven: bool  # everywhere, and not only near the training optimum

    @classmethod
    def of(cls, objective: Objective) -> Curvature:
        """The bounds for an objective around its weights. Eq. (H7).

        They come from the ℓ2 penalty for features and from the Hessian for intercepts; without a
        penalty from the Hessian alone.
        """
        training = objective.training
        alpha = float(training.penalty[0])
        if alpha == 0.0:
            least = float(np.linalg.eigvalsh(hessian(objective))[0]) / _SAFETY
            return cls(max(least, 0.0), max(least, 0.0), False)
        if not training.intercept:
            return cls(alpha, np.inf, True)
        return cls(alpha, _intercept_curvature(objective) / _SAFETY, False)

    def doubt(self, gradients: FloatArray, intercept: bool) -> FloatArray:
        """Bound (P,) on |arcsin √p − arcsin √p*|, p a probability in each problem. Eq. (H6).

        p* is the probability after the exact fit, and `gradients` (P, C, M) are those of the loss
        at the weights behind p, with C classes and M columns. `intercept`: the last column is that
        of the intercepts.
        """
        squares = np.einsum("pcm,pcm->pm", gradients, gradients)
        if intercept:
            along = squares[:, :-1].sum(axis=1), squares[:, -1]
        else:
            along = squares.sum(axis=1), np.zeros(len(squares))
        with np.errstate(divide="ignore", invalid="ignore"):
            total = along[0] / self.features + np.where(
                along[1] > 0, along[1] / self.intercepts, 0.0
            )
        return np.asarray(0.25 * np.sqrt(np.where(np.isnan(total), np.inf, total)))


def probability_error(log_p: FloatArray, doubt: FloatArray) -> FloatArray:
    """Largest error of a probability whose arcsin √p is known up to `doubt`. Eq. (H6).

    `log_p` is the log of the probability; all arrays have one shape.

    >>> probability_error(np.log([0.5, 1e-6]), np.array([1e-4, 1e-4])).round(7)
    array([1.e-04, 2.e-07])
    """
    root = np.arcsin(np.sqrt(np.exp(np.minimum(log_p, 0.0))))
    p = np.sin(root) ** 2
    up = np.sin(np.minimum(root + doubt, np.pi / 2)) ** 2 - p
    down = p - np.sin(np.maximum(root - doubt, 0.0)) ** 2
    return np.asarray(np.maximum(up, down))


def _intercept_curvature(objective: Objective) -> float:
    """Smallest curvature of the intercepts, apart from a common shift."""
    p = np.exp(objective.log_prob)
    S = np.diag(p @ objective.training.weights) - (p * objective.training.weights) @ p.T
    C = len(S)
    return max(float(np.linalg.eigvalsh(S + np.trace(S) * np.ones((C, C)) / C)[0]), 0.0)
