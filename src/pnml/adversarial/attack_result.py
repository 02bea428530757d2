"""The result of an attack: attacked inputs and how a network does on them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pnml.adversarial.attack_losses import label_margin
from pnml.adversarial.checks import check_labels
from pnml.adversarial.refinement import logits_of
from pnml.errors import InputError
from pnml.nn.eval_mode import as_in_use


@dataclass(frozen=True)
class AttackResult:
    """Result of an attack: the inputs it made, and how one network does on them.

    >>> result = AttackResult.of(nn.Identity(), torch.eye(2), [0, 0])
    >>> result.fooled, result.margin, result.accuracy
    (tensor([False,  True]), tensor([ 1., -1.]), 0.5)
    """

    inputs: Tensor  # (n, ...)
    fooled: Tensor  # (n,)  bool
    margin: Tensor  # (n,)  score of the label minus the best of the others
    queries: Tensor | None = None  # (n,)  queries until it was fooled; inf if it was not

    @classmethod
    def of(
        cls, model: nn.Module, inputs: Tensor, labels: Any, rows_at_once: int = 256
    ) -> AttackResult:
        """Result of a network on any inputs (n, ...), for instance on transferred attacks.

        Transferred attacks are inputs made for another network. `labels` (n,) are the true classes.

        >>> AttackResult.of(nn.Identity(), torch.eye(2), [0, 0]).fooled
        tensor([False,  True])
        """
        with as_in_use([model]), torch.no_grad():
            rows = torch.split(inputs, rows_at_once)
            scores = torch.cat([logits_of(model, part) for part in rows])
        y = check_labels(labels, len(inputs), scores.shape[1]).to(scores.device)
        return cls.of_scores(inputs, scores, y)

    @classmethod
    def of_scores(cls, inputs: Tensor, scores: Tensor, labels: Tensor) -> AttackResult:
        """The result for inputs (n, ...) from their scores (n, C) and true labels (n,)."""
        return cls(inputs.detach(), scores.argmax(dim=1) != labels, label_margin(scores, labels))

    @property
    def accuracy(self) -> float:
        """Share of the inputs that the network classifies correctly."""
        return float((~self.fooled).double().mean())

    def curve(self, at: Sequence[float]) -> list[float]:
        """Share of the inputs still classified correctly after each number of queries in `at`.

        >>> fooled, margin = torch.tensor([True, False]), torch.tensor([-1.0, 1.0])
        >>> queries = torch.tensor([20.0, torch.inf])
        >>> AttackResult(torch.eye(2), fooled, margin, queries).curve([10, 20])
        [1.0, 0.5]
        """
        if self.queries is None:
            raise InputError(
                "This attack counted no queries, so there is no curve; take one that only asks "
                "for scores or labels, such as square or hop_skip_jump."
            )
        return [float((self.queries > many).double().mean()) for many in at]

    def to_json(self) -> dict[str, Any]:
        """The result as a dict of plain JSON values; the inputs are compressed without loss."""
        inputs = self.inputs.cpu().numpy()
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(inputs).tobytes(), 6)).decode()
        queries = None
        if self.queries is not None:
            queries = [q if np.isfinite(q) else None for q in self.queries.tolist()]
        return {
            "fooled": self.fooled.int().tolist(),
            "margin": self.margin.double().tolist(),
            "queries": queries,
            "dtype": str(inputs.dtype),
            "shape": list(inputs.shape),
            "inputs": packed,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any], device: torch.device) -> AttackResult:
        """The result from a dict that `to_json` made, with tensors on a device."""
        flat = np.frombuffer(zlib.decompress(base64.b64decode(value["inputs"])), value["dtype"])
        inputs = torch.from_numpy(flat.reshape(value["shape"]).copy()).to(device)
        queries: Tensor | None = None
        if value["queries"] is not None:
            counts = [float("inf") if q is None else q for q in value["queries"]]
            queries = torch.tensor(counts, dtype=torch.float64, device=device)
        fooled = torch.tensor(value["fooled"], device=device).bool()
        margin = torch.tensor(value["margin"], dtype=torch.float64, device=device)
        return cls(inputs, fooled, margin, queries)


def worst_case(*attacks: AttackResult) -> AttackResult:
    """The worst result of several attacks on one network, row by row.

    An input that fools the network comes before one that does not; then the lower margin counts.

    >>> first = AttackResult.of(nn.Identity(), torch.eye(2), [0, 0])
    >>> second = AttackResult.of(nn.Identity(), torch.eye(2).flip(0), [0, 0])
    >>> first.accuracy, worst_case(first, second).accuracy
    (0.5, 0.0)
    """
    shapes = {tuple(attack.inputs.shape) for attack in attacks}
    if len(shapes) != 1:
        raise InputError(
            f"The attacks have inputs of shapes {sorted(shapes)}, but each sample is compared with "
            "itself; pass at least one attack, and all of the same samples."
        )
    fooled = torch.stack([attack.fooled for attack in attacks])  # (k, n)
    margins = torch.stack([attack.margin for attack in attacks])
    best = torch.where(fooled | ~fooled.any(dim=0), margins, torch.inf).argmin(dim=0)
    row = torch.arange(len(best), device=best.device)
    inputs = torch.stack([attack.inputs for attack in attacks])[best, row]
    return AttackResult(inputs, fooled[best, row], margins[best, row])
