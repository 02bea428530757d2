"""Genies by fine-tuning: the tail of a network trained by SGD for every row and label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.func import functional_call, vmap
from torch.nn.functional import cross_entropy

from pnml.core.arrays import FloatArray
from pnml.nn.eval_mode import as_in_use
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.refit.cut_model import Cut
from pnml.nn.refit.refit_output import Genies
from pnml.nn.refit.refit_settings import FineTuning
from pnml.nn.refit.training_rows import TrainingRows

# Numbers in the weights and inputs of all networks that are trained in parallel.
_NUMBERS = 2**22
# Rows times labels in one chunk.
_AT_ONCE = 80

# Logits (networks, rows, C) of stacked weights; rows are shared, or each network has its own.
_Logits = Callable[[dict[str, Tensor], Tensor, bool], Tensor]


@dataclass(frozen=True)
class FineTuned:
    """Genies by fine-tuning: the tail of a network trained by SGD with one more row and label.

    `cut` is the network cut before the layers to train, `training` the rows that enter the tail.
    """

    cut: Cut
    training: TrainingRows
    settings: FineTuning

    @property
    def alpha(self) -> None:
        """None: fine-tuning has no ridge penalty, only the weight decay of its settings."""
        return None

    @property
    def rows_at_once(self) -> int:
        """Number of rows to refit in one call: the size of a chunk."""
        return max(1, _AT_ONCE // self.training.classes)

    def refit(self, rows: Tensor) -> Genies:
        """Genies of all labels for rows (n, ...). Eq. (D2)."""
        classes = self.training.classes
        log_genie = self._log_genies(
            self.training.rows,
            self.training.labels,
            rows.repeat_interleave(classes, dim=0),
            torch.arange(classes).repeat(len(rows)),
        )
        return Genies.uncertified(log_genie.reshape(len(rows), classes))

    def left_out(self, indices: npt.NDArray[np.intp]) -> Genies:
        """Genies of the training rows at `indices` (m,), each left out of the training rows.

        Training starts from weights of the network, which have seen the row.
        """
        rows, labels, classes = self.training.rows, self.training.labels, self.training.classes
        genies = []
        for i in indices.tolist():
            kept = torch.arange(len(rows)) != i
            own = rows[i : i + 1].repeat_interleave(classes, dim=0)
            log_genie = self._log_genies(rows[kept], labels[kept], own, torch.arange(classes))
            genies.append(Genies.uncertified(log_genie[None]))
        return Genies.joined(genies, classes)

    def depends_on(self) -> tuple[list[str], list[npt.NDArray[Any]]]:
        """Words and arrays that the genies depend on besides the rows, for a fingerprint."""
        training, weights = self.training, self.cut.tail.state_dict().values()
        arrays = [numpy_rows(part) for part in (training.rows, training.labels, *weights)]
        return [repr(self.settings), *self.cut.tunable], arrays

    def _log_genies(
        self, rows: Tensor, labels: Tensor, own_rows: Tensor, own_labels: Tensor
    ) -> FloatArray:
        """Log-probability (m,) of each own label after training with its own row."""
        weights = sum(weight.numel() for weight in self.cut.tunable.values())
        numbers = weights + min(self.settings.batch_size, len(rows) + 1) * own_rows[:1].numel()
        step = max(1, _NUMBERS // max(1, numbers))
        device = next(iter(self.cut.tunable.values())).device
        rows, labels, own_rows, own_labels = (
            part.to(device) for part in (rows, labels, own_rows, own_labels)
        )
        log_genies = np.empty(len(own_rows))
        with as_in_use([self.cut.tail]):
            logits_of = _in_parallel(self.cut, own_rows[:1])
            for start in range(0, len(own_rows), step):
                part = slice(start, start + step)
                group = _Group(rows, labels, own_rows[part], own_labels[part])
                log_genies[part] = group.trained(self.cut, self.settings, logits_of).cpu().numpy()
        return log_genies


@dataclass(frozen=True)
class _Group:
    """Networks trained in parallel: rows that all share, and one row for each network alone."""

    rows: Tensor  # (n, ...)
    labels: Tensor  # (n,)
    own_rows: Tensor  # (m, ...)
    own_labels: Tensor  # (m,)

    def trained(self, cut: Cut, settings: FineTuning, logits_of: _Logits) -> Tensor:
        """Log-probability (m,) of its own label by each network after training."""
        m = len(self.own_rows)
        stacked = {
            name: weight.detach().expand(m, *weight.shape).clone().requires_grad_()
            for name, weight in cut.tunable.items()
        }
        descent = torch.optim.SGD(
            stacked.values(),
            lr=settings.learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
        )
        with torch.enable_grad():
            for batch in _batches(len(self.rows) + 1, settings):
                loss = self._loss(batch, stacked, logits_of)
                descent.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                descent.step()
        with torch.no_grad():
            logits = logits_of(stacked, self.own_rows[:, None], True)[:, 0]
            log_p = logits.double().log_softmax(dim=-1)
        return log_p.gather(1, self.own_labels[:, None])[:, 0]

    def _loss(self, batch: Tensor, stacked: dict[str, Tensor], logits_of: _Logits) -> Tensor:
        """Sum over networks of the mean cross-entropy of a batch; index n is the own row."""
        m, n = len(self.own_rows), len(self.rows)
        shared = batch[batch < n].to(self.rows.device)
        total = torch.zeros((), device=self.rows.device)
        if len(shared):
            logits = logits_of(stacked, self.rows[shared], False)
            total = total + _cross_entropy(logits, self.labels[shared].expand(m, -1))
        if len(shared) < len(batch):  # separately: all other rows are one input for all networks
            logits = logits_of(stacked, self.own_rows[:, None], True)
            total = total + _cross_entropy(logits, self.own_labels[:, None])
        return total / len(batch)


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Sum over networks and rows; logits (m, b, C), labels (m, b)."""
    return cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")


def _batches(n: int, settings: FineTuning) -> Iterator[Tensor]:
    """Indices of the rows of each step; the same for every network."""
    generator = torch.Generator().manual_seed(settings.seed)
    for _ in range(settings.epochs):
        order = torch.randperm(n, generator=generator)
        yield from (order[i : i + settings.batch_size] for i in range(0, n, settings.batch_size))


def _in_parallel(cut: Cut, example: Tensor) -> _Logits:
    """The tail with stacked weights: vectorised if its modules allow it, else in a loop."""
    fixed = {
        name: weight.detach()
        for name, weight in cut.tail.named_parameters()
        if name not in cut.tunable
    }

    def single(weights: dict[str, Tensor], rows: Tensor) -> Tensor:
        logits: Tensor = functional_call(cut.tail, fixed | weights, (rows,))
        return logits

    def vectorised(stacked: dict[str, Tensor], rows: Tensor, own: bool) -> Tensor:
        logits: Tensor = vmap(single, in_dims=(0, 0 if own else None))(stacked, rows)
        return logits

    def looped(stacked: dict[str, Tensor], rows: Tensor, own: bool) -> Tensor:
        count = len(next(iter(stacked.values())))
        parts = ({name: w[i] for name, w in stacked.items()} for i in range(count))
        return torch.stack([single(part, rows[i] if own else rows) for i, part in enumerate(parts)])

    two = {name: w.detach().expand(2, *w.shape) for name, w in cut.tunable.items()}
    try:
        with torch.no_grad():
            vectorised(two, example, False)
    except RuntimeError:  # a module that branches on values, or that vmap does not support
        return looped
    return vectorised
