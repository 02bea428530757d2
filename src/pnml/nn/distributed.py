"""The processes of torch.distributed: what they say to each other, and what they add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True)
class Processes:
    """A process group, seen by one of its processes.

    All of them must call the same methods in the same order, as always with collectives.
    """

    group: Any  # None is the default group
    rank: int
    size: int

    @classmethod
    def of(cls, asked: Any) -> Processes:
        """The processes of a group; True or None is the default one."""
        if not distributed.is_available() or not distributed.is_initialized():
            raise InputError(
                "Rows are to be added up over processes, but torch.distributed has no process "
                "group; call torch.distributed.init_process_group first, in each of them."
            )
        group = None if asked is True else asked
        try:
            rank, size = distributed.get_rank(group), distributed.get_world_size(group)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{asked!r} is no process group of torch.distributed; pass True for the default "
                "one, or what torch.distributed.new_group returned."
            ) from error
        if rank < 0:
            raise InputError(
                "This process is not in the process group that was passed; call this in the "
                "processes of the group only."
            )
        return cls(group, rank, size)

    def gathered(self, said: S) -> list[S]:
        """What each process says, in the order of their ranks; for small things."""
        everything: list[Any] = [None] * self.size
        with self._in_touch():
            distributed.all_gather_object(everything, said, group=self.group)
        return everything

    def attempt(self, doing: Callable[[], T], said: Callable[[T], S]) -> tuple[T, list[S]]:
        """What `doing` gives here, and what is `said` of it everywhere.

        Where it fails in one process it fails in all of them, so that none waits for ever.
        """
        try:
            own = doing()
            message: tuple[str | None, S | None] = None, said(own)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
            self.gathered((failure, None))
            raise
        everyone = self.gathered(message)
        for rank, (failed, _) in enumerate(everyone):
            if failed is not None:
                raise RuntimeError(
                    f"Process {rank} of {self.size} has failed ({failed.rstrip('.')}), so nothing "
                    "was added up in the others either; put that right and start all of them again."
                )
        return own, [what for _, what in everyone]  # type: ignore[misc]

    def total(self, values: FloatArray) -> FloatArray:
        """Sum over the processes of arrays of one shape, the same to the last bit in all."""
        flat = torch.tensor(values, dtype=torch.float64, device=self._device)
        with self._in_touch():
            distributed.all_reduce(flat, group=self.group)
        summed: FloatArray = flat.cpu().numpy()
        return summed

    def total_symmetric(self, values: FloatArray) -> FloatArray:
        """The same for symmetric matrices (w, w), of which one half travels."""
        upper = np.tri(len(values), dtype=bool).T
        whole = np.zeros_like(values)
        whole[upper] = self.total(values[upper])
        return whole + np.triu(whole, 1).T

    def sampled(self, sample: RowSample) -> RowSample:
        """The sample of the rows of all processes. Eq. (G4).

        Keys travel first, so that of the rows only those travel that stay.
        """
        heard = self.gathered((sample.keys, sample.size, sample.bound))
        whole = reduce(
            add,
            (
                RowSample(
                    keys, np.column_stack([np.full(len(keys), rank), range(len(keys))]), size, bound
                )
                for rank, (keys, size, bound) in enumerate(heard)
            ),
        )
        origin, place = whole.rows.astype(int).T
        rows = np.zeros((len(whole.keys), sample.rows.shape[1]))
        rows[origin == self.rank] = sample.rows[place[origin == self.rank]]
        return RowSample(whole.keys, self.total(rows), whole.size, whole.bound)

    @property
    def _device(self) -> torch.device:
        """Where tensors must be to travel."""
        on_gpu = distributed.get_backend(self.group) == "nccl"
        return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")

    @contextmanager
    def _in_touch(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise RuntimeError(
                f"Process {self.rank} of {self.size} has lost the others while adding up: one of "
                "them has stopped, or is later than the timeout of the process group; look for "
                "its own message, or pass a longer timeout to init_process_group."
            ) from error
