"""The statistic of a network's features as buffers, saved and moved with its weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from pnml.core.arrays import FloatArray
from pnml.core.statistic.row_sample import RowSample
from pnml.errors import InputError
from pnml.nn.feature_rows import RowForm
from pnml.nn.feature_statistic import FeatureStatistic


class StatisticBuffers(nn.Module):
    """A FeatureStatistic as buffers of a module, in float64, and the scale chosen from it."""

    counts: Tensor  # (3,)  rows, whether normalised, whether with a bias
    xx: Tensor  # (w, w)
    energy: Tensor  # ()
    sample_keys: Tensor  # (m,)
    sample_rows: Tensor  # (m, w + 1)
    sample_bound: Tensor  # (2,)  size of the sample, and the smallest discarded key
    scale: Tensor  # ()  NaN if none is stored

    def __init__(self) -> None:
        super().__init__()
        self.revision = 0  # increases whenever the statistic changes
        self._loaded = False  # from a state_dict, which is saved again as it was

        def hold(name: str, value: FloatArray) -> None:
            self.register_buffer(name, torch.tensor(value, dtype=torch.float64))

        self.register_buffer("counts", torch.zeros(3, dtype=torch.int64))
        hold("xx", np.zeros((0, 0)))
        hold("energy", np.zeros(()))
        hold("sample_keys", np.zeros(0))
        hold("sample_rows", np.zeros((0, 1)))
        hold("sample_bound", np.array([0.0, 1.0]))
        hold("scale", np.array(np.nan))

    @property
    def fitted(self) -> bool:
        """Whether the buffers hold a statistic."""
        return self.xx.shape[0] > 0

    @property
    def counted(self) -> FeatureStatistic:
        """The statistic in the buffers."""
        self._refuse_meta()
        rows, normalize, bias = self.counts.tolist()
        size, bound = self.sample_bound.tolist()
        xx, keys, sample = (
            part.cpu().numpy() for part in (self.xx, self.sample_keys, self.sample_rows)
        )
        form = RowForm(len(xx) - bias, bool(normalize), bool(bias))
        return FeatureStatistic(
            form, rows, xx, float(self.energy), RowSample(keys, sample, int(size), bound)
        )

    @property
    def needs_scale(self) -> bool:
        """Whether a statistic that was computed here has no stored scale yet."""
        computed = self.fitted and not self._loaded and not self.xx.is_meta
        return computed and self.chosen_scale is None

    @property
    def chosen_scale(self) -> float | None:
        """The scale in the buffer; None if none is stored."""
        self._refuse_meta()
        scale = float(self.scale)
        return None if math.isnan(scale) else scale

    def store(self, statistic: FeatureStatistic) -> None:
        """Replace the statistic in the buffers; the scale is unset."""
        form, sample = statistic.form, statistic.sample
        self._hold("counts", [statistic.rows, form.normalize, form.bias], torch.int64)
        values = {
            "xx": statistic.xx,
            "energy": np.array(statistic.energy),
            "sample_keys": sample.keys,
            "sample_rows": sample.rows,
            "sample_bound": np.array([sample.size, sample.bound]),
            "scale": np.array(np.nan),
        }
        for name, value in values.items():
            self._hold(name, value)
        self.revision += 1
        self._loaded = False

    def keep_scale(self, scale: float) -> None:
        """Store the scale chosen for this statistic."""
        self._hold("scale", scale)

    def _get_name(self) -> str:
        return "FeatureStatistic"  # in the repr of a network

    def _refuse_meta(self) -> None:
        if self.xx.is_meta:
            raise InputError(
                "The statistic is on the meta device and holds no numbers; load a state_dict "
                "into it first."
            )

    def _hold(self, name: str, value: Any, dtype: torch.dtype = torch.float64) -> None:
        # a buffer made in inference mode could not be changed outside of it
        with torch.inference_mode(False):
            setattr(self, name, torch.as_tensor(value, dtype=dtype, device=self.xx.device))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move to another device with the network, but keep the dtype."""
        before = dict(self.named_buffers(recurse=False))
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, value in before.items():
            moved = getattr(self, name)
            if moved.dtype != value.dtype:
                setattr(self, name, value.to(moved.device))
        return self

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Load buffers of any size, so that a module that was never fitted can load them."""
        for name, here in list(self.named_buffers(recurse=False)):
            there = state_dict.get(prefix + name)
            if isinstance(there, Tensor) and there.shape != here.shape:
                device = there.device if here.is_meta else here.device
                setattr(self, name, torch.empty(there.shape, dtype=here.dtype, device=device))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self.revision += 1
        self._loaded = True
