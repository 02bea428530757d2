"""Scores of all inputs of a loader, one row for each prediction."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pnml.core.arrays import FloatArray
from pnml.core.trust import Thresholds
from pnml.errors import InputError
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.last_layer_output import LastLayerOutput
from pnml.nn.masks import all_padding
from pnml.nn.tasks import MULTICLASS


@dataclass(frozen=True)
class LastLayerScores:
    """Scores of the inputs of a loader, as arrays with one entry for each of n predictions.

    They are in the order of the loader, without padding. `row` (n,) is the number of the input, and
    `position` (n,) the place in it, or None if each input has one prediction. `regret` is in nats.

    Examples
    --------
    >>> from pnml.nn import LastLayerPNML
    >>> m = LastLayerPNML.from_embeddings(torch.eye(3), None, torch.eye(3).repeat(9, 1))
    >>> scores = m.score([torch.eye(3), torch.eye(3)])
    >>> scores.prediction, scores.trusted.all()
    (array([0, 1, 2, 0, 1, 2]), np.True_)
    """

    row: npt.NDArray[np.int64]  # (n,)  number of the input, from 0
    position: npt.NDArray[np.int64] | None  # (n,)  in the input; None where it has one prediction
    prediction: npt.NDArray[Any]  # (n,)  class; (n, L) yes or no of each label; or number
    probability: FloatArray | None  # (n,)  pNML, of the predicted class; (n, L) of yes; or None
    regret: FloatArray  # (n,)  nats
    leverage: FloatArray  # (n,)
    trusted: npt.NDArray[np.bool_]  # (n,)

    def __len__(self) -> int:
        return len(self.regret)

    def to_frame(self) -> Any:
        """The scores as a pandas data frame, with a row for each prediction.

        For L yes-or-no labels it has columns prediction_0, prediction_1 and so on.
        """
        if find_spec("pandas") is None:
            raise InputError(
                "as_frame=True makes a pandas data frame, but pandas is not installed; run pip "
                "install pandas, or take the arrays of the result."
            )
        columns: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            values = getattr(self, name)
            if values is None:
                continue
            if values.ndim == 1:
                columns[name] = values
            else:
                columns |= {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}
        return import_module("pandas").DataFrame(columns)


class ScoresBuilder:
    """Collects scores batch by batch; keeps nothing of a batch but numbers for each row."""

    def __init__(self) -> None:
        self._parts: list[LastLayerScores] = []
        self._inputs = 0
        self.positions = 0

    def frame(self) -> Any:
        """The scores of all batches as a pandas data frame."""
        return self.total().to_frame()

    def add(self, out: LastLayerOutput, kept: Tensor | None, thresholds: Thresholds) -> None:
        """Add the output of a batch, and compare it with thresholds of trust.

        `kept` (...) is False at padding, which is left out; None keeps all positions.
        """
        shape = out.regret.shape
        kept = torch.ones(shape, dtype=torch.bool) if kept is None else kept.cpu()
        at = kept.flatten().nonzero()[:, 0]
        each = max(shape[1:].numel(), 1)  # positions of an input
        prediction, probability = predictions(out)
        trusted = thresholds.trusts(out.regret, out.leverage)
        chosen = [
            None if part is None else numpy_rows(part.cpu().flatten(0, len(shape) - 1)[at])
            for part in (prediction, probability, out.regret, out.leverage, trusted)
        ]
        rows = (at // each + self._inputs).numpy()
        places = (at % each).numpy() if len(shape) > 1 else None
        self._parts.append(LastLayerScores(rows, places, *chosen))  # type: ignore[arg-type]
        self._inputs += shape[0]
        self.positions += shape.numel()

    def total(self) -> LastLayerScores:
        """The scores of all batches so far; raises if there are none."""
        if not self.positions:
            raise InputError(
                "There is nothing to score, since the loader gave no batch with rows; pass at "
                "least one."
            )
        if not sum(map(len, self._parts)):
            raise all_padding(self.positions, "score")
        return LastLayerScores(*(self._joined(field.name) for field in fields(LastLayerScores)))

    def _joined(self, name: str) -> Any:
        parts = [getattr(part, name) for part in self._parts]
        return None if parts[0] is None else np.concatenate(parts)


def predictions(out: LastLayerOutput) -> tuple[Tensor, Tensor | None]:
    """Predictions of a network, and their pNML probabilities, or None for a regression head.

    For classes, the predicted class (...) and its probability; for L yes-or-no labels, yes or no
    (..., L) and the probability of yes; for regression, the numbers.
    """
    logits = out.logits
    if out.log_prob is None:
        return (logits.squeeze(-1) if logits.shape[-1] == 1 else logits), None
    if out.task is not MULTICLASS:
        return logits > 0, out.log_prob.exp()
    label = logits.argmax(-1)
    return label, out.log_prob.gather(-1, label[..., None]).squeeze(-1).exp()
