"""An attacker who knows the detector: wrong, and with a regret that raises no suspicion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from pnml.adversarial.apgd import climb
from pnml.adversarial.attack_problem import Hunt, Lead
from pnml.adversarial.averaged import AveragedPNML
from pnml.adversarial.checks import check_count, is_number
from pnml.adversarial.defence import AdversarialPNML
from pnml.adversarial.losses import Loss, lead, margin
from pnml.errors import InputError


@dataclass(frozen=True)
class JointlyAttacked:
    """Inputs made to be wrong without being noticed, and what became of them.

    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> found = joint_attack(defence, torch.tensor([[0.7, 0.5]]), [0], 0.2, 0.5, steps=10)
    >>> found.wrong, found.hidden, found.accuracy
    (tensor([True]), tensor([True]), 0.0)
    """

    inputs: Tensor  # (n, ...)
    wrong: Tensor  # (n,)  bool
    regret: Tensor  # (n,)  nats
    hidden: Tensor  # (n,)  bool: wrong, and the regret is no higher than the threshold

    @property
    def accuracy(self) -> float:
        """Share of the inputs that are right or noticed."""
        return float((~self.hidden).double().mean())


def joint_attack(
    defence: AdversarialPNML | AveragedPNML,
    x: Tensor,
    labels: Any,
    radius: float,
    threshold: float,
    *,
    steps: int = 100,
    restarts: int = 1,
    targets: int | None = None,
    weight: float = 1.0,
    seed: int = 0,
    rows_at_once: int = 256,
) -> JointlyAttacked:
    """Inputs within a radius that are wrong and whose regret stays below a threshold. Eq. (E11).

    Auto-PGD towards every other label, with a penalty on the regret above the threshold; a row
    is done when it is both. The regret is that of the scores, so it costs no pass of its own.

    Parameters
    ----------
    defence : AdversarialPNML or AveragedPNML
    x, labels, radius, steps, restarts, targets, seed, rows_at_once
        As in `targeted_apgd`.
    threshold : float
        Nats above which an input is refused; infinity asks for a wrong label only.
    weight : float, default=1.0
        What a nat above the threshold costs in nats of margin.

    Examples
    --------
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> x = torch.tensor([[0.7, 0.5]])
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> [joint_attack(defence, x, [0], 0.2, limit, steps=10).hidden for limit in (0.1, 0.5)]
    [tensor([False]), tensor([True])]
    """
    limit, price = _nats(threshold), _weight(weight)
    turns, tries = check_count(steps, "steps"), check_count(restarts, "restarts")
    few = None if targets is None else check_count(targets, "targets")
    hunt = Hunt.of(defence, x, labels, radius, defence.bounds, rows_at_once)
    aims = hunt.others[:, :few].repeat(1, tries).unbind(dim=1)
    starts, ascent = hunt.random_starts(seed), partial(climb, steps=turns)
    found = hunt.run(aims, starts, _penalised(limit, price), ascent, unnoticed_lead(limit))
    return judged(defence, found, hunt.labels, limit, hunt.width)


def judged(
    defence: AdversarialPNML | AveragedPNML,
    inputs: Tensor,
    labels: Tensor,
    limit: float,
    width: int,
) -> JointlyAttacked:
    """What a defence with a threshold makes of inputs."""
    with torch.no_grad():
        scores = torch.cat([defence(rows) for rows in torch.split(inputs, width)]).double()
    wrong, regret = scores.argmax(dim=1) != labels, scores.logsumexp(dim=1)
    return JointlyAttacked(inputs.detach(), wrong, regret, wrong & (regret <= limit))


def unnoticed_lead(limit: float) -> Lead:
    """How far a row is from being wrong and unnoticed; below 0 where it is both. Eq. (E11)."""

    def led(scores: Tensor, labels: Tensor) -> Tensor:
        above = scores.double().logsumexp(dim=1) - limit
        return torch.maximum(lead(scores, labels).to(above), above)

    return led


def _penalised(limit: float, weight: float) -> Loss:
    def loss(scores: Tensor, labels: Tensor, targets: Tensor) -> Tensor:
        above = (scores.double().logsumexp(dim=1) - limit).relu()
        return margin(scores, labels, targets) - weight * above

    return loss


def _nats(threshold: Any) -> float:
    if threshold == torch.inf or is_number(threshold, -torch.inf):
        return float(threshold)
    raise InputError(f"threshold is {threshold!r}; pass the nats above which inputs are refused.")


def _weight(weight: Any) -> float:
    if is_number(weight, 0.0):
        return float(weight)
    raise InputError(f"weight is {weight!r}; pass a number of at least 0.")
