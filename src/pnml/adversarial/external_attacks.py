"""Attacks of other packages, which are imported on first use: FAB, Square and HopSkipJump."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pnml.adversarial.attack_problem import AttackProblem, scores_of
from pnml.adversarial.attack_result import AttackResult
from pnml.adversarial.checks import check_count, check_inputs
from pnml.errors import InputError, how_to_install
from pnml.nn.eval_mode import as_in_use

# Range of inputs that pyautoattack assumes.
_RANGE = (0.0, 1.0)
# Slack for the rounding of points computed by a package.
_ROUNDING = 1e-6


def fab(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    steps: int = 100,
    targets: int | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> AttackResult:
    """Attack of an external package: misclassified inputs within a radius, by FAB-T.

    It runs FAB-T, the targeted Fast Adaptive Boundary attack, of the package pyautoattack, which
    must be installed. For each row it seeks the nearest misclassified point, towards one other
    label after the other. Rows without such a point within the radius, and rows that are
    misclassified from the start, keep their inputs.

    Parameters
    ----------
    model : torch.nn.Module
        Inputs (n, ...) → scores (n, C); it runs in eval mode, whatever its mode was.
    x : tensor of shape (n, ...)
        Inputs, with all entries between 0 and 1.
    labels : array-like of shape (n,)
        The true classes.
    radius : float
        Largest change of an entry.
    steps : int
        Steps for each target.
    targets : int, optional
        How many other labels to try, the most probable first; all by default.
    bounds : (float, float)
        Least and greatest value of an input; only (0, 1), which the package assumes, is accepted.
    seed : int
        Seed of the package's random numbers.
    rows_at_once : int
        Rows attacked together.

    Examples
    --------
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> fab(network, torch.tensor([[0.9, 0.1], [0.6, 0.5]]), [0, 0], 0.2, steps=10).fooled
    tensor([False,  True])
    """
    package("pyautoattack.fab_pt", "pyautoattack")
    problem = AttackProblem.of(model, x, labels, radius, bounds, rows_at_once)
    return run_fab(problem, seed, steps=steps, targets=targets)


def run_fab(
    problem: AttackProblem, seed: int, *, steps: int, targets: int | None = None
) -> AttackResult:
    """Result of the external attack `fab` for an AttackProblem, checked already."""
    library = package("pyautoattack.fab_pt", "pyautoattack")
    count = check_count(steps, "steps")
    _refuse_other_range(problem, "FAB")
    most = problem.scores.shape[1] - 1
    attack = library.FABAttack_PT(
        problem.model,
        n_iter=count,
        eps=problem.ball.radius,
        seed=int(seed),
        targeted=True,
        device=problem.x.device,
        n_target_classes=most if targets is None else min(most, check_count(targets, "targets")),
    )
    inputs = problem.x.clone()
    with as_in_use([problem.model]), seeded(seed):
        for rows in torch.split(problem.correct, problem.batch_size):
            inputs[rows] = attack.perturb(problem.x[rows], problem.labels[rows])
    return problem.result(problem.ball.project(problem.x, inputs))


def square(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    queries: int = 5000,
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> AttackResult:
    """Attack of an external package: misclassified inputs within a radius, from scores alone.

    The Square attack of the package pyautoattack changes random squares of an image. The result
    counts queries, so it has a `curve`. Inputs are images (n, c, h, w) between 0 and 1; each gets
    at most `queries` queries. The other arguments are those of `targeted_apgd`.

    Examples
    --------
    >>> network = nn.Sequential(nn.Flatten(), nn.Linear(64, 2, bias=False))
    >>> _ = network[1].weight.data.copy_(torch.eye(2).repeat_interleave(32, dim=1))
    >>> x = torch.full((2, 1, 8, 8), 0.5)
    >>> x[0, :, :4], x[1, :, :4] = 0.95, 0.55
    >>> square(network, x, [0, 0], 0.2, queries=100).fooled
    tensor([False,  True])
    """
    package("pyautoattack.square", "pyautoattack")
    problem = AttackProblem.of(model, x, labels, radius, bounds, rows_at_once)
    return run_square(problem, seed, queries=queries)


def run_square(problem: AttackProblem, seed: int, *, queries: int) -> AttackResult:
    """Run the attack `square` on an AttackProblem; gives its AttackResult, with queries.

    `queries` is the largest number of network runs for each image, `seed` that of the random
    squares. Rows that the network gets wrong from the start are left as they are. Raises InputError
    unless the inputs of the problem are images (n, c, h, w) with bounds (0, 1).
    """
    library = package("pyautoattack.square", "pyautoattack")
    most = check_count(queries, "queries")
    _refuse_other_range(problem, "Square")
    x, ball = problem.x, problem.ball
    if x.ndim != 4:
        raise InputError(
            f"Square takes images (n, c, h, w), but the inputs have shape {tuple(x.shape)}; "
            "leave this attack out."
        )
    attack = library.SquareAttack(
        problem.model, n_queries=most, eps=ball.radius, device=x.device, resc_schedule=False
    )
    inputs, used = x.clone(), torch.zeros(len(x), device=x.device)
    with as_in_use([problem.model]), torch.no_grad(), seeded(seed):
        for rows in torch.split(problem.correct, problem.batch_size):
            attack.init_hyperparam(x[rows])
            used[rows], inputs[rows] = attack.attack_single_run(x[rows], problem.labels[rows])
    return _result_with_queries(problem, inputs, used)


def hop_skip_jump(
    model: nn.Module,
    x: Tensor,
    labels: Any,
    radius: float,
    *,
    queries: int = 5000,
    starts: Tensor | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    rows_at_once: int = 256,
) -> AttackResult:
    """Attack of an external package: misclassified inputs, from predicted labels alone.

    It runs HopSkipJump of the package adversarial-robustness-toolbox, row by row. A row is fooled
    at its first misclassified query within the radius; the result counts queries, so it has a
    `curve`. The other arguments are those of `targeted_apgd`.

    Parameters
    ----------
    queries : int, default=5000
        Most queries for each row.
    starts : tensor of shape (m, ...), optional
        Inputs to start from; the attack picks one that the network gives another label. By
        default the other rows of x.

    Examples
    --------
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.5], [0.0, 1.0]])
    >>> hop_skip_jump(network, x, [0, 0, 1], 0.2, queries=200).fooled
    tensor([False,  True, False])
    """
    package("art.attacks.evasion", "art")
    problem = AttackProblem.of(model, x, labels, radius, bounds, rows_at_once)
    given: tuple[Tensor, Tensor] | None = None
    if starts is not None:
        points = check_inputs(starts, (problem.ball.low, problem.ball.high)).detach()
        given = points, scores_of(model, points, problem.batch_size).argmax(dim=1)
    return run_hop_skip_jump(problem, seed, queries=queries, starts=given)


def run_hop_skip_jump(
    problem: AttackProblem,
    seed: int,
    *,
    queries: int,
    starts: tuple[Tensor, Tensor] | None = None,
) -> AttackResult:
    """Result of the external attack `hop_skip_jump` for an AttackProblem, checked already.

    `starts` are points (m, ...) to start from and their predicted labels (m,); by default those of
    the problem.
    """
    evasion = package("art.attacks.evasion", "art")
    most = check_count(queries, "queries")
    own = problem.x, problem.scores.argmax(dim=1)
    points, start_labels = own if starts is None else starts
    inputs = problem.x.clone()
    used = torch.full((len(inputs),), torch.inf, device=inputs.device)
    with as_in_use([problem.model]), torch.no_grad(), seeded(seed):
        for row in problem.correct.tolist():
            other = (start_labels != problem.labels[row]).nonzero()[:, 0]
            if not len(other):
                continue
            counter = QueryCounter(problem, row, most)
            first = points[other[torch.randint(len(other), (1,))]]
            attack = evasion.HopSkipJump(
                _art_classifier(problem, counter),
                batch_size=problem.batch_size,
                norm=np.inf,
                max_iter=most,
                verbose=False,
            )
            with suppress(FinishedError):
                attack.generate(_array(problem.x[row][None]), x_adv_init=_array(first))
            inputs[row], used[row] = counter.best, counter.used
    return _result_with_queries(problem, inputs, used)


class FinishedError(Exception):
    """Ends an external attack: the row is misclassified, or no queries are left."""


class QueryCounter(nn.Module):
    """Network that counts an attack's queries for one row and stops the attack when it is done.

    The attack is done once the row is misclassified within the radius, or after `most` queries.
    """

    def __init__(self, problem: AttackProblem, row: int, most: int) -> None:
        super().__init__()
        self.network, self.most = problem.model, most
        self.x, self.label = problem.x[row], int(problem.labels[row])
        self.reach = problem.ball.radius + _ROUNDING
        self.best, self.used = self.x, float("inf")
        self.count = -2  # art queries the input and the start before the attack begins

    def forward(self, points: Tensor) -> Tensor:
        """Scores (k, C) of points (k, ...); raises FinishedError at the end of the attack."""
        scores: Tensor = self.network(points.to(self.x))
        near = (points - self.x).abs().flatten(1).amax(dim=1) <= self.reach
        wrong = (near & (scores.argmax(dim=1) != self.label)).nonzero()[:, 0]
        query = self.count + int(wrong[0]) + 1 if len(wrong) else self.most + 1
        self.count += len(points)
        if query <= self.most:
            self.best, self.used = points[wrong[0]].to(self.x), float(max(query, 1))
        if query <= self.most or self.count >= self.most:
            raise FinishedError
        return scores


def _art_classifier(problem: AttackProblem, network: nn.Module) -> Any:
    return package("art.estimators.classification", "art").PyTorchClassifier(
        network,
        loss=None,
        input_shape=tuple(problem.x.shape[1:]),
        nb_classes=problem.scores.shape[1],
        clip_values=(problem.ball.low, problem.ball.high),
        device_type="cpu" if problem.x.device.type == "cpu" else "gpu",
    )


def _array(rows: Tensor) -> Any:
    return rows.cpu().numpy().astype(np.float32)


def _result_with_queries(problem: AttackProblem, inputs: Tensor, used: Tensor) -> AttackResult:
    """How the network does on attacked inputs, with the queries (n,) of each row."""
    result = problem.result(problem.ball.project(problem.x, inputs))
    return replace(result, queries=torch.where(result.fooled, used, torch.inf))


def _refuse_other_range(problem: AttackProblem, name: str) -> None:
    ball = problem.ball
    if (ball.low, ball.high) != _RANGE:
        raise InputError(
            f"{name} takes inputs between 0 and 1, but the bounds are {ball.low:g} and "
            f"{ball.high:g}; scale the inputs, or leave this attack out."
        )


def package(name: str, package: str) -> Any:
    """Module `name` of an optional package; if it is missing, the error says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != package:
            raise
        raise ModuleNotFoundError(
            f"This attack needs {package}, which is not installed; "
            f"{how_to_install('adversarial')}.",
            name=error.name,
        ) from error


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators that external attacks use, and restore them afterwards."""
    state = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(seed))
        np.random.seed(int(seed) % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002
