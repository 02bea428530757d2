"""Evaluation of a defence in one call: the network alone, transferred and end-to-end attacks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from pnml.adversarial.abstention import AbstentionCurve, curve_of, shares_of
from pnml.adversarial.attack_budget import AttackBudget
from pnml.adversarial.attack_problem import AttackProblem, is_random, scores_of
from pnml.adversarial.attack_result import AttackResult
from pnml.adversarial.attack_sequence import AttackSequence
from pnml.adversarial.averaged import AveragedPNML
from pnml.adversarial.checks import check_count, check_length
from pnml.adversarial.defence import AdversarialPNML
from pnml.adversarial.detection import RegretDetection, regrets_of
from pnml.adversarial.evaluation_protocol import EvaluationProtocol
from pnml.adversarial.evaluation_result import DefenceEvaluation, SweepRow
from pnml.adversarial.joint_attacks import run_joint_attack
from pnml.adversarial.robustness_intervals import BoolArray
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn.eval_mode import as_in_use
from pnml.runtime.journal import Journal, JournalKind
from pnml.runtime.progress import Progress, reporting

# Repeats of a timed pass, of which the fastest counts, and rows of its batch.
_REPEATS, _TIMED = 5, 256
_JOURNAL = JournalKind(
    unwritable="Cannot use {path}: {reason}; pass another path.",
    foreign="{path} is no record of attacks; pass another path, or delete it to begin anew.",
    other="{path} is no record of attacks; pass another path, or delete it to begin anew.",
    key="key",
    finite=False,
)
_JOURNAL_HEAD = {"format": "pnml attacks", "version": 1}


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
    """Evaluation of a defence: worst-case accuracy under attacks, beside the network alone.

    The network alone is attacked with Auto-PGD, FAB and Square; the attacked inputs are then given
    to the defence; last, the defence is attacked end to end with each derivative of the refinement
    and with query attacks. Each attack runs on the rows that are still classified correctly, Eq.
    (E15). Attacks whose package is not installed are skipped and named. In the result "static" is
    the network alone; `static_worst` and `defended_worst` (n,) say which rows stay correct under
    all attacks.

    Parameters
    ----------
    defence : AdversarialPNML or AveragedPNML
    x : tensor of shape (n, ...)
    labels : array-like of shape (n,)
    radius : float
        Largest change of an entry.
    strengths : sequence of float, optional
        Strengths to choose from, by the worst case on `held_out`; by default only that of the
        defence.
    held_out : (tensor, array-like), optional
        Other inputs and labels; they also give the regret of ordinary inputs.
    budget : AttackBudget, optional
    path : path, optional
        File of JSON lines with all finished parts. An interrupted call resumes from it. Several
        evaluations may use one file, and then share the attacks on the network alone.
    progress : function of (done, total), bool or None
        None draws a bar on a terminal.
    seed : int
    rows_at_once, chunk : int
        Rows attacked together, and rows of one part in the file.
    confidence, resamples
        Coverage of the intervals, and number of bootstrap samples. Eq. (E14).

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(4 * torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> budget = AttackBudget(steps=5, square_queries=0, hop_queries=0, fab_steps=0)
    >>> defence = AdversarialPNML(network, strength=0.1)
    >>> report = evaluate_defence(defence, x, [0, 0, 1], radius=0.2, budget=budget)
    >>> report.static_worst, report.defended_worst
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
    problem = AttackProblem.of(defence.model, x, labels, radius, defence.bounds, rows_at_once)
    held_out_problem = _held_out_problem(defence, held_out, radius, rows_at_once)
    options = _strengths(strengths, defence.bounds)
    total = len(problem.x) * _passes(spent)
    total += 0 if held_out_problem is None else len(held_out_problem.x) * (2 + 3 * len(options))
    bootstrap = {"confidence": confidence, "resamples": resamples, "seed": int(seed)}
    with reporting(progress, total, "Attacking") as advance, as_in_use([defence]):
        journal = Journal(path, _JOURNAL_HEAD, _JOURNAL)
        shared = (spent, journal, check_count(chunk, "chunk"), int(seed), advance)
        sweep: tuple[SweepRow, ...] = ()
        if held_out_problem is not None and options:
            sweep = EvaluationProtocol(held_out_problem, *shared).sweep(defence, options)
            best = max(sweep, key=lambda row: (row.worst, -row.strength))
            defence = defence.with_(strength=best.strength)
        protocol = EvaluationProtocol(problem, *shared)
        return _report(protocol, defence, sweep, held_out_problem, bootstrap)


def _report(
    protocol: EvaluationProtocol,
    defence: AdversarialPNML | AveragedPNML,
    sweep: tuple[SweepRow, ...],
    held_out: AttackProblem | None,
    bootstrap: dict[str, Any],
) -> DefenceEvaluation:
    static = protocol.static()
    transferred = static.inputs.clone()
    defended = protocol.defended(defence, transferred)
    static.transfer("transferred back", defended.inputs)
    curve = None
    if protocol.budget.joint_steps:
        inputs = [transferred, defended.inputs]
        curve = _abstention_curve(protocol, defended, held_out, inputs, bootstrap)
    return DefenceEvaluation(
        radius=protocol.problem.ball.radius,
        strength=defence.strength,
        static=tuple(static.outcomes),
        defended=tuple(defended.outcomes),
        static_inputs=static.inputs,
        defended_inputs=defended.inputs,
        sweep=sweep,
        abstention=curve,
        detection=_detection(static, defended, transferred, curve, bootstrap),
        cost=_cost(defence, protocol.problem.x[:_TIMED]),
        left_out=protocol.left_out,
        **bootstrap,
    )


def _abstention_curve(
    protocol: EvaluationProtocol,
    defended: AttackSequence,
    held_out: AttackProblem | None,
    already: Sequence[Tensor],
    bootstrap: dict[str, Any],
) -> AbstentionCurve:
    """Accuracy against abstention; its attacks are recorded in the journal like all others."""
    b, rows = protocol.budget, torch.arange(len(protocol.problem.x))
    backward, defence = b.backwards[0], cast("Any", defended.problem.model)
    settings: dict[str, Any] = {"steps": b.joint_steps, "targets": b.targets}

    def attack(rows: Tensor, threshold: float) -> Tensor:
        def attack_part(part: Tensor) -> AttackResult:
            # a new copy for each part, whose random draws start at the seed
            problem = defended.problem.part(part, defence.with_(backward=backward))
            result = run_joint_attack(problem, protocol.seed, threshold=threshold, **settings)
            return AttackResult(result.inputs, result.hidden, result.regret)

        recorded = {**settings, "threshold": threshold, "backward": backward}
        parts = torch.split(rows, protocol.chunk)
        results = (defended.part("joint", recorded, attack_part, part)[0] for part in parts)
        return torch.cat([result.inputs for result in results])

    problem = defended.problem.part(rows.to(protocol.problem.x.device), defence.with_())
    ordinary_scores = problem.scores
    if held_out is not None or is_random(defence):
        ordinary = problem.x if held_out is None else held_out.x
        ordinary_scores = scores_of(problem.model, ordinary, problem.batch_size)
    shares = shares_of(b.joint_abstain)
    curve = curve_of(problem, ordinary_scores, shares, already, attack, bootstrap)
    protocol.advance(len(problem.x))
    return curve


def _detection(
    static: AttackSequence,
    defended: AttackSequence,
    transferred: Tensor,
    curve: AbstentionCurve | None,
    bootstrap: dict[str, Any],
) -> dict[str, RegretDetection]:
    """Detection of inputs that fool their target, among rows that are correct when clean."""
    before = static.outcomes[-2]  # the last outcome is on the inputs made for the defence
    attacked: dict[str, tuple[Tensor, Any]] = {
        "transferred": (transferred, ~before.held),
        "end to end": (defended.inputs, ~defended.outcomes[-1].held),
    }
    if curve is not None:
        attacked["joint"] = (curve.inputs, curve.hidden.any(axis=1))
    correct = static.outcomes[0].held & defended.outcomes[0].held
    problem, defence = defended.problem, cast("Any", defended.problem.model)
    detection = {}
    for name, (inputs, fooled) in attacked.items():
        if (correct & fooled).any():
            clean = _clean_regrets(defended, correct)
            rows = torch.from_numpy(correct & fooled).to(problem.x.device)
            regrets = clean, regrets_of(defence, inputs[rows], problem.batch_size)
            interval = bootstrap["confidence"], bootstrap["seed"]
            detection[name] = RegretDetection.of(*regrets, *interval)
    return detection


def _clean_regrets(defended: AttackSequence, rows: BoolArray) -> FloatArray:
    """Regrets of some clean rows: those known already, or of a new pass of a random defence."""
    problem, defence = defended.problem, cast("Any", defended.problem.model)
    if defended.clean_regrets is not None and not is_random(defence):
        return defended.clean_regrets[rows]
    mask = torch.from_numpy(rows).to(problem.x.device)
    return regrets_of(defence, problem.x[mask], problem.batch_size)


def _cost(defence: nn.Module, x: Tensor) -> float:
    """Time of a pass of the defence over that of the network alone, each the fastest of a few."""

    def fastest(model: Callable[[Tensor], Tensor]) -> float:
        times = []
        for _ in range(_REPEATS):
            start = time.perf_counter()
            model(x)
            times.append(time.perf_counter() - start)
        return min(times)

    with torch.no_grad():
        return fastest(defence) / fastest(defence.model)  # type: ignore[arg-type]


def _passes(budget: AttackBudget) -> int:
    """Number of passes over all rows, for the total of the progress bar."""
    optional = (budget.fab_steps, budget.square_queries, budget.square_queries, budget.hop_queries)
    once = sum(map(bool, (*optional, budget.quick_steps, budget.joint_steps)))
    return 6 + once + 2 * len(budget.backwards)  # clean twice, two static, transferred, and back


def _held_out_problem(
    defence: Any, held_out: Any, radius: float, rows_at_once: int
) -> AttackProblem | None:
    if held_out is None:
        return None
    if not isinstance(held_out, tuple | list) or len(held_out) != 2:
        raise InputError(
            f"held_out is a {type(held_out).__name__}; pass a pair (x, labels) of other inputs."
        )
    inputs, labels = held_out
    return AttackProblem.of(defence.model, inputs, labels, radius, defence.bounds, rows_at_once)


def _strengths(strengths: Any, bounds: tuple[float, float]) -> list[float]:
    given = [] if strengths is None else list(strengths)
    if strengths is not None and not given:
        raise InputError("strengths is empty, so there is nothing to choose; pass some numbers.")
    return [check_length(value, "strength", bounds) for value in given]
