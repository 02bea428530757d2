"""torch.distributed: add the statistics of all processes, in every one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from pnml.core.statistic.gram import Gram, joint_mean, joint_moments, lost_together, with_moments
from pnml.core.statistic.row_sample import RowSample
from pnml.errors import InputError
from pnml.nn.distributed import Processes, warn_if_same
from pnml.scale.from_gram import counts_targets


def all_reduce(counted: Any, group: Any = None) -> Any:
    """Sum what the processes of torch.distributed learnt, each from its rows, in every process.

    Call it once, in every process of the group, after each has learnt from its part of the rows.
    All processes get the same bits. Only moments and samples of rows travel. A process without rows
    passes an estimator that was never fitted, or an empty Gram. If one process fails, or is gone,
    all are told.

    Parameters
    ----------
    counted : PNMLRegressor, LpNMLRegressor with penalty="l2", LastLayerPNML or Gram
    group : process group of torch.distributed, by default that of all processes
        With gloo sums are made on the CPU, with nccl on the current GPU.

    Returns
    -------
    The model itself, which now has learnt from all rows, or a new Gram.

    Examples
    --------
    >>> import tempfile, torch
    >>> from pnml import PNMLRegressor
    >>> meeting = f"file://{tempfile.mkdtemp()}/meeting"
    >>> torch.distributed.init_process_group("gloo", meeting, rank=0, world_size=1)
    >>> model = PNMLRegressor().partial_fit([[0.0], [1.0], [3.0]], [1.0, 2.0, 4.5])
    >>> float(all_reduce(model).coef_[0].round(3))  # alone, it changes nothing
    1.179
    >>> torch.distributed.destroy_process_group()
    """
    if hasattr(counted, "all_reduce"):  # a LastLayerPNML sums its own statistic
        return counted.all_reduce(group)
    processes = Processes.of(group)
    own, shares = processes.attempt(lambda: _counted_here(counted), _Share.of)
    whole = _added_up(own[0], shares, processes)
    if isinstance(counted, Gram):
        return whole
    fitted = counted.fit_gram(whole)
    names = next((share.names for share in shares if share.gram is not None), None)
    if names is not None:
        fitted.feature_names_in_ = np.array(names, dtype=object)
    return fitted


_Counted = tuple[Gram | None, tuple[str, ...] | None]  # and the names of the features


def _counted_here(counted: Any) -> _Counted:
    """The Gram of this process's rows, or None without rows, and the names of its features."""
    if isinstance(counted, Gram):
        return (counted if counted.rows else None), None
    if not counts_targets(counted):
        raise InputError(
            f"{type(counted).__name__} does not add up over processes; pass a PNMLRegressor, an "
            'LpNMLRegressor with penalty="l2", a LastLayerPNML or a Gram.'
        )
    gram = counted._counted() if counted.__sklearn_is_fitted__() else None
    names = getattr(counted, "feature_names_in_", None)
    return gram, None if names is None else tuple(names)


@dataclass(frozen=True)
class _Share:
    """What one process sends to all others about its rows: all but the moments and the sample."""

    gram: Gram | None  # with moments and sample left out; None where there are no rows
    names: tuple[str, ...] | None
    fingerprint: float  # of the rows, whatever their order

    @classmethod
    def of(cls, counted: _Counted) -> _Share:
        gram, names = counted
        if gram is None:
            return cls(None, names, 0.0)
        nothing = np.zeros(0)
        sample = RowSample(nothing, np.zeros((0, 0)), gram.sample.size)
        brief = replace(gram, xx=nothing, xy=nothing, yy=nothing, sample=sample)
        return cls(brief, names, float(gram.xx.sum() + gram.yy.sum() + gram.x_mean.sum()))


def _added_up(own: Gram | None, shares: Sequence[_Share], processes: Processes) -> Gram:
    """The Gram of the rows of all processes. Eq. (B20)."""
    known = [share.gram for share in shares if share.gram is not None]
    _refuse_unlike(shares)
    warn_if_same([(s.gram.rows if s.gram else 0, s.fingerprint) for s in shares])
    d, k, size = len(known[0].x_mean), len(known[0].y_mean), known[0].sample.size
    weights, means = np.array([g.weight for g in known]), np.stack([joint_mean(g) for g in known])
    weight = float(weights.sum())
    mean = means[0] + weights @ (means - means[0]) / weight
    moments = np.zeros((d + k, d + k))
    if own is not None:
        off = joint_mean(own) - mean
        moments = joint_moments(own)
        moments += own.weight * np.outer(off, off)
    moments = processes.total_symmetric(moments)
    nothing = RowSample(np.zeros(0), np.zeros((0, d + k + 1)), size)
    counts = replace(
        known[0],
        rows=sum(gram.rows for gram in known),
        weight=weight,
        rounding=max(gram.rounding for gram in known),
        whole=all(gram.whole for gram in known),
        sample=processes.sampled(nothing if own is None else own.sample),
        lost=reduce(lost_together, (gram.lost for gram in known)),
    )
    return with_moments(counts, mean, moments)


def _refuse_unlike(shares: Sequence[_Share]) -> None:
    columns_of = [
        (rank, _columns(share.gram, share.names))
        for rank, share in enumerate(shares)
        if share.gram is not None
    ]
    if not columns_of:
        raise InputError(
            f"There is nothing to add up, since none of {len(shares)} processes has learnt from "
            "any row; fit or partial_fit in one of them first."
        )
    first, columns = columns_of[0]
    for rank, other in columns_of:
        if other != columns:
            raise InputError(
                f"Process {rank} has counted {other}, but process {first} has counted {columns}; "
                "use the same columns, in the same order, in all of them."
            )


def _columns(gram: Gram, names: tuple[str, ...] | None) -> str:
    named = "" if names is None else f" ({', '.join(names)})"
    return f"{len(gram.x_mean)} features{named} and {len(gram.y_mean)} targets"
