"""Gradient attacks on any module that returns scores; a defence is attacked end to end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import repeat
from typing import Any

import torch
from torch import Tensor, nn

from pnml.adversarial.apgd_ascent import Ball, Evaluate, auto_pgd
from pnml.adversarial.attack_losses import LOSSES, UNTARGETED, Loss, cross_entropy
from pnml.adversarial.attack_problem import Ascent, AttackProblem
from pnml.adversarial.attack_result import AttackResult
from pnml.adversarial.checks import check_count
from pnml.errors import InputError
from pnml.runtime.checks import check_choice, is_number

# Default total length of a path of fixed steps, in units of the radius.
_PATH = 2.5


def targeted_apgd(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    steps: int = 100,
    restarts: int = 1,
    targets: int | None = None,
    loss: str | Loss = "dlr",
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> AttackResult:
    """Gradient attack by targeted Auto-PGD: misclassified inputs within a radius. Eq. (E10).

    Each row is moved towards every other label in turn, the most probable first, until it is
    misclassified. The attack runs through any module that returns scores; an `AdversarialPNML` is
    attacked end to end.

    Parameters
    ----------
    model : torch.nn.Module
        Inputs (n, ...) → scores (n, C); it runs in eval mode, whatever its mode was.
    x : tensor of shape (n, ...)
    labels : array-like of shape (n,)
        The true classes.
    radius : float
        Largest change of an entry.
    steps, restarts : int
        Steps for each target, and how many random starting points each target gets.
    targets : int, optional
        How many other labels to try; all by default.
    loss : {"dlr", "margin"} or function, default="dlr"
        The loss to maximise, Eqs. (E8), (E9): a function of scores (n, C), labels and targets (n,).
    bounds : (float, float)
        Least and greatest value of an input.
    seed : int
        Seed of the random starting points.
    rows_at_once : int
        Rows attacked together; the result depends on it only through rounding.

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    >>> targeted_apgd(network, x, [0, 0], radius=0.2, steps=10).fooled
    tensor([False,  True])
    """
    problem = AttackProblem.of(model, x, labels, radius, bounds, rows_at_once)
    return run_targeted_apgd(
        problem, seed, steps=steps, restarts=restarts, targets=targets, loss=loss
    )


def run_targeted_apgd(
    problem: AttackProblem,
    seed: int,
    *,
    steps: int,
    restarts: int = 1,
    targets: int | None = None,
    loss: str | Loss = "dlr",
) -> AttackResult:
    """Result of `targeted_apgd` for an AttackProblem, whose arguments are checked already."""
    ascent, chosen_loss = _ascent(steps), _loss_of(loss, LOSSES)
    target_labels = targets_of(problem, targets, restarts)
    inputs = problem.run(target_labels, problem.random_starts(seed), chosen_loss, ascent)
    return problem.result(inputs)


def untargeted_apgd(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    steps: int = 100,
    restarts: int = 1,
    loss: str | Loss = "ce",
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> AttackResult:
    """Gradient attack by untargeted Auto-PGD: misclassified inputs within a radius. Eq. (E10).

    It costs as much as one target of `targeted_apgd`; the other arguments are the same.

    Parameters
    ----------
    loss : {"ce", "margin"} or function, default="ce"
        Cross-entropy, or the best other score minus that of the label. Eqs. (E16), (E8).

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    >>> untargeted_apgd(network, x, [0, 0], radius=0.2, steps=10).fooled
    tensor([False,  True])
    """
    problem = AttackProblem.of(model, x, labels, radius, bounds, rows_at_once)
    return run_untargeted_apgd(problem, seed, steps=steps, restarts=restarts, loss=loss)


def run_untargeted_apgd(
    problem: AttackProblem,
    seed: int,
    *,
    steps: int,
    restarts: int = 1,
    loss: str | Loss = "ce",
) -> AttackResult:
    """Result of `untargeted_apgd` for an AttackProblem, whose arguments are checked already."""
    ascent, chosen_loss = _ascent(steps), _loss_of(loss, UNTARGETED)
    no_targets = repeat(problem.labels, check_count(restarts, "restarts"))
    inputs = problem.run(no_targets, problem.random_starts(seed), chosen_loss, ascent)
    return problem.result(inputs)


def pgd(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    steps: int = 50,
    step_size: float | None = None,
    restarts: int = 1,
    random_start: bool = True,
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> AttackResult:
    """Gradient attack by PGD with fixed steps: misclassified inputs within a radius. Eq. (E16).

    Unlike the PGD of other libraries, a row stops once it is misclassified. FGSM is ``steps=1,
    step_size=radius, random_start=False``. The other arguments are those of `targeted_apgd`.

    Parameters
    ----------
    step_size : float, optional
        By default 2.5 times the radius divided by the number of steps.
    restarts : int
        Random starting points for each row that is still classified correctly.
    random_start : bool, default=True
        Start at a random point, not at the input.

    Examples
    --------
    >>> network = nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    >>> pgd(network, x, [0, 0], 0.2, steps=1, step_size=0.2, random_start=False).fooled
    tensor([False,  True])
    """
    count, tries = check_count(steps, "steps"), check_count(restarts, "restarts")
    if step_size is not None and not (is_number(step_size, 0.0) and step_size > 0):
        raise InputError(f"step_size is {step_size!r}; pass a number above 0, or None.")
    problem = AttackProblem.of(model, x, labels, radius, bounds, rows_at_once)
    size = _PATH * problem.ball.radius / count if step_size is None else float(step_size)
    starts = problem.random_starts(seed) if random_start else repeat(problem.x)
    ascent = partial(_fixed_step_ascent, steps=count, size=size)
    inputs = problem.run(repeat(problem.labels, tries), starts, cross_entropy, ascent)
    return problem.result(inputs)


def targets_of(problem: AttackProblem, targets: Any, restarts: Any) -> tuple[Tensor, ...]:
    """Target labels (n,) of a gradient attack, a tensor for each run, in the order they are tried.

    The first `targets` other labels of each row (None: all), each set `restarts` times.
    """
    most = None if targets is None else check_count(targets, "targets")
    repeats = check_count(restarts, "restarts")
    return problem.other_labels[:, :most].repeat(1, repeats).unbind(dim=1)


def _ascent(steps: Any) -> Ascent:
    return partial(auto_pgd, steps=check_count(steps, "steps"))


def _fixed_step_ascent(
    evaluate: Evaluate, ball: Ball, x: Tensor, start: Tensor, steps: int, size: float
) -> tuple[Tensor, Tensor]:
    """Points of least margin on the path, and these margins; a row stops once it is fooled."""
    point, row = ball.project(x, start), torch.arange(len(x), device=x.device)
    points, margins = point.clone(), torch.full((len(x),), torch.inf, device=x.device).double()
    for turn in range(steps + 1):
        values = evaluate(point, row)
        lower = values.margin < margins[row]
        points[row[lower]], margins[row[lower]] = point[lower], values.margin[lower]
        direction, active = values.gradient.sign(), ~values.fooled
        row, point, direction = row[active], point[active], direction[active]
        if not len(row) or turn == steps:
            break
        point = ball.project(x[row], point + size * direction)
    return points, margins


def _loss_of(loss: Any, known: Mapping[str, Loss]) -> Loss:
    return loss if callable(loss) else known[check_choice("loss", loss, tuple(known))]
