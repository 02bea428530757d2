"""Accuracy against abstention, with an attacker who knows that high regrets are rejected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pnml.adversarial.attack_problem import AttackProblem, is_random, scores_of
from pnml.adversarial.attack_result import AttackResult
from pnml.adversarial.checks import check_inputs
from pnml.adversarial.defence import Defence
from pnml.adversarial.joint_attacks import run_joint_attack
from pnml.adversarial.robustness_intervals import BoolArray, share_held
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.metrics.bootstrap import Estimate
from pnml.runtime.checks import is_number

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class AbstentionCurve:
    """Accuracy of a defence that rejects inputs of high regret, at each threshold. Eq. (E12).

    Arrays are over n rows and k thresholds on the regret.

    >>> from pnml.adversarial import AdversarialPNML
    >>> defence, x = AdversarialPNML(torch.nn.Identity(), 0.1), torch.eye(2)
    >>> curve = abstention_curve(defence, x, [0, 1], 0.2, abstain=[0.0], steps=2)
    >>> curve.rows()[0]["clean_accuracy"], curve.rows()[0]["robust"]
    (1.0, 1.0)
    """

    abstain: FloatArray  # (k,)  share of ordinary inputs to reject
    threshold: FloatArray  # (k,)  nats
    clean_accepted: FloatArray  # (k,)  share of the clean rows
    clean_accuracy: FloatArray  # (k,)  share that is correct and accepted
    robust: tuple[Estimate, ...]  # (k,)  share that is correct and accepted under attack
    hidden: BoolArray  # (n, k)  misclassified by an attack without being rejected
    held: BoolArray  # (n, k)  the rows that `robust` counts
    inputs: Tensor  # (n, ...)  misclassified input of least regret for each row

    def rows(self) -> list[dict[str, float]]:
        """The curve as a list of dicts, one for each threshold.

        Keys are abstain, threshold (nats), clean_accepted, clean_accuracy, robust, robust_low and
        robust_high.
        """
        return [
            {
                "abstain": float(self.abstain[i]),
                "threshold": float(self.threshold[i]),
                "clean_accepted": float(self.clean_accepted[i]),
                "clean_accuracy": float(self.clean_accuracy[i]),
                "robust": robust.value,
                "robust_low": robust.low,
                "robust_high": robust.high,
            }
            for i, robust in enumerate(self.robust)
        ]

    def table(self) -> str:
        """Text of a Markdown table with a line for each threshold, in per cent."""
        lines = [
            "| refused, clean | threshold (nats) | right and accepted | so under attack |",
            "|---|---|---|---|",
        ]
        for row in self.rows():
            ends = f"[{100 * row['robust_low']:.1f}, {100 * row['robust_high']:.1f}]"
            lines.append(
                f"| {100 * (1 - row['clean_accepted']):.1f} | {row['threshold']:.3g} "
                f"| {100 * row['clean_accuracy']:.1f} | {100 * row['robust']:.1f} {ends} |"
            )
        return "\n".join(lines)


def abstention_curve(
    defence: Defence,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    abstain: Sequence[float] = SHARES,
    reference: Tensor | None = None,
    already: Sequence[AttackResult | Tensor] = (),
    steps: int = 50,
    restarts: int = 1,
    targets: int | None = None,
    weight: float = 1.0,
    seed: int = 0,
    rows_at_once: int = 256,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> AbstentionCurve:
    """Accuracy of a defence that rejects high regrets, if the attacker knows it. Eq. (E12).

    The strictest threshold is attacked first; a row that is misclassified and accepted there is so
    at all other thresholds, and only the other rows are attacked again. A rejected clean input
    counts as an error.

    Parameters
    ----------
    defence : AdversarialPNML or AveragedPNML
    x, labels, radius, steps, restarts, targets, weight, seed, rows_at_once
        As in `joint_attack`.
    abstain : sequence of float
        Shares of ordinary inputs to reject; the thresholds are quantiles of their regret.
    reference : tensor of shape (m, ...), optional
        The ordinary inputs; x by default, but other inputs give a fairer threshold.
    already : sequence of AttackResult or tensors of shape (n, ...)
        Results of other attacks on x, which are evaluated too.
    confidence, resamples
        Coverage of the intervals, and number of bootstrap samples.

    Examples
    --------
    >>> from pnml.adversarial import AdversarialPNML
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.7, 0.5]])
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> curve = abstention_curve(defence, x, [0, 1, 0], 0.2, abstain=(0.0, 0.4), steps=5)
    >>> [round(share.value, 2) for share in curve.robust]
    [0.67, 0.67]
    """
    problem = AttackProblem.of(defence, x, labels, radius, defence.bounds, rows_at_once)
    clean = problem.scores
    if reference is not None:
        ordinary = check_inputs(reference, defence.bounds)
        clean = scores_of(problem.model, ordinary, problem.batch_size)
    elif is_random(problem.model):
        clean = scores_of(problem.model, problem.x, problem.batch_size)

    def attack(rows: Tensor, threshold: float) -> Tensor:
        return run_joint_attack(
            problem.part(rows, problem.model),
            seed,
            threshold=threshold,
            steps=steps,
            restarts=restarts,
            targets=targets,
            weight=weight,
        ).inputs

    tensors: list[Any] = [getattr(result, "inputs", result) for result in already]
    bootstrap = {"confidence": confidence, "resamples": resamples, "seed": seed}
    return curve_of(problem, clean, shares_of(abstain), tensors, attack, bootstrap)


def curve_of(
    problem: AttackProblem,
    ordinary_scores: Tensor,
    shares: FloatArray,
    already: Sequence[Tensor],
    attack: Callable[[Tensor, float], Tensor],
    bootstrap: dict[str, Any],
) -> AbstentionCurve:
    """The abstention curve of a problem, given scores (m, C) of ordinary inputs and an attack.

    `shares` (k,) are the shares of ordinary inputs to reject, which set the thresholds; `already`
    are results (n, ...) of other attacks. `attack` takes indices of rows and a threshold in nats,
    and gives attacked inputs of these rows. `bootstrap` are the keyword arguments of `share_held`.
    """
    clean, usual = _regrets(problem.scores), _regrets(ordinary_scores)
    limits = np.quantile(usual, 1 - shares)
    correct = (problem.scores.argmax(dim=1) == problem.labels).cpu().numpy()
    best, device = _LeastRegret(problem), problem.x.device
    for inputs in already:
        best.add(torch.arange(len(problem.x), device=device), inputs)
    for limit in np.sort(limits):
        # rows that are rejected or misclassified without an attack need none
        intact = torch.from_numpy(correct & (clean <= limit)).to(device)
        rows = (intact & (best.regret > limit)).nonzero()[:, 0]
        if len(rows):
            best.add(rows, attack(rows, float(limit)))
    accepted = clean[:, None] <= limits  # (n, k)
    kept = accepted & correct[:, None]
    hidden = best.regret.cpu().numpy()[:, None] <= limits
    held = kept & ~hidden
    robust = tuple(share_held(column, **bootstrap) for column in held.T)
    means = accepted.mean(axis=0), kept.mean(axis=0)
    return AbstentionCurve(shares, limits, *means, robust, hidden, held, best.inputs)


class _LeastRegret:
    """For each row, the misclassified input with the least regret so far."""

    def __init__(self, problem: AttackProblem) -> None:
        self.problem, self.inputs = problem, problem.x.clone()
        self.regret = torch.full((len(problem.x),), torch.inf, device=problem.x.device).double()

    def add(self, rows: Tensor, inputs: Tensor) -> None:
        """Evaluate inputs (k, ...) made from some rows (k,)."""
        scores = scores_of(self.problem.model, inputs, self.problem.batch_size).double()
        wrong = scores.argmax(dim=1) != self.problem.labels[rows]
        regret = torch.where(wrong, scores.logsumexp(dim=1), torch.inf)
        less = regret < self.regret[rows]
        self.inputs[rows[less]] = inputs[less].to(self.inputs)
        self.regret[rows[less]] = regret[less]


def _regrets(scores: Tensor) -> FloatArray:
    regrets: FloatArray = scores.double().logsumexp(dim=1).cpu().numpy()
    return regrets


def shares_of(abstain: Any) -> FloatArray:
    """Shares of inputs to reject as an array (k,); raises InputError unless all are in [0, 1)."""
    given: list[Any] = list(abstain) if isinstance(abstain, Sequence | np.ndarray) else [None]
    if not given or not all(is_number(share, 0.0) and share < 1 for share in given):
        raise InputError(
            f"abstain is {abstain!r}, but it holds shares of inputs to refuse; pass numbers from 0 "
            "up to, but not including, 1."
        )
    return np.array(given, dtype=float)
