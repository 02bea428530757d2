"""The whole test of a defence in one call: the network alone, transferred, and end to end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.abstention import AbstentionCurve, shares_of, traced
from pnml.adversarial.attack_problem import Hunt
from pnml.adversarial.attack_result import Attacked
from pnml.adversarial.attack_sequence import Campaign
from pnml.adversarial.averaged import AveragedPNML
from pnml.adversarial.budget import AttackBudget
from pnml.adversarial.checks import check_count, check_length
from pnml.adversarial.defence import AdversarialPNML
from pnml.adversarial.detection import RegretDetection, detection_by_regret
from pnml.adversarial.joint import joint_attack
from pnml.adversarial.ledger import Ledger
from pnml.adversarial.protocol import Trial
from pnml.adversarial.report import DefenceEvaluation, SweepRow
from pnml.adversarial.telling import Progress, telling
from pnml.errors import InputError
from pnml.nn.eval_mode import as_in_use

# Repeats of a timed pass, of which the fastest counts, and rows of its batch.
_REPEATS, _TIMED = 5, 256


def evaluate_defence(
    defence: AdversarialPNML | AveragedPNML,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    strengths: Sequence[float] | None = None,
    held_out: tuple[Tensor, Any] | None = None,
    budget: AttackBudget | None = None,
    path: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    seed: int = 0,
    rows_at_once: int = 256,
    chunk: int = 256,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> DefenceEvaluation:
    """What a defence is worth: its worst case end to end, beside that of the network alone.

    The network alone is attacked with Auto-PGD, FAB and Square; what that finds is fed to the
    defence; then the defence is attacked end to end with each derivative of the refinement, and
    by queries. A later attack is tried on rows that still hold, Eq. (E15). Attacks whose package
    is missing are left out, and named.

    Parameters
    ----------
    defence : AdversarialPNML or AveragedPNML
    x : tensor of shape (n, ...)
    labels : array-like of shape (n,)
    radius : float
        Largest change of an entry.
    strengths : sequence of float, optional
        Strengths of the defence to choose from, by the worst case on `held_out`; by default that
        of the defence.
    held_out : (tensor, array-like), optional
        Other inputs and labels; also where the regret of ordinary inputs is taken from.
    budget : AttackBudget, optional
    path : path, optional
        JSON lines with every finished part. A call that was interrupted goes on from there;
        several evaluations may share one file, and then share the attacks on the network alone.
    progress : function of (done, total), bool or None
        None draws a bar on a terminal.
    seed : int
    rows_at_once, chunk : int
        Rows that are attacked together, and rows of one part in the file.
    confidence, resamples
        Coverage of the intervals, and how often rows are drawn again. Eq. (E14).

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(4 * torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> budget = AttackBudget(steps=5, square_queries=0, hop_queries=0, fab_steps=0)
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> found = evaluate_defence(defence, x, [0, 0, 1], radius=0.2, budget=budget)
    >>> found.static_worst, found.defended_worst
    (array([ True, False,  True]), array([ True, False,  True]))
    """
    if not isinstance(defence, AdversarialPNML | AveragedPNML):
        raise InputError(
            f"The defence is a {type(defence).__name__}; pass an AdversarialPNML or an "
            "AveragedPNML around your network."
        )
    if strengths is not None and held_out is None:
        raise InputError(
            "strengths are chosen on inputs that are not judged, but held_out is missing; pass "
            "held_out=(x, labels) of other inputs, or no strengths."
        )
    spent = AttackBudget() if budget is None else budget
    hunt = Hunt.of(defence.model, x, labels, radius, defence.bounds, rows_at_once)
    apart = _apart(defence, held_out, radius, rows_at_once)
    options = _options(strengths, defence.bounds)
    total = len(hunt.x) * _passes(spent)
    total += 0 if apart is None else len(apart.x) * (2 + 3 * len(options))
    again = {"confidence": confidence, "resamples": resamples, "seed": int(seed)}
    with telling(progress, total, "Attacking") as advance, as_in_use([defence]):
        shared = (spent, Ledger(path), check_count(chunk, "chunk"), int(seed), advance)
        sweep: tuple[SweepRow, ...] = ()
        if apart is not None and options:
            sweep = Trial(apart, *shared).swept(defence, options)
            best = max(sweep, key=lambda row: (row.worst, -row.strength))
            defence = defence.with_(strength=best.strength)
        return _evaluated(Trial(hunt, *shared), defence, sweep, apart, again)


def _evaluated(
    trial: Trial,
    defence: AdversarialPNML | AveragedPNML,
    sweep: tuple[SweepRow, ...],
    apart: Hunt | None,
    again: dict[str, Any],
) -> DefenceEvaluation:
    static = trial.static()
    made = static.inputs.clone()
    through = trial.defended(defence, made)
    static.judge("transferred back", through.inputs, trial.hunt.width)
    ordinary = trial.hunt.x if apart is None else apart.x
    curve = None
    if trial.budget.joint_steps:
        curve = _curve(trial, through, ordinary, [made, through.inputs], again)
    return DefenceEvaluation(
        radius=trial.hunt.ball.radius,
        strength=defence.strength,
        static=tuple(static.outcomes),
        defended=tuple(through.outcomes),
        static_inputs=static.inputs,
        defended_inputs=through.inputs,
        sweep=sweep,
        abstention=curve,
        detection=_detection(trial, static, through, made, curve, again),
        cost=_cost(defence, trial.hunt.x[:_TIMED]),
        left_out=trial.left_out,
        **again,
    )


def _curve(
    trial: Trial,
    through: Campaign,
    ordinary: Tensor,
    already: Sequence[Tensor],
    again: dict[str, Any],
) -> AbstentionCurve:
    """Accuracy against abstention, its attacks kept in the file as all others are."""
    b, hunt = trial.budget, trial.hunt
    way = b.backwards[0]

    def attack(rows: Tensor, limit: float) -> Tensor:
        def found(part: Tensor) -> Attacked:
            made = joint_attack(
                through.model.with_(backward=way),  # for each part, so that chance begins anew
                hunt.x[part],
                hunt.labels[part],
                hunt.ball.radius,
                limit,
                steps=b.joint_steps,
                targets=b.targets,
                seed=trial.seed,
                rows_at_once=hunt.width,
            )
            return Attacked(made.inputs, made.hidden, made.regret)

        settings = {"steps": b.joint_steps, "targets": b.targets, "threshold": limit}
        told = "joint", {**settings, "backward": way}
        parts = torch.split(rows, trial.chunk)
        return torch.cat([through.piece(*told, found, part)[0].inputs for part in parts])

    defence = through.model.with_()
    judged = Hunt.of(defence, hunt.x, hunt.labels, hunt.ball.radius, defence.bounds, hunt.width)
    curve = traced(judged, ordinary, shares_of(b.joint_abstain), already, attack, again)
    trial.advance(len(hunt.x))
    return curve


def _detection(
    trial: Trial,
    static: Campaign,
    through: Campaign,
    made: Tensor,
    curve: AbstentionCurve | None,
    again: dict[str, Any],
) -> dict[str, RegretDetection]:
    """Clean inputs against those that fool what they were made for; wrong rows are left out."""
    hunt = trial.hunt
    before = static.outcomes[-2]  # the last one is judged on what was made for the defence
    fell: dict[str, tuple[Tensor, Any]] = {
        "transferred": (made, ~before.held),
        "end to end": (through.inputs, ~through.outcomes[-1].held),
    }
    if curve is not None:
        fell["joint"] = (curve.inputs, curve.hidden.any(axis=1))
    right = torch.from_numpy(static.outcomes[0].held & through.outcomes[0].held)
    found = {}
    for name, (inputs, fooled) in fell.items():
        rows = (right & torch.from_numpy(fooled)).to(hunt.x.device)
        if rows.any():
            options = {"rows_at_once": hunt.width, "seed": again["seed"]}
            pair = hunt.x[right.to(hunt.x.device)], inputs[rows]
            found[name] = detection_by_regret(
                through.model, *pair, confidence=again["confidence"], **options
            )
    return found


def _cost(defence: nn.Module, x: Tensor) -> float:
    """Time of a defended pass over that of a plain one, the fastest of a few."""

    def fastest(model: Callable[[Tensor], Tensor]) -> float:
        times = []
        for _ in range(_REPEATS):
            begun = time.perf_counter()
            model(x)
            times.append(time.perf_counter() - begun)
        return min(times)

    with torch.no_grad():
        return fastest(defence) / fastest(defence.model)  # type: ignore[arg-type]


def _passes(budget: AttackBudget) -> int:
    """How often all rows are gone through."""
    optional = (budget.fab_steps, budget.square_queries, budget.square_queries, budget.hop_queries)
    once = sum(map(bool, (*optional, budget.quick_steps, budget.joint_steps)))
    return 6 + once + 2 * len(budget.backwards)  # clean twice, two alone, transferred, and back


def _apart(defence: Any, held_out: Any, radius: float, rows_at_once: int) -> Hunt | None:
    if held_out is None:
        return None
    if not isinstance(held_out, tuple | list) or len(held_out) != 2:
        raise InputError(
            f"held_out is a {type(held_out).__name__}; pass a pair (x, labels) of other inputs."
        )
    inputs, labels = held_out
    return Hunt.of(defence.model, inputs, labels, radius, defence.bounds, rows_at_once)


def _options(strengths: Any, bounds: tuple[float, float]) -> list[float]:
    given = [] if strengths is None else list(strengths)
    if strengths is not None and not given:
        raise InputError("strengths is empty, so there is nothing to choose; pass some numbers.")
    return [check_length(value, "strength", bounds) for value in given]
