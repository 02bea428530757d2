"""Scores of features: leverage and regret from geometry, head and task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.nn.feature_geometry import SHARE, Geometry
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.feature_scale import chosen_scale, scored_rows
from pnml.nn.head import Factor, Head, LinearHead
from pnml.nn.last_layer_output import DeferredOutput, LastLayerOutput
from pnml.nn.scaled_head import ScaledHead, rows_at_once
from pnml.nn.tasks import MULTICLASS, Task

# A block of features of about this many numbers stays in cache through all steps.
_BLOCK_NUMBERS = 2**17
# From this many classes on, products take most of the time and want larger blocks.
_MANY_CLASSES, _LARGE_BLOCK = 128, 2**19
# Own logits up to this many, 128 MiB, are kept; of more rows they are computed when asked for.
_KEPT_LOGITS = 2**24


@dataclass(frozen=True)
class Scorer:
    """Computes leverage and regret of features, from training geometry, head and task.

    The geometry gives the leverage, the head the logits, and the task (such as one label of several
    classes) says how both become a regret. `precision`, "double" or "single", is that of logits.
    """

    geometry: Geometry
    head: Head
    task: Task
    precision: str = "double"  # of the logits behind the regret

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
        `scale` is the norm to which features are brought for the regret; None leaves them as they
        are. Rows are scored in blocks of up to four million logits, 32 MiB. Own logits are kept up
        to 16 million numbers; if there are more, they are computed when first read.
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
        leverage, regret = leverage.reshape(shape), regret.reshape(shape)
        if own is None:
            own_logits = partial(self._own_logits, flat, shape)
            return DeferredOutput(own_logits, features, leverage, regret, self.task)
        own = own.reshape(*shape, own.shape[-1])
        return LastLayerOutput(own, features, leverage, regret, self.task)

    def sample_regrets(self, scale: float | None) -> FloatArray:
        """Regrets (m,) in nats of sampled training rows, as if each was left out of training.

        They are infinite where the leverage is. `scale` is the norm of features for the regret;
        None leaves features as they are.
        """
        leverages = self.geometry.left_out
        step = rows_at_once(self._classes)
        regrets = np.empty(len(leverages))
        for start in range(0, len(regrets), step):
            part = slice(start, start + step)
            logits = self._sample_logits(part)(scale)
            regrets[part] = self.task.regret(logits, leverages[part])
        return np.where(np.isfinite(leverages), regrets, np.inf)

    @cached_property
    def own_scale(self) -> float:
        """Norm of features for the regret, chosen from training rows. Eqs. (F12), (F15).

        For tasks other than one label of several classes, the root-mean-square norm in training.
        """
        geometry = self.geometry
        if self.task is not MULTICLASS:
            return geometry.typical_norm
        rows, labels, share = geometry.sample, geometry.sample_labels, None
        if not geometry.regions.classes:
            labels = self._sample_logits(slice(None))(None).argmax(axis=1)
            share = max(SHARE, geometry.alpha / geometry.statistic.rows)
        logits_at = self._sample_logits(slice(scored_rows(len(rows), self._classes)))
        return chosen_scale(rows, logits_at, labels, share, geometry.typical_norm)

    @cached_property
    def scaled_head(self) -> ScaledHead:
        """The head for logits at any norm of features, with its weights converted once."""
        return ScaledHead(self.head, self.precision)

    @property
    def _classes(self) -> int:
        return self.head.outputs(self.geometry.statistic.form.features)

    def _in_blocks(
        self, features: Tensor, own: Tensor | None, scale: float | None
    ) -> tuple[Tensor | None, Tensor, Tensor]:
        """Own logits (n, C), leverage and regret (n,), without a graph.

        None for own logits that were not given and are too many to keep.
        """
        form, count, classes = self.geometry.statistic.form, len(features), self._classes
        values, kept = numpy_rows(features), own
        if own is None and count * classes <= _KEPT_LOGITS:
            kept = torch.empty(count, classes, dtype=torch.float64)
        block_numbers = _BLOCK_NUMBERS if classes < _MANY_CLASSES else _LARGE_BLOCK
        step = min(max(64, block_numbers // form.width), rows_at_once(classes))
        rows, leverage = np.empty((min(step, count), form.width)), np.empty(count)
        regret = np.empty(count)
        for start in range(0, count, step):
            part = slice(start, start + step)
            block = rows[: len(values[part])]
            norms = form.write(values[part], block)
            given = None if own is None else own[part]
            named, scaled = self._two_logits(block, norms, given, scale)
            if own is None and kept is not None:
                kept[part] = named
            labels = numpy_rows(named).argmax(axis=1)
            leverage[part] = self.geometry.leverage(block, norms, labels)
            regret[part] = self.task.regret(numpy_rows(scaled), leverage[part])
        return kept, torch.from_numpy(leverage), torch.from_numpy(regret)

    def _two_logits(
        self, block: FloatArray, norms: FloatArray, own: Tensor | None, scale: float | None
    ) -> tuple[Tensor, Tensor]:
        """Logits (n, C) of rows as the network gives them, and at a scale."""
        unit = torch.from_numpy(block[:, : self.geometry.statistic.form.features])
        sizes, head = torch.from_numpy(norms), self.scaled_head
        if own is None:
            wanted = (None, scale) if scale is not None else (None,)
            logits = head.logits(unit, *(self._factor(sizes, s) for s in wanted))
            return logits[0], logits[-1]
        if scale is None:
            return own, own
        safe = torch.where(sizes > 0, sizes, torch.ones_like(sizes))
        scaled = head.rescaled(own, scale / safe[:, None])
        return own, head.logits(unit, self._factor(sizes, scale))[0] if scaled is None else scaled

    def _own_logits(self, features: Tensor, shape: Sequence[int]) -> Tensor:
        logits = self.scaled_head.logits(features, 1.0)[0].double()
        return logits.reshape(*shape, logits.shape[-1])

    def as_graph(
        self, features: Tensor, own: Tensor | None, scale: float | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Own logits (n, C), leverage (n,) and regret (n,) of features (n, d), with gradients.

        `own` are the network's logits, or None to compute them; `scale` is the norm of features for
        the regret, or None to leave it. All is computed on the device of the features.
        """
        form = self.geometry.statistic.form
        rows, norms = form.of_tensor(features)
        head, raw = self.head.in_double(features.device), rows[:, : form.features]
        own = self.head.own_logits(features) if own is None else own
        leverage = self.geometry.leverage_of_tensor(rows, norms, own.argmax(dim=1))
        scaled = own if scale is None else head(raw, self._factor(norms, scale))[0]
        return own, leverage, self.task.regret(scaled, leverage)

    def _sample_logits(self, part: slice) -> Callable[[float | None], FloatArray]:
        """Logits (n, C) of some sampled rows as a function of the scale; None is their own norm."""
        geometry, head = self.geometry, self.head
        rows = torch.from_numpy(geometry.sample[part, : geometry.statistic.form.features])
        norms = torch.from_numpy(geometry.sample_norms[part])
        if not isinstance(head, LinearHead):
            return lambda s: self.scaled_head.logits(rows, self._factor(norms, s))[0].numpy()
        start, one = (logits.numpy() for logits in self.scaled_head.logits(rows, 0.0, 1.0))
        slopes = one - start  # the head is linear: one product for all scales

        def logits_at(scale: float | None) -> FloatArray:
            logits: FloatArray = slopes * np.asarray(self._factor(norms, scale)) + start
            return logits

        return logits_at

    def _factor(self, norms: Tensor, scale: float | None) -> Factor:
        """Factor that scales rows to features of norm `scale`, or of their own norm. Eq. (F10)."""
        if self.geometry.statistic.form.normalize:
            return norms[:, None] if scale is None else scale
        safe = torch.where(norms > 0, norms, torch.ones_like(norms))
        return 1.0 if scale is None else scale / safe[:, None]
