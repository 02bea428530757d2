"""Sums over the processes of torch.distributed, the same bits in all of them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
import torch
from torch import distributed

from pnml.core.arrays import FloatArray
from pnml.core.statistic.row_sample import RowSample
from pnml.errors import InputError
from pnml.nn.feature_regions import IntArray, Regions
from pnml.nn.feature_rows import RowForm
from pnml.nn.feature_statistic import FeatureStatistic

T = TypeVar("T")
S = TypeVar("S")

# Sums of the same rows in another order differ by less than this share.
_SAME = 1e-12


@dataclass(frozen=True)
class Processes:
    """A process group of torch.distributed, as one of its processes sees it.

    All processes must call the same methods in the same order, as with all collectives.
    """

    group: Any  # None is the default group
    rank: int
    size: int

    @classmethod
    def of(cls, group: Any) -> Processes:
        """The processes of a process group; True or None is the default group."""
        if not distributed.is_available() or not distributed.is_initialized():
            raise InputError(
                "Rows are to be added up over processes, but torch.distributed has no process "
                "group; call torch.distributed.init_process_group first, in each of them."
            )
        used = None if group is True else group
        try:
            rank, size = distributed.get_rank(used), distributed.get_world_size(used)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{group!r} is no process group of torch.distributed; pass True for the default "
                "one, or what torch.distributed.new_group returned."
            ) from error
        if rank < 0:
            raise InputError(
                "This process is not in the process group that was passed; call this in the "
                "processes of the group only."
            )
        return cls(used, rank, size)

    def gathered(self, value: S) -> list[S]:
        """The values of all processes, in the order of their ranks; for small values."""
        everything: list[Any] = [None] * self.size
        with self._explained():
            distributed.all_gather_object(everything, value, group=self.group)
        return everything

    def attempt(self, doing: Callable[[], T], report: Callable[[T], S]) -> tuple[T, list[S]]:
        """The result of `doing()` in this process, and `report(result)` of all, in order of rank.

        If `doing` fails in one process, all processes raise, so that none waits for ever.
        """
        try:
            own = doing()
            message: tuple[str | None, S | None] = None, report(own)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
            self.gathered((failure, None))
            raise
        messages = self.gathered(message)
        for rank, (failed, _) in enumerate(messages):
            if failed is not None:
                raise RuntimeError(
                    f"Process {rank} of {self.size} has failed ({failed.rstrip('.')}), so nothing "
                    "was added up in the others either; put that right and start all of them again."
                )
        return own, [reported for _, reported in messages]  # type: ignore[misc]

    def total(self, values: FloatArray) -> FloatArray:
        """Sum of `values` over all processes, element by element; all get the same bits.

        The array must have the same shape in all of them.
        """
        flat = torch.tensor(values, dtype=torch.float64, device=self._device)
        with self._explained():
            distributed.all_reduce(flat, group=self.group)
        total: FloatArray = flat.cpu().numpy()
        return total

    def total_symmetric(self, values: FloatArray) -> FloatArray:
        """Sum over all processes of a symmetric matrix (w, w); only one half is sent."""
        upper = np.tri(len(values), dtype=bool).T
        whole = np.zeros_like(values)
        whole[upper] = self.total(values[upper])
        return whole + np.triu(whole, 1).T

    def sampled(self, sample: RowSample) -> RowSample:
        """Uniform sample of the rows of all processes, from the sample of each. Eq. (G4).

        Keys, by which rows are drawn, are sent first, so that only the rows that stay are sent.
        """
        samples = self.gathered((sample.keys, sample.size, sample.bound))
        whole = reduce(
            add,
            (
                RowSample(
                    keys, np.column_stack([np.full(len(keys), rank), range(len(keys))]), size, bound
                )
                for rank, (keys, size, bound) in enumerate(samples)
            ),
        )
        origin, place = whole.rows.astype(int).T
        rows = np.zeros((len(whole.keys), sample.rows.shape[1]))
        rows[origin == self.rank] = sample.rows[place[origin == self.rank]]
        return RowSample(whole.keys, self.total(rows), whole.size, whole.bound)

    def union(self, ids: IntArray) -> IntArray:
        """The integers that any process has in `ids`, each once, in increasing order."""
        return np.unique(np.concatenate(self.gathered(ids)))

    @property
    def _device(self) -> torch.device:
        """Device of tensors that are sent."""
        on_gpu = distributed.get_backend(self.group) == "nccl"
        return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of torch.distributed as a sentence that says what to do."""
        try:
            yield
        except RuntimeError as error:
            raise RuntimeError(
                f"Process {self.rank} of {self.size} has lost the others while adding up: one of "
                "them has stopped, or is later than the timeout of the process group; look for "
                "its own message, or pass a longer timeout to init_process_group."
            ) from error


@dataclass(frozen=True)
class Share:
    """What one process of a distributed fit reports to the others about its rows.

    `form` says how features became rows, None without rows; `fingerprint` is a sum over the rows,
    the same in any order, to notice processes that counted the same rows.
    """

    form: RowForm | None  # None if there are no rows
    rows: int
    fingerprint: float  # of the rows in any order

    @classmethod
    def of(cls, statistic: FeatureStatistic | None) -> Share:
        """The report on the statistic of one process; None stands for a process without rows."""
        if statistic is None:
            return cls(None, 0, 0.0)
        regions = statistic.regions
        means = float(regions.counts @ regions.means.sum(axis=1))
        fingerprint = float(statistic.xx.sum()) + statistic.energy + means
        return cls(statistic.form, statistic.rows, fingerprint)


def summed(
    statistic: FeatureStatistic | None, shares: Sequence[Share], processes: Processes
) -> FeatureStatistic:
    """Sum of the feature statistics of all processes, the same in each of them.

    `statistic` is that of this process, None without rows; `shares` are the reports of all
    processes. Eqs. (F10), (F14): the means of all regions come first, then the scatters about them.
    """
    form = _one_form(shares)
    warn_if_same([(share.rows, share.fingerprint) for share in shares])
    own = FeatureStatistic.empty(form) if statistic is None else statistic
    xx, regions = own.xx, own.regions
    if form.regions:
        ids = processes.union(regions.ids)
        counts, means = regions.moved_to(ids)
        total = processes.total(counts)
        mean = processes.total(counts[:, None] * means) / total[:, None]
        gap = np.sqrt(counts)[:, None] * (means - mean)
        xx, regions = xx + gap.T @ gap, Regions(form.regions, ids, total, mean)
    return FeatureStatistic(
        form,
        sum(share.rows for share in shares),
        processes.total_symmetric(xx),
        float(processes.total(np.array(own.energy))),
        processes.sampled(own.sample),
        regions,
    )


def warn_if_same(reports: Sequence[tuple[int, float]]) -> None:
    """Warn if two distributed processes have counted the same rows.

    `reports` holds the number of rows of each process and their fingerprint, in order of rank.
    """
    order = sorted(range(len(reports)), key=lambda rank: reports[rank])
    for rank, next_rank in itertools.pairwise(order):
        (rows, mark), (next_rows, next_mark) = reports[rank], reports[next_rank]
        if rows == next_rows > 0 and abs(mark - next_mark) <= _SAME * abs(mark):
            first, second = sorted((rank, next_rank))
            warnings.warn(
                f"Processes {first} and {second} have counted the same {rows} rows, which now "
                "count twice; give each process its own part, for instance by a "
                "DistributedSampler.",
                UserWarning,
                stacklevel=5,
            )
            return


def _one_form(shares: Sequence[Share]) -> RowForm:
    known = [(rank, share.form) for rank, share in enumerate(shares) if share.form is not None]
    if not known or not any(share.rows for share in shares):
        raise InputError(
            f"There is nothing to fit, since not one training row came to any of {len(shares)} "
            "processes; pass loaders with rows in them."
        )
    first, form = known[0]
    for rank, other in known:
        if other != form:
            raise InputError(
                f"Process {rank} has rows of {other}, but process {first} has rows of {form}; use "
                "the same network and the same settings in all of them."
            )
    return form
