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
from pnml.nn.feature_regions import Regions
from pnml.nn.feature_rows import RowForm
from pnml.nn.feature_statistic import FeatureStatistic


class StatisticBuffers(nn.Module):
    """A FeatureStatistic (sums over training features) and its scale, as buffers of a module.

    Numbers stay in float64 when the network is cast. The scale is the norm of features for the
    regret, chosen from the statistic.
    """

    counts: Tensor  # (4,)  rows, whether normalised, whether with a bias, number of regions
    xx: Tensor  # (w, w)
    energy: Tensor  # ()
    sample_keys: Tensor  # (m,)
    sample_rows: Tensor  # (m, w + 1), or with regions (m, w + 2)
    sample_bound: Tensor  # (2,)  size of the sample, and the smallest discarded key
    region_ids: Tensor  # (k,)  of the regions with rows
    region_counts: Tensor  # (k,)
    region_means: Tensor  # (k, w)
    scale: Tensor  # ()  NaN if none is stored

    def __init__(self) -> None:
        super().__init__()
        self.revision = 0  # increases whenever the statistic changes
        self._loaded = False  # from a state_dict, which is saved again as it was

        def hold(name: str, value: FloatArray) -> None:
            self.register_buffer(name, torch.tensor(value, dtype=torch.float64))

        self.register_buffer("counts", torch.zeros(4, dtype=torch.int64))
        self.register_buffer("region_ids", torch.zeros(0, dtype=torch.int64))
        hold("xx", np.zeros((0, 0)))
        hold("energy", np.zeros(()))
        hold("sample_keys", np.zeros(0))
        hold("sample_rows", np.zeros((0, 1)))
        hold("sample_bound", np.array([0.0, 1.0]))
        hold("region_counts", np.zeros(0))
        hold("region_means", np.zeros((0, 0)))
        hold("scale", np.array(np.nan))

    @property
    def fitted(self) -> bool:
        """Whether the buffers hold a statistic."""
        return self.xx.shape[0] > 0

    @property
    def _has_regions(self) -> bool:
        return not self.counts.is_meta and bool(self.counts[3])

    @property
    def counted(self) -> FeatureStatistic:
        """The statistic in the buffers, as a FeatureStatistic of numpy arrays."""
        self._refuse_meta()
        rows, normalize, bias, regions = self.counts.tolist()
        size, bound = self.sample_bound.tolist()
        held = {name: value.cpu().numpy() for name, value in self.named_buffers(recurse=False)}
        beside = bias + (normalize and regions > 0)  # columns beside the features
        form = RowForm(len(held["xx"]) - beside, bool(normalize), bool(bias), regions)
        return FeatureStatistic(
            form,
            rows,
            held["xx"],
            float(self.energy),
            RowSample(held["sample_keys"], held["sample_rows"], int(size), bound),
            Regions(regions, held["region_ids"], held["region_counts"], held["region_means"]),
        )

    @property
    def needs_scale(self) -> bool:
        """Whether the statistic was computed here, not loaded, and has no stored scale yet."""
        computed = self.fitted and not self._loaded and not self.xx.is_meta
        return computed and self.chosen_scale is None

    @property
    def chosen_scale(self) -> float | None:
        """The stored scale, which is the norm of features for the regret; None if none is."""
        self._refuse_meta()
        scale = float(self.scale)
        return None if math.isnan(scale) else scale

    def store(self, statistic: FeatureStatistic) -> None:
        """Replace the statistic in the buffers, and forget the stored scale."""
        form, sample, regions = statistic.form, statistic.sample, statistic.regions
        counts = [statistic.rows, form.normalize, form.bias, form.regions]
        self._hold("counts", counts, torch.int64)
        self._hold("region_ids", regions.ids, torch.int64)
        values = {
            "xx": statistic.xx,
            "energy": np.array(statistic.energy),
            "sample_keys": sample.keys,
            "sample_rows": sample.rows,
            "sample_bound": np.array([sample.size, sample.bound]),
            "region_counts": regions.counts,
            "region_means": regions.means,
            "scale": np.array(np.nan),
        }
        for name, value in values.items():
            self._hold(name, value)
        self.revision += 1
        self._loaded = False

    def keep_scale(self, scale: float) -> None:
        """Store the scale, the norm of features for the regret, chosen from this statistic."""
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

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Save a statistic without regions in the form of version 0.1, which can then load it."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if not self.region_ids.numel() and not (self.fitted and self._has_regions):
            destination[prefix + "counts"] = destination[prefix + "counts"][:3]
            for name in ("region_ids", "region_counts", "region_means"):
                del destination[prefix + name]

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Load buffers of any size, so that a module that was never fitted can load them.

        A state_dict of version 0.1 has no regions, and its rows keep that form.
        """
        _add_no_regions(state_dict, prefix)
        for name, here in list(self.named_buffers(recurse=False)):
            there = state_dict.get(prefix + name)
            if isinstance(there, Tensor) and there.shape != here.shape:
                device = there.device if here.is_meta else here.device
                setattr(self, name, torch.empty(there.shape, dtype=here.dtype, device=device))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self.revision += 1
        self._loaded = True


def _add_no_regions(state: dict[str, Any], prefix: str) -> None:
    """Add the entries that version 0.1 lacks to its state_dict: rows without regions."""
    counts, xx = state.get(prefix + "counts"), state.get(prefix + "xx")
    if not isinstance(counts, Tensor) or not isinstance(xx, Tensor) or counts.shape != (3,):
        return
    state[prefix + "counts"] = torch.cat([counts, counts.new_zeros(1)])
    state[prefix + "region_ids"] = counts.new_zeros(0)
    state[prefix + "region_counts"] = xx.new_zeros(0)
    state[prefix + "region_means"] = xx.new_zeros(0, len(xx))
