"""Scores of features: leverage and regret from geometry, head and task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn.feature_geometry import SHARE, Geometry
from pnml.nn.feature_regions import IntArray
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.feature_scale import chosen_scale
from pnml.nn.head import Factor, Head
from pnml.nn.last_layer_output import LastLayerOutput
from pnml.nn.tasks import MULTICLASS, Task

# A block of about this many numbers stays in cache through all steps.
_BLOCK_NUMBERS = 2**17
# Logits that are computed at once.
_LOGITS = 2**20


def row_blocks(features: Tensor, classes: int) -> Iterator[Tensor]:
    """Rows of features (n, d) in blocks whose logits are about a million numbers."""
    step = max(64, _LOGITS // max(classes, 1))
    return (features[start : start + step] for start in range(0, len(features), step))


def predicted(head: Head, features: Tensor) -> IntArray:
    """Class (n,) that a head gives features (n, d) by its own logits: their region."""
    with torch.no_grad():
        logits = head.in_double(features.device)(features.double(), 1.0)[0]
    labels: IntArray = logits.argmax(dim=1).cpu().numpy()
    return labels


@dataclass(frozen=True)
class Scorer:
    """Computes leverage and regret of features, from their geometry, head and task."""

    geometry: Geometry
    head: Head
    task: Task

    def __post_init__(self) -> None:
        form = self.geometry.statistic.form
        outputs = self.head.outputs(form.features)
        if form.regions not in (0, outputs):
            raise InputError(
                f"The head has {outputs} outputs, but the training rows are in {form.regions} "
                "regions, one for each class; use the network that the statistic was fitted with."
            )

    def output(
        self, features: Tensor, logits: Tensor | None, scale: float | None
    ) -> LastLayerOutput:
        """Logits, leverage and regret of features (..., d).

        `logits` (..., C) are the network's own; None if the head still has to compute them.
        """
        form, shape = self.geometry.statistic.form, features.shape[:-1]
        if features.shape[-1] != form.features:
            raise InputError(
                f"The features have {features.shape[-1]} columns, but {form.features} were "
                "counted in training; use the network that the statistic was fitted with."
            )
        flat = features.reshape(-1, form.features)
        own = None if logits is None else logits.reshape(-1, logits.shape[-1])
        needs_graph = any(part is not None and part.requires_grad for part in (flat, own))
        on_cpu = flat.device.type == "cpu" and not needs_graph
        own, leverage, regret = (self._in_blocks if on_cpu else self.as_graph)(flat, own, scale)
        return LastLayerOutput(
            own.reshape(*shape, own.shape[-1]),
            features,
            leverage.reshape(shape),
            regret.reshape(shape),
            self.task,
        )

    def sample_regrets(self, scale: float | None) -> FloatArray:
        """Regrets (m,) of the sampled training rows, each left out; infinite with its leverage."""
        leverages = self.geometry.left_out
        logits = self._sample_logits(len(leverages), scale)
        return np.where(np.isfinite(leverages), self.task.regret(logits, leverages), np.inf)

    @cached_property
    def own_scale(self) -> float:
        """The scale chosen from training rows: Eq. (F12) for classes, else the typical norm."""
        geometry = self.geometry
        if self.task is not MULTICLASS:
            return geometry.typical_norm
        labels, share = geometry.sample_labels, None
        rows = geometry.sample
        if not geometry.regions.classes:
            labels = self._sample_logits(len(rows), None).argmax(axis=1)
            share = max(SHARE, geometry.alpha / geometry.statistic.rows)
        return chosen_scale(rows, self._sample_logits, labels, share, geometry.typical_norm)

    def _in_blocks(
        self, features: Tensor, own: Tensor | None, scale: float | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Own logits (n, C), leverage and regret (n,), without a graph."""
        form, count = self.geometry.statistic.form, len(features)
        values, head = numpy_rows(features), self.head.in_double(features.device)
        wanted = {scale, None} if own is None else {scale} - {None}
        classes = self.head.outputs(form.features)
        logits_at = {s: torch.empty(count, classes, dtype=torch.float64) for s in wanted}
        step = max(64, _BLOCK_NUMBERS // form.width)
        rows, leverage = np.empty((min(step, count), form.width)), np.empty(count)
        for start in range(0, count, step):
            part = slice(start, start + step)
            block = rows[: len(values[part])]
            norms = form.write(values[part], block)
            factors = [self._factor(torch.from_numpy(norms), s) for s in logits_at]
            with torch.no_grad():
                logits = head(torch.from_numpy(block[:, : form.features]), *factors)
            for s, of_block in zip(logits_at, logits, strict=True):
                logits_at[s][part] = of_block
            named = (logits_at[None] if own is None else own)[part]
            leverage[part] = self.geometry.leverage(block, norms, named.argmax(dim=1).numpy())
        own = logits_at[None] if own is None else own
        regret = self.task.regret(numpy_rows(logits_at.get(scale, own)), leverage)
        return own, torch.from_numpy(leverage), torch.from_numpy(regret)

    def as_graph(
        self, features: Tensor, own: Tensor | None, scale: float | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The same with gradients, on the device of the features."""
        form = self.geometry.statistic.form
        rows, norms = form.of_tensor(features)
        head, raw = self.head.in_double(features.device), rows[:, : form.features]
        own = self.head.own_logits(features) if own is None else own
        leverage = self.geometry.leverage_of_tensor(rows, norms, own.argmax(dim=1))
        scaled = own if scale is None else head(raw, self._factor(norms, scale))[0]
        return own, leverage, self.task.regret(scaled, leverage)

    def _sample_logits(self, count: int, scale: float | None) -> FloatArray:
        geometry = self.geometry
        rows = torch.from_numpy(geometry.sample[:count, : geometry.statistic.form.features])
        norms = torch.from_numpy(geometry.sample_norms[:count])
        with torch.no_grad():
            logits = self.head.in_double(rows.device)(rows, self._factor(norms, scale))[0]
        array: FloatArray = logits.numpy()
        return array

    def _factor(self, norms: Tensor, scale: float | None) -> Factor:
        """Factor that scales rows to features of norm `scale`, or of their own norm. Eq. (F10)."""
        if self.geometry.statistic.form.normalize:
            return norms[:, None] if scale is None else scale
        safe = torch.where(norms > 0, norms, torch.ones_like(norms))
        return 1.0 if scale is None else scale / safe[:, None]
