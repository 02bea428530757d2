"""Features counted in several processes become one statistic, the same in all of them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pnml.errors import InputError
from pnml.nn.distributed import Processes
from pnml.nn.feature_rows import RowForm
from pnml.nn.feature_statistic import Counted

# Sums of the same rows in another order differ by less than this share.
_SAME = 1e-12


@dataclass(frozen=True)
class Share:
    """What one process tells the others of the rows that it has counted."""

    form: RowForm | None  # None where not one row came
    rows: int
    fingerprint: float  # of the rows, whatever their order

    @classmethod
    def of(cls, counted: Counted | None) -> Share:
        """What there is to tell."""
        if counted is None:
            return cls(None, 0, 0.0)
        return cls(counted.form, counted.rows, float(counted.xx.sum()) + counted.energy)


def added_up(counted: Counted | None, shares: Sequence[Share], processes: Processes) -> Counted:
    """The rows of all processes, of which each has told its share. Eq. (F10)."""
    form = _one_form(shares)
    warn_if_same([(share.rows, share.fingerprint) for share in shares])
    own = Counted.nothing(form) if counted is None else counted
    return Counted(
        form,
        sum(share.rows for share in shares),
        processes.total_symmetric(own.xx),
        float(processes.total(np.array(own.energy))),
        processes.sampled(own.sample),
    )


def warn_if_same(told: Sequence[tuple[int, float]]) -> None:
    """Warn where two processes have counted equally many rows with the same fingerprint."""
    order = sorted(range(len(told)), key=lambda rank: told[rank])
    for one, other in itertools.pairwise(order):
        (rows, mark), (also, next_mark) = told[one], told[other]
        if rows == also > 0 and abs(mark - next_mark) <= _SAME * abs(mark):
            first, second = sorted((one, other))
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
