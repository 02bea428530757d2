"""Training rows with their labels, all kept in memory: a refit needs every one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pnml.errors import InputError
from pnml.nn.masks import all_padding


@dataclass(frozen=True)
class TrainingRows:
    """Training rows (n, ...) of a refit, inputs of the refitted layers, and labels (n,).

    Labels are integers from 0 to `classes` − 1.
    """

    rows: Tensor  # (n, ...)
    labels: Tensor  # (n,)
    classes: int


class TrainingRowsBuilder:
    """Collects the training rows of a refit batch by batch."""

    def __init__(self) -> None:
        self._rows: list[Tensor] = []
        self._labels: list[Tensor] = []
        self._classes = self._positions = 0

    def add(
        self, rows: Tensor, labels: Tensor, classes: int, name: str, positions: int = 0
    ) -> None:
        """Add rows (n, ...) and labels (n,) of a batch, which errors call `name`.

        `classes` is the number of logits; `positions` that of positions in the batch, with padding.
        """
        self._positions += positions
        refuse_nonfinite(rows, name)
        if self._rows and rows.shape[1:] != self._rows[0].shape[1:]:
            raise InputError(
                f"{name} gives rows of shape {tuple(rows.shape[1:])}, but those before have "
                f"{tuple(self._rows[0].shape[1:])}; bring all inputs to one size."
            )
        self._rows.append(rows.detach())
        self._labels.append(labels)
        self._classes = classes

    def total(self) -> TrainingRows:
        """All rows so far; raises if there are none, or fewer than two classes."""
        if not self._rows or sum(map(len, self._rows)) == 0:
            if self._positions:
                raise all_padding(self._positions, "fit")
            raise InputError(
                "There is nothing to fit, since not one training row came; pass a loader or "
                "features with rows in them."
            )
        if self._classes < 2:
            raise InputError(
                "The head has one output, but a refit for every label needs two classes or more; "
                "use LastLayerPNML for numbers and yes-or-no labels."
            )
        return TrainingRows(torch.cat(self._rows), torch.cat(self._labels), self._classes)


def refuse_nonfinite(rows: Tensor, name: str) -> None:
    """Raise if one of rows (n, ...) is NaN or infinite; the error calls them `name`."""
    finite = torch.isfinite(rows.flatten(1) if rows.ndim > 1 else rows[:, None]).all(dim=1)
    if not bool(finite.all()):
        raise InputError(
            f"{name} gives features that are NaN or infinite, first in row "
            f"{int((~finite).nonzero()[0])}; check those inputs, or run the network in a wider "
            "dtype."
        )
