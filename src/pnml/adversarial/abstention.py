"""Accuracy against abstention, where the attacker knows that a high regret is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pnml.adversarial.attacked import Attacked
from pnml.adversarial.averaged import AveragedPNML
from pnml.adversarial.hunting import Hunt, scores_of
from pnml.adversarial.intervals import BoolArray, share_held
from pnml.adversarial.joint import joint_attack
from pnml.adversarial.module import AdversarialPNML
from pnml.adversarial.settings import check_inputs, is_number
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.metrics.bootstrap import Estimate

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class AbstentionCurve:
    """What a defence that refuses high regrets keeps, one entry for each threshold. Eq. (E12).

    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.7, 0.5]])
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> curve = abstention_curve(defence, x, [0, 1, 0], 0.2, abstain=(0.0, 0.4), steps=5)
    >>> [round(row["clean_accuracy"], 2) for row in curve.rows()]
    [1.0, 0.67]
    """

    abstain: FloatArray  # (k,)  share of ordinary inputs that is refused
    threshold: FloatArray  # (k,)  nats
    clean_accepted: FloatArray  # (k,)  share of the clean rows
    clean_accuracy: FloatArray  # (k,)  share that is right and accepted
    robust: tuple[Estimate, ...]  # (k,)  that is so and stays so under attack
    hidden: BoolArray  # (n, k)  an attack made the row wrong without being noticed
    held: BoolArray  # (n, k)  what `robust` counts
    inputs: Tensor  # (n, ...)  of each row the wrong ones with the least regret

    def rows(self) -> list[dict[str, float]]:
        """One record for each threshold, of plain numbers."""
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
        """The curve in Markdown, in per cent."""
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
    defence: AdversarialPNML | AveragedPNML,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    abstain: Sequence[float] = SHARES,
    reference: Tensor | None = None,
    already: Sequence[Attacked | Tensor] = (),
    steps: int = 50,
    restarts: int = 1,
    targets: int | None = None,
    weight: float = 1.0,
    seed: int = 0,
    rows_at_once: int = 256,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> AbstentionCurve:
    """Accuracy of a defence that refuses high regrets, under an attacker who knows. Eq. (E12).

    The strictest threshold is attacked first; a row that is wrong and unnoticed there is so at
    all others, and only the rest is attacked again. A clean input that is refused counts as lost.

    Parameters
    ----------
    defence : AdversarialPNML or AveragedPNML
    x, labels, radius, steps, restarts, targets, weight, seed, rows_at_once
        As in `joint_attack`.
    abstain : sequence of float
        Shares of ordinary inputs to refuse; the thresholds are quantiles of their regret.
    reference : tensor of shape (m, ...), optional
        Those ordinary inputs; by default x, but other ones are fairer.
    already : sequence of Attacked or tensors of shape (n, ...)
        What other attacks made of x, judged too.
    confidence, resamples
        Coverage of the intervals, and how often rows are drawn again.

    Examples
    --------
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.7, 0.5]])
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> curve = abstention_curve(defence, x, [0, 1, 0], 0.2, abstain=(0.0, 0.4), steps=5)
    >>> [round(share.value, 2) for share in curve.robust]
    [0.67, 0.67]
    """
    hunt = Hunt.of(defence, x, labels, radius, defence.bounds, rows_at_once)
    ordinary = hunt.x if reference is None else check_inputs(reference, defence.bounds)
    again = {"confidence": confidence, "resamples": resamples, "seed": seed}
    settings: dict[str, Any] = {
        "steps": steps,
        "restarts": restarts,
        "targets": targets,
        "weight": weight,
        "seed": seed,
        "rows_at_once": rows_at_once,
    }

    def attack(rows: Tensor, limit: float) -> Tensor:
        return joint_attack(
            defence, hunt.x[rows], hunt.labels[rows], radius, limit, **settings
        ).inputs

    tensors = [other.inputs if isinstance(other, Attacked) else other for other in already]
    return traced(hunt, ordinary, shares_of(abstain), tensors, attack, again)


def traced(
    hunt: Hunt,
    ordinary: Tensor,
    shares: FloatArray,
    already: Sequence[Tensor],
    attack: Callable[[Tensor, float], Tensor],
    again: dict[str, Any],
) -> AbstentionCurve:
    """The curve where an attack makes inputs of some rows for a threshold."""
    clean, usual = (
        _regrets(scores) for scores in (hunt.scores, scores_of(hunt.model, ordinary, hunt.width))
    )
    limits = np.quantile(usual, 1 - shares)
    right = (hunt.scores.argmax(dim=1) == hunt.labels).cpu().numpy()
    best, device = _Found(hunt), hunt.x.device
    for inputs in already:
        best.note(torch.arange(len(hunt.x), device=device), inputs)
    for limit in np.sort(limits):
        # what is refused or wrong without an attack is lost already
        sound = torch.from_numpy(right & (clean <= limit)).to(device)
        rows = (sound & (best.regret > limit)).nonzero()[:, 0]
        if len(rows):
            best.note(rows, attack(rows, float(limit)))
    accepted = clean[:, None] <= limits  # (n, k)
    kept = accepted & right[:, None]
    hidden = best.regret.cpu().numpy()[:, None] <= limits
    held = kept & ~hidden
    robust = tuple(share_held(column, **again) for column in held.T)
    means = accepted.mean(axis=0), kept.mean(axis=0)
    return AbstentionCurve(shares, limits, *means, robust, hidden, held, best.inputs)


class _Found:
    """Of each row the wrong input with the least regret so far."""

    def __init__(self, hunt: Hunt) -> None:
        self.hunt, self.inputs = hunt, hunt.x.clone()
        self.regret = torch.full((len(hunt.x),), torch.inf, device=hunt.x.device).double()

    def note(self, rows: Tensor, inputs: Tensor) -> None:
        """Look at inputs (k, ...) made of some rows (k,)."""
        scores = scores_of(self.hunt.model, inputs, self.hunt.width).double()
        wrong = scores.argmax(dim=1) != self.hunt.labels[rows]
        regret = torch.where(wrong, scores.logsumexp(dim=1), torch.inf)
        less = regret < self.regret[rows]
        self.inputs[rows[less]] = inputs[less].to(self.inputs)
        self.regret[rows[less]] = regret[less]


def _regrets(scores: Tensor) -> FloatArray:
    found: FloatArray = scores.double().logsumexp(dim=1).cpu().numpy()
    return found


def shares_of(abstain: Any) -> FloatArray:
    """Shares of inputs to refuse, checked."""
    given: list[Any] = list(abstain) if isinstance(abstain, Sequence | np.ndarray) else [None]
    if not given or not all(is_number(share, 0.0) and share < 1 for share in given):
        raise InputError(
            f"abstain is {abstain!r}, but it holds shares of inputs to refuse; pass numbers from 0 "
            "up to, but not including, 1."
        )
    return np.array(given, dtype=float)
