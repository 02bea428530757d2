"""AveragedPNML: a randomised defence with genies averaged over random refinements."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.checks import changed, check_count, check_inputs
from pnml.adversarial.defence import AdversarialPNML
from pnml.errors import InputError
from pnml.runtime.checks import is_number


class AveragedPNML(nn.Module):
    """Defence whose genies are averaged over random refinements of the input.

    Each draw moves the input at random by a share of the strength and refines it by the rest, so
    the total change is at most that of `AdversarialPNML`; the probabilities of a label are
    averaged over the draws, Eq. (E13). Every pass uses new draws, so the gradient of a pass is a
    sample of the expected gradient, which an attack has to follow (EOT).

    Parameters
    ----------
    model : torch.nn.Module
    strength : float
        Largest change of an entry by a draw and its refinement together.
    draws : int, default=8
        Number of refinements to average; the cost is proportional.
    spread : float in [0, 1), default=0.5
        Share of the strength that is used for the random move.
    seed : int, default=0
        Seed of the draws; see `reseed`.
    **settings
        ``steps``, ``step_size``, ``bounds``, ``genie``, ``backward``, ``softness`` and
        ``max_memory`` of `AdversarialPNML`.

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(4 * torch.eye(2))
    >>> defence = AveragedPNML(network, strength=0.1, draws=4)
    >>> x = torch.tensor([[0.8, 0.2]])
    >>> bool((defence(x) == defence(x)).all())
    False
    >>> bool((defence.reseed(1)(x) == defence.reseed(1)(x)).all())
    True
    """

    def __init__(
        self,
        model: nn.Module,
        strength: float,
        draws: int = 8,
        spread: float = 0.5,
        *,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        super().__init__()
        if not is_number(spread, 0.0) or spread >= 1:
            raise InputError(
                f"spread is {spread!r}, but it is the share of the strength that is left to "
                "chance; pass a number from 0 up to, but not including, 1."
            )
        whole = AdversarialPNML(model, strength, **settings)
        self.strength, self.bounds = whole.strength, whole.bounds
        self.refined = whole.with_(strength=(1 - spread) * whole.strength)
        self.settings: dict[str, Any] = {
            **whole.settings,
            "draws": draws,
            "spread": spread,
            "seed": seed,
        }
        self.draws, self.spread = check_count(draws, "draws"), float(spread)
        self.reseed(seed)

    is_random = True

    @property
    def model(self) -> nn.Module:
        """The network that is defended, without the defence."""
        return self.refined.model

    def forward(self, x: Tensor) -> Tensor:
        """Log genie scores (n, C), averaged over new random draws, not normalised. Eq. (E13).

        The score of a label is the log of its mean genie probability; the softmax of scores is
        `probs`.
        """
        jittered = self._jittered(check_inputs(x, self.bounds))
        scores: Tensor = self.refined(jittered.flatten(0, 1))
        per_draw = scores.double().view(self.draws, len(x), -1)
        return (per_draw.logsumexp(dim=0) - math.log(self.draws)).to(scores)

    def probs(self, x: Tensor) -> Tensor:
        """The pNML probabilities (n, C) of the labels. Eq. (E5)."""
        return self.forward(x).softmax(dim=1)

    def regret(self, x: Tensor) -> Tensor:
        """Regret (n,) of inputs in nats: log of the sum of mean genie probabilities. Eq. (E5)."""
        return self.forward(x).logsumexp(dim=1)

    def scores_and_regret(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Log genie scores (n, C) of `forward` and regrets (n,) of `regret`, from one pass."""
        scores = self.forward(x)
        return scores, scores.logsumexp(dim=1)

    def reseed(self, seed: int) -> AveragedPNML:
        """Restart the random numbers, the same for the same seed, and return the defence."""
        self._generator = torch.Generator().manual_seed(int(seed))
        return self

    def with_(self, **changes: Any) -> AveragedPNML:
        """New defence of the same network (not a copy), with some settings changed."""
        other = AveragedPNML(self.model, **changed(self.settings, changes))
        other.refined._probes = self.refined._probes  # one network needs the same memory in both
        return other

    def extra_repr(self) -> str:
        """Text of the settings, which PyTorch shows when the module is printed."""
        return f"strength={self.strength:g}, draws={self.draws}, spread={self.spread:g}"

    def _jittered(self, x: Tensor) -> Tensor:
        """The inputs moved at random, (draws, n, ...), within the range."""
        reach, shape = self.spread * self.strength, (self.draws, *x.shape)
        noise = torch.empty(shape).uniform_(-reach, reach, generator=self._generator)
        near = (x + noise.to(x)).clamp(*self.bounds)
        if self.settings["backward"] == "identity":
            return x + (near - x).detach()
        return near
