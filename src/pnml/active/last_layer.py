"""Models from the last layer: weights sampled around the trained ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pnml.active.network_ensemble import NetworkSamples, Pass
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn import LastLayerPNML
from pnml.runtime.checks import check_positive

# The covariance is 2P, from the bound Λ ⪯ ½I on the curvature of the softmax. Eq. (I12).
_SPREAD = float(np.sqrt(2.0))


class LastLayerSamples(NetworkSamples):
    """Function from inputs to log-probabilities by n random last layers of a network. Eq. (I12).

    The weights are Gaussian around the trained ones, with little spread along frequent training
    features and much spread along features that training lacked. The standard deviation of a row's
    logits is proportional to the root of its leverage. No dropout is needed, and the network runs
    once.

    Parameters
    ----------
    model : LastLayerPNML
        A network with pNML on its last layer, fitted to its training inputs.
    n : int, default=100
        Number of models.
    temperature : float, default=1.0
        Logits are divided by it.
    seed : int, default=0
        Seed of the weights.
    spread : float, default=√2
        Standard deviation of a logit, in units of the root of the leverage.
    alpha : float, optional
        Ridge penalty, or prior precision; by default that of the model.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> models = LastLayerSamples(LastLayerPNML(net).fit(torch.randn(99, 4)), n=20)
    >>> models(torch.randn(7, 4)).shape
    (20, 7, 3)
    """

    model: LastLayerPNML

    def __init__(
        self,
        model: Any,
        n: int = 100,
        temperature: float = 1.0,
        seed: int = 0,
        *,
        spread: float = _SPREAD,
        alpha: float | None = None,
    ) -> None:
        if not isinstance(model, LastLayerPNML):
            raise InputError(
                f"The model is a {type(model).__name__}, but a covariance of the last layer is "
                "needed; pass LastLayerPNML(network).fit(loader)."
            )
        super().__init__(model, n, temperature, seed)
        self.spread = check_positive("spread", spread)
        self.alpha = None if alpha is None else check_positive("alpha", alpha)

    @contextmanager
    def _passes(self) -> Iterator[Pass]:
        root = self._root()
        outputs: dict[str, Tensor] = {}

        def run(m: int, x: Any) -> Tensor:
            if m == 0:  # the network itself runs once for each batch
                out = self.model(x)
                outputs["logits"] = out.logits.double()
                outputs["whitened"] = self._whitened(out.features, root)
            logits = outputs["logits"]
            if logits.ndim != 2:
                return logits
            noise = torch.from_numpy(self._noise(m, len(root[0]), logits.shape[1]))
            return logits + outputs["whitened"] @ noise.to(logits.device)

        yield run

    def _noise(self, m: int, width: int, classes: int) -> FloatArray:
        rng = np.random.default_rng([self.seed, m])
        return self.spread * rng.standard_normal((width, classes))

    def _whitened(self, features: Tensor, root: FloatArray) -> Tensor:
        """Features (B, w) in coordinates whose squares sum to the leverage."""
        counted = self.model.statistic.counted
        size = np.sqrt(counted.energy / counted.rows) if counted.form.normalize else 1.0
        rows = features.double() / (size or 1.0)
        if counted.form.bias:
            rows = torch.cat([rows, torch.ones_like(rows[:, :1])], dim=1)
        return rows @ torch.from_numpy(root).to(rows.device)

    def _root(self) -> FloatArray:
        """Root (w, w) of the inverse of XᵀX + αI, with X the training features, α the penalty."""
        alpha = self.model.alpha_ if self.alpha is None else self.alpha
        h2, V = np.linalg.eigh(self.model.statistic.counted.feature_moments)
        if alpha == 0 and h2[0] <= len(h2) * np.finfo(float).eps * h2[-1]:
            raise InputError(
                "The penalty is 0 and the training features lack directions, in which the last "
                "layer could be anything; pass alpha > 0."
            )
        root: FloatArray = V / np.sqrt(np.maximum(h2, 0.0) + alpha)
        return root
