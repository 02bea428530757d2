"""GEN: the generalised entropy of the most probable classes."""

from __future__ import annotations

from array_api_compat import array_namespace

from pnml.core.arrays import Array
from pnml.core.softmax import log_softmax
from pnml.errors import InputError
from pnml.ood.logit_detectors import LogitDetector
from pnml.ood.network_logits import Model
from pnml.runtime.checks import check_whole, is_share


class GEN(LogitDetector):
    """Detector by logits: generalised entropy of the most probable classes. Eq. (O25).

    Liu et al. 2023. A small exponent makes small probabilities count. Needs no fit and no labels.

    Parameters
    ----------
    model : network or callable, optional
        Computes logits from inputs; not needed if logits are given.
    gamma : float in (0, 1), default=0.1
        Exponent of the probabilities.
    top : int, default=100
        How many of the most probable classes count; all if there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> GEN().predict_features(np.array([[9.0, 0.0, 0.0], [0.5, 0.0, 0.0]])).round(3)
    array([1.249, 2.572])
    """

    def __init__(self, model: Model | None = None, *, gamma: float = 0.1, top: int = 100) -> None:
        super().__init__(model)
        if not is_share(gamma):
            raise InputError(
                f"gamma is {gamma!r}, but it is the exponent of probabilities; pass a number above "
                "0 and below 1, for instance gamma=0.1."
            )
        self.gamma = float(gamma)
        self.top = check_whole("top", top, 1)

    @staticmethod
    def score(logits: Array, gamma: float = 0.1, top: int = 100) -> Array:
        """Outlier scores (n,): sum of p^γ (1 − p)^γ over the most probable classes. Eq. (O25).

        p is the softmax of logits (n, C), γ is `gamma`, and the `top` most probable classes count.
        """
        log_p = log_softmax(logits)
        xp = array_namespace(log_p)
        if log_p.shape[-1] < 2:
            return xp.zeros_like(log_p[..., 0])
        rising = xp.sort(log_p, axis=-1)
        others, second = rising[..., :-1], rising[..., -2:-1]
        # 1 − p of the first class from the other classes: it keeps its digits where p is near 1
        first = second + xp.log(xp.sum(xp.exp(others - second), axis=-1, keepdims=True))
        log_rest = xp.concat([xp.log1p(-xp.exp(others)), first], axis=-1)
        return xp.sum(xp.exp(gamma * (rising + log_rest)[..., -top:]), axis=-1)

    def predict_features(self, logits: Array) -> Array:
        """Outlier scores (n,) of logits (n, C), which are the features of this detector."""
        return self.score(logits, self.gamma, self.top)
