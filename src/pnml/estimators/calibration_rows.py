"""Rows that a conformal estimator holds back for calibration, and the groups they belong to."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from pnml.core import conformal
from pnml.core.user_types import ArrayOrFrame, RandomSeed
from pnml.errors import ConditionWarning, InputError
from pnml.estimators.fit_params import check_groups
from pnml.runtime.caller import stacklevel_of_caller
from pnml.runtime.checks import is_share

Rows = npt.NDArray[np.intp]


def check_calibration_size(share: float, rows: int, instead: str = "") -> float:
    """The share of rows to hold back, as a float; raises if fewer than 2 of `rows` rows are left.

    `instead` is advice for the end of the message about too few rows.
    """
    if not is_share(share):
        raise InputError(
            f"calibration_size is {share!r}, but it is a share of the rows; "
            "pass a number strictly between 0 and 1."
        )
    if rows < 4:
        raise InputError(
            f"X has {rows} rows (n_samples={rows}), too few to hold some back for "
            f"calibration; pass at least 4{instead}."
        )
    left = rows - int(np.ceil(share * rows))
    if left < 2:
        raise InputError(
            f"calibration_size is {share!r}, which leaves {left} of {rows} rows to fit; "
            "pass a smaller share."
        )
    return float(share)


def split_rows(
    rows: int, share: float, strata: Rows | None, random_state: RandomSeed
) -> tuple[Rows, Rows]:
    """Positions of the rows to fit, and of the share of rows held back, drawn at random.

    `rows` is their number n. `strata` (n,) numbers the group or class of each row: the share is
    then taken from each stratum, and at least one row of each is left to fit.
    """
    drawn = check_random_state(random_state).permutation(rows)
    if strata is None:  # as train_test_split of scikit-learn does, at a third of its cost
        held = int(np.ceil(share * rows))
        return drawn[held:], drawn[:held]
    kept = np.zeros(rows, dtype=bool)
    for stratum in np.unique(strata):
        inside = drawn[strata[drawn] == stratum]
        kept[inside[: min(int(np.ceil(share * len(inside))), len(inside) - 1)]] = True
    return np.flatnonzero(~kept), np.flatnonzero(kept)


@dataclass(frozen=True)
class RowGroups:
    """Names of the groups of rows that ``fit`` was given; each group is calibrated apart."""

    names: npt.NDArray[Any]  # (g,) sorted

    def name(self, place: int) -> str:
        """The name of the group at this position, quoted for a message."""
        return repr(self.names.tolist()[place])

    def places(self, groups: ArrayOrFrame | None, rows: int) -> Rows:
        """Position of each new row's group in `names`, (rows,); raises for an unknown group."""
        if groups is None:
            raise InputError(
                "The estimator was calibrated by groups, but groups is None; pass the group of "
                "each row, groups=..."
            )
        found = _as_groups(groups, rows)
        index = {name: place for place, name in enumerate(self.names.tolist())}
        distinct, where = np.unique(found, return_inverse=True)
        for name in distinct.tolist():
            if name not in index:
                raise InputError(
                    f"groups holds {name!r}, of which no row was seen in calibration, so its "
                    f"coverage is unknown; pass groups among {_listed(self.names)}, or fit with "
                    "rows of it."
                )
        return np.array([index[name] for name in distinct.tolist()], dtype=np.intp)[where]


def keep_groups(estimator: BaseEstimator, groups: ArrayOrFrame | None, rows: int) -> Rows | None:
    """Positions (rows,) of the rows' groups among the sorted names, or None without groups.

    Called by ``fit``: the names are kept in the estimator as ``_groups``.
    """
    vars(estimator).pop("_groups", None)  # of an earlier fit
    if groups is None:
        return None
    names, places = np.unique(_as_groups(groups, rows), return_inverse=True)
    estimator._groups = RowGroups(names)
    return places


def asked_groups(known: RowGroups | None, groups: ArrayOrFrame | None, rows: int) -> Rows:
    """Positions (rows,) of the groups of rows to score; all 0 where ``fit`` was given no groups.

    Raises if groups are given now but were not in ``fit``, or the reverse.
    """
    if known is not None:
        return known.places(groups, rows)
    if groups is not None:
        raise InputError(
            "groups was passed, but the estimator was fitted without groups; pass groups to fit "
            "too, or leave it out."
        )
    return np.zeros(rows, dtype=np.intp)


def warn_of_few(
    what: str, coverage: float, have: int, share: float, part: str = " held back for calibration"
) -> None:
    """Warn if `have` rows are too few to calibrate intervals or sets for this coverage.

    `what` begins the message and says what follows for the user; `share` is the share of rows that
    is held back, and `part` says in words which rows were counted.
    """
    needed = conformal.rows_needed(coverage)
    if have >= needed:
        return
    share = share if is_share(share) else 1.0
    warnings.warn(
        f"{what}, since {coverage:g} coverage needs at least {needed} rows"
        f"{part} and there are {have}; fit with {int(np.ceil(needed / share))} rows or more, "
        "or ask for less coverage.",
        ConditionWarning,
        stacklevel=stacklevel_of_caller(),
    )


def _as_groups(groups: ArrayOrFrame | None, rows: int) -> npt.NDArray[Any]:
    """One name or number for each row, in one of the dtypes that model files hold."""
    check_groups(groups, rows)
    found = np.asarray(groups)
    if found.ndim != 1:
        raise InputError(
            f"groups has shape {found.shape}, but one group per row is needed; pass {rows} of them."
        )
    kind = found.dtype.kind
    if kind in "iu":
        return found.astype(np.int64)
    if kind == "f" and bool(np.isfinite(found).all()):
        return found.astype(np.float64)
    if kind in "bU":
        return found
    if kind == "O" and all(isinstance(name, str) for name in found):
        return found.astype(str)
    raise InputError(
        "groups holds missing values or a mix of types, but each row needs one name or number; "
        "pass text, whole numbers or booleans without gaps."
    )


def _listed(names: npt.NDArray[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:8].tolist())
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
