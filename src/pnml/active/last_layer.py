"""Models from the last layer alone: its weights drawn around those that were trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pnml.active.checks import check_count, check_positive, check_seed
from pnml.active.network_ensemble import DEFAULT_BATCH, batches, log_probs
from pnml.active.progress import Progress
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn import LastLayerPNML

# Covariance 2P is what the bound Λ ⪯ ½I on the curvature of the softmax leaves. Eq. (I12).
_SPREAD = float(np.sqrt(2.0))


class LastLayerSamples:
    """Log-probabilities by n networks that differ in the weights of the last layer. Eq. (I12).

    The weights are Gaussian around the trained ones: little is changed along features that
    training had many of, much along those it had none of. A row's logits then vary in proportion
    to the root of its leverage. No dropout is needed, and the network runs once.

    Parameters
    ----------
    model : LastLayerPNML
        A network with pNML on its last layer, fitted to its training inputs.
    n : int, default=100
        How many models.
    temperature : float, default=1.0
        Logits are divided by it.
    seed : int, default=0
        Which models.
    spread : float, default=√2
        Standard deviation of a logit, in units of the root of the leverage.
    alpha : float, optional
        Penalty, or prior precision; that of the model by default.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    >>> models = LastLayerSamples(LastLayerPNML(net).fit(torch.randn(99, 4)), n=20)
    >>> models(torch.randn(7, 4)).shape
    (20, 7, 3)
    """

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
        self.model = model
        self.n = check_count("n", n)
        self.temperature = check_positive("temperature", temperature)
        self.seed = check_seed(seed)
        self.spread = check_positive("spread", spread)
        self.alpha = None if alpha is None else check_positive("alpha", alpha)

    def __call__(
        self, inputs: Any, *, batch_size: int = DEFAULT_BATCH, progress: Progress = False
    ) -> FloatArray:
        """Log-probabilities (n, N, C) of inputs: an array or tensor, or a loader of batches."""
        parts = batches(inputs, check_count("batch_size", batch_size))
        root = self._root()
        seen: dict[str, Any] = {}

        def run(m: int, given: Any) -> Tensor:
            if m == 0:  # the network itself runs once for each batch
                out = self.model(given)
                seen["logits"] = out.logits.double()
                seen["white"] = self._white(out.features, root)
            logits: Tensor = seen["logits"]
            if logits.ndim != 2:
                return logits
            drawn = self._drawn(m, len(root[0]), logits.shape[1])
            moved: Tensor = seen["white"] @ torch.from_numpy(drawn).to(logits.device)
            return logits + moved

        return log_probs(run, self.model, self.n, parts, self.temperature, progress)

    def _drawn(self, m: int, width: int, classes: int) -> FloatArray:
        rng = np.random.default_rng([self.seed, m])
        return self.spread * rng.standard_normal((width, classes))

    def _white(self, features: Tensor, root: FloatArray) -> Tensor:
        """Features in coordinates whose squares add up to their leverage, (B, w)."""
        counted = self.model.statistic.counted
        size = np.sqrt(counted.energy / counted.rows) if counted.form.normalize else 1.0
        rows = features.double() / (size or 1.0)
        if counted.form.bias:
            rows = torch.cat([rows, torch.ones_like(rows[:, :1])], dim=1)
        return rows @ torch.from_numpy(root).to(rows.device)

    def _root(self) -> FloatArray:
        """Root (w, w) of the inverse of XᵀX + αI."""
        alpha = self.model.alpha_ if self.alpha is None else self.alpha
        h2, V = np.linalg.eigh(self.model.statistic.counted.xx)
        if alpha == 0 and h2[0] <= len(h2) * np.finfo(float).eps * h2[-1]:
            raise InputError(
                "The penalty is 0 and the training features lack directions, in which the last "
                "layer could be anything; pass alpha > 0."
            )
        root: FloatArray = V / np.sqrt(np.maximum(h2, 0.0) + alpha)
        return root
