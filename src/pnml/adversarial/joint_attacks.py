"""Attacks on a defence with a detector: misclassified, with a regret below the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from pnml.adversarial.apgd_ascent import auto_pgd
from pnml.adversarial.attack_losses import Loss, label_margin, margin
from pnml.adversarial.attack_problem import AttackProblem, Margin, scores_of
from pnml.adversarial.checks import check_count
from pnml.adversarial.defence import Defence
from pnml.adversarial.gradient_attacks import targets_of
from pnml.errors import InputError
from pnml.runtime.checks import is_number


@dataclass(frozen=True)
class JointAttackResult:
    """Result of a joint attack: the inputs it made, and which of them are wrong and undetected.

    >>> from pnml.adversarial import AdversarialPNML
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> result = joint_attack(defence, torch.tensor([[0.7, 0.5]]), [0], 0.2, 0.5, steps=10)
    >>> result.wrong, result.hidden, result.accuracy
    (tensor([True]), tensor([True]), 0.0)
    """

    inputs: Tensor  # (n, ...)
    wrong: Tensor  # (n,)  bool
    regret: Tensor  # (n,)  nats
    hidden: Tensor  # (n,)  bool: wrong, with a regret of at most the threshold

    @property
    def accuracy(self) -> float:
        """Share of the inputs that are classified correctly or detected."""
        return float((~self.hidden).double().mean())


def joint_attack(
    defence: Defence,
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
) -> JointAttackResult:
    """Joint attack: misclassified inputs whose regret stays below a threshold. Eq. (E11).

    Auto-PGD towards every other label, with a penalty on the regret above the threshold; a row
    stops once it is both misclassified and below the threshold. The regret comes from the scores,
    so it needs no extra pass.

    Parameters
    ----------
    defence : AdversarialPNML or AveragedPNML
    x, labels, radius, steps, restarts, targets, seed, rows_at_once
        As in `targeted_apgd`.
    threshold : float
        Nats above which an input is rejected; infinity asks for misclassification only.
    weight : float, default=1.0
        Penalty of a nat above the threshold, in nats of margin.

    Examples
    --------
    >>> from pnml.adversarial import AdversarialPNML
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> x = torch.tensor([[0.7, 0.5]])
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> [joint_attack(defence, x, [0], 0.2, limit, steps=10).hidden for limit in (0.1, 0.5)]
    [tensor([False]), tensor([True])]
    """
    problem = AttackProblem.of(defence, x, labels, radius, defence.bounds, rows_at_once)
    return run_joint_attack(
        problem,
        seed,
        threshold=threshold,
        steps=steps,
        restarts=restarts,
        targets=targets,
        weight=weight,
    )


def run_joint_attack(
    problem: AttackProblem,
    seed: int,
    *,
    threshold: float,
    steps: int,
    restarts: int = 1,
    targets: int | None = None,
    weight: float = 1.0,
) -> JointAttackResult:
    """Result of `joint_attack` for an AttackProblem, whose arguments are checked already."""
    limit, ascent = _nats(threshold), partial(auto_pgd, steps=check_count(steps, "steps"))
    loss, starts = _penalised(limit, _weight(weight)), problem.random_starts(seed)
    target_labels = targets_of(problem, targets, restarts)
    inputs = problem.run(target_labels, starts, loss, ascent, _undetected_margin(limit))
    scores = scores_of(problem.model, inputs, problem.batch_size).double()
    wrong, regret = scores.argmax(dim=1) != problem.labels, scores.logsumexp(dim=1)
    return JointAttackResult(inputs.detach(), wrong, regret, wrong & (regret <= limit))


def _undetected_margin(limit: float) -> Margin:
    """How far a row is from being misclassified and undetected; below 0 if it is. Eq. (E11)."""

    def margin_of(scores: Tensor, labels: Tensor) -> Tensor:
        above = scores.double().logsumexp(dim=1) - limit
        return torch.maximum(label_margin(scores, labels).to(above), above)

    return margin_of


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
