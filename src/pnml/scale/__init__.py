"""Fit more rows than memory holds: files, streams, Dask, torch.distributed. All add Grams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnml.lazy_names import found_on_first_use

if TYPE_CHECKING:
    from pnml.scale.dask_estimator import lazily
    from pnml.scale.dask_fit import fit_dask, k_fold_dask
    from pnml.scale.merging import merge
    from pnml.scale.mixed_files import fit_mixed_files
    from pnml.scale.monitor import Drift, RegretMonitor
    from pnml.scale.number_files import fit_files
    from pnml.scale.processes import all_reduce
    from pnml.scale.window import SlidingWindow

# Loaded on first use: each needs packages that the others do without.
_HOMES = {
    "Drift": "pnml.scale.monitor",
    "RegretMonitor": "pnml.scale.monitor",
    "SlidingWindow": "pnml.scale.window",
    "all_reduce": "pnml.scale.processes",
    "fit_dask": "pnml.scale.dask_fit",
    "fit_files": "pnml.scale.number_files",
    "fit_mixed_files": "pnml.scale.mixed_files",
    "k_fold_dask": "pnml.scale.dask_fit",
    "lazily": "pnml.scale.dask_estimator",
    "merge": "pnml.scale.merging",
}

__all__ = [
    "Drift",
    "RegretMonitor",
    "SlidingWindow",
    "all_reduce",
    "fit_dask",
    "fit_files",
    "fit_mixed_files",
    "k_fold_dask",
    "lazily",
    "merge",
]

__getattr__, __dir__ = found_on_first_use(globals(), _HOMES)
