"""HopSkipJump, which sees labels only, with every query counted."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pnml.adversarial.attack_problem import Hunt, scores_of
from pnml.adversarial.attack_result import Attacked
from pnml.adversarial.checks import check_count, check_inputs
from pnml.adversarial.external import chance, counted, package, right
from pnml.nn.eval_mode import as_in_use

# What a package adds and subtracts is rounded.
_ROUNDING = 1e-6


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
) -> Attacked:
    """Inputs within a radius that a network gets wrong, found by asking for labels alone.

    HopSkipJump of the package adversarial-robustness-toolbox, row by row. A row has fallen at the
    first query within the radius that is answered wrongly; the outcome has a `curve`.

    Parameters
    ----------
    queries : int, default=5000
        How often the network may be asked about a row.
    starts : tensor of shape (m, ...), optional
        Inputs from which to walk in; one that the network takes for another label is used. By
        default the other rows of x.

    Examples
    --------
    >>> network = torch.nn.Linear(2, 2, bias=False)
    >>> _ = network.weight.data.copy_(9 * torch.eye(2))
    >>> x = torch.tensor([[0.9, 0.1], [0.6, 0.5], [0.0, 1.0]])
    >>> hop_skip_jump(network, x, [0, 0, 1], 0.2, queries=200).fooled
    tensor([False,  True, False])
    """
    evasion, wrapping = (
        package(f"art.{name}", "art") for name in ("attacks.evasion", "estimators.classification")
    )
    many = check_count(queries, "queries")
    hunt = Hunt.of(model, x, labels, radius, bounds, rows_at_once)
    whence, told = hunt.x, hunt.scores.argmax(dim=1)
    if starts is not None:
        whence = check_inputs(starts, (hunt.ball.low, hunt.ball.high)).detach()
        told = scores_of(model, whence, hunt.width).argmax(dim=1)
    found, taken = hunt.x.clone(), torch.full((len(hunt.x),), torch.inf, device=hunt.x.device)
    with as_in_use([model]), torch.no_grad(), chance(seed):
        for row in right(hunt).tolist():
            away = (told != hunt.labels[row]).nonzero()[:, 0]
            if not len(away):
                continue
            watched = Watched(hunt, row, many)
            first = whence[away[torch.randint(len(away), (1,))]]
            classifier = wrapping.PyTorchClassifier(
                watched,
                loss=None,
                input_shape=tuple(hunt.x.shape[1:]),
                nb_classes=hunt.scores.shape[1],
                clip_values=(hunt.ball.low, hunt.ball.high),
                device_type="cpu" if hunt.x.device.type == "cpu" else "gpu",
            )
            attack = evasion.HopSkipJump(
                classifier, batch_size=hunt.width, norm=np.inf, max_iter=many, verbose=False
            )
            with suppress(SpentError):
                attack.generate(_array(hunt.x[row][None]), x_adv_init=_array(first))
            found[row], taken[row] = watched.best, watched.taken
    return counted(hunt, found, taken)


class SpentError(Exception):
    """The row has fallen, or all queries are spent."""


class Watched(nn.Module):
    """A network that counts what it is asked about one row, and sees when that row falls."""

    def __init__(self, hunt: Hunt, row: int, most: int) -> None:
        super().__init__()
        self.asked, self.most = hunt.model, most
        self.x, self.label = hunt.x[row], int(hunt.labels[row])
        self.reach = hunt.ball.radius + _ROUNDING
        self.best, self.taken = self.x, float("inf")
        self.count = -2  # it asks about both ends before it begins

    def forward(self, points: Tensor) -> Tensor:
        """The scores, unless it is over."""
        scores: Tensor = self.asked(points.to(self.x))
        near = (points - self.x).abs().flatten(1).amax(dim=1) <= self.reach
        fell = (near & (scores.argmax(dim=1) != self.label)).nonzero()[:, 0]
        at = self.count + int(fell[0]) + 1 if len(fell) else self.most + 1
        self.count += len(points)
        if at <= self.most:
            self.best, self.taken = points[fell[0]].to(self.x), float(max(at, 1))
        if at <= self.most or self.count >= self.most:
            raise SpentError
        return scores


def _array(rows: Tensor) -> Any:
    return rows.cpu().numpy().astype(np.float32)
