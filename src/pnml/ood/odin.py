"""ODIN: softmax at a high temperature after a small step of the input towards its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from pnml.core.arrays import Array
from pnml.errors import InputError
from pnml.metrics.ranking import Ranking
from pnml.ood.detector import ScoreDetector
from pnml.ood.logit_detectors import MSP, check_temperature
from pnml.ood.network_logits import (
    Model,
    as_input,
    batches,
    is_module,
    logits_of,
    raw_logits,
    scores_of,
)

# Steps to try, in units of the image before normalisation.
EPSILONS = (0.0, 0.0005, 0.001, 0.0014, 0.002, 0.0024, 0.005, 0.01)


@dataclass(frozen=True)
class EpsilonChoice:
    """Step length of ODIN chosen on a validation split, and the criterion at each length tried."""

    epsilon: float
    # step → AUROC or, without outliers, mean of largest probability − 1 over ordinary rows
    seen: Mapping[float, float]


class ODIN(ScoreDetector):
    """ODIN detector: softmax at a high temperature, after a small step of each input.

    Eq. (O5). The step makes the predicted class more probable, more so for ordinary inputs than for
    outliers. Inputs must be images or other numbers with a gradient.

    Parameters
    ----------
    model : network of PyTorch
    temperature : float, default=1000
        Logits are divided by it.
    epsilon : float, default=0.0014
        Length of the step; `tuned` chooses it on a validation split.
    std : sequence of float, optional
        Divisors of the channels in normalised images; the step is divided by them too.

    Examples
    --------
    >>> import torch
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(torch.eye(2))
    >>> detector = ODIN(network, temperature=1.0, epsilon=0.1)
    >>> detector.perturb(torch.tensor([[1.0, 0.0]]))
    tensor([[ 1.1000, -0.1000]])
    """

    def __init__(
        self,
        model: Model,
        *,
        temperature: float = 1000.0,
        epsilon: float = 0.0014,
        std: Sequence[float] | None = None,
    ) -> None:
        self.model = model
        self.temperature = check_temperature(temperature)
        self.epsilon = epsilon
        self.std = std
        self.choice_: EpsilonChoice | None = None

    def predict(self, x: Any) -> Array:
        """Outlier scores (n,) of inputs; high means out-of-distribution."""
        return self.score(logits_of(self.model, self.perturb(x)), self.temperature)

    @staticmethod
    def score(logits: Array, temperature: float = 1000.0) -> Array:
        """Outlier scores (n,): 1 − largest softmax of logits (n, C) / temperature. Eq. (O5).

        The logits are those of perturbed inputs.
        """
        return MSP.score(logits / temperature)

    def perturb(self, x: Any) -> Any:
        """The inputs, each entry moved by `epsilon` to make the predicted class more probable.

        With `std`, the move of each channel is divided by it. Gradients of the network's own
        parameters are neither computed nor changed.
        """
        if not is_module(self.model):
            raise InputError(
                f"ODIN needs the gradient of its network, which is a {type(self.model).__name__} "
                "here; pass a network of PyTorch."
            )
        import torch

        from pnml.nn.eval_mode import as_in_use

        inputs = as_input(self.model, x)
        if not getattr(inputs, "is_floating_point", lambda: False)():
            raise InputError(
                "ODIN moves inputs by fractions, but these are no floating-point numbers; pass "
                "normalised images."
            )
        if self.epsilon == 0:
            return x
        with as_in_use([self.model]), torch.inference_mode(False), torch.enable_grad():
            moved = inputs.detach().clone().requires_grad_(True)
            logits = raw_logits(self.model, moved).double() / self.temperature
            own = torch.log_softmax(logits, dim=1).amax(dim=1).sum()
            (gradient,) = torch.autograd.grad(own, moved)
        step = torch.where(gradient <= 0, -1.0, 1.0).to(moved.dtype) / self._units(moved)
        perturbed = moved.detach() + self.epsilon * step
        return perturbed.cpu().numpy() if is_numpy_array(x) else perturbed

    def tuned(self, ind: Any, ood: Any = None, *, epsilons: Sequence[float] = EPSILONS) -> ODIN:
        """New ODIN detector with the step length that is best on a validation split.

        The attribute `choice_` of the new detector has the criterion at every length tried.

        Parameters
        ----------
        ind : loader or inputs
            Ordinary inputs that are not used to evaluate the detector afterwards.
        ood : loader or inputs, optional
            Outliers for validation. The best step has the highest AUROC; without outliers, the
            highest mean softmax over the ordinary inputs, as in generalised ODIN.
        epsilons : sequence of float
            The steps to try. Among equally good ones the smallest is chosen.
        """
        inputs, outliers = list(batches(ind)), None if ood is None else list(batches(ood))
        seen = {}
        for epsilon in sorted(epsilons):
            predict = self._at(float(epsilon)).predict
            usual = -scores_of(predict, inputs, "validation split")
            if outliers is None:
                seen[float(epsilon)] = float(np.mean(usual))
            else:
                strange = -scores_of(predict, outliers, "outliers for validation")
                seen[float(epsilon)] = float(Ranking.of(usual, strange).area()[0])
        if not seen:
            raise InputError("epsilons is empty; pass at least one step, for instance [0.0014].")
        best = max(seen, key=lambda epsilon: seen[epsilon])
        detector = self._at(best)
        detector.choice_ = EpsilonChoice(best, seen)
        return detector

    def _at(self, epsilon: float) -> ODIN:
        return ODIN(self.model, temperature=self.temperature, epsilon=epsilon, std=self.std)

    def _units(self, x: Any) -> Any:
        """Divisors of the step, in a shape that broadcasts over the inputs."""
        if self.std is None:
            return 1.0
        import torch

        if x.ndim < 2 or x.shape[1] != len(self.std):
            raise InputError(
                f"std has {len(self.std)} numbers but the inputs have shape {tuple(x.shape)}; pass "
                "one number for each channel."
            )
        std = torch.as_tensor(self.std, dtype=x.dtype, device=x.device)
        return std.reshape(1, -1, *[1] * (x.ndim - 2))
