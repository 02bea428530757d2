"""Removal of rows from a statistic, with a check of the remaining digits."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from pnml.core.arrays import EPS, FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.gram import Gram
from pnml.errors import ConditionWarning, InputError

# Refuse a statistic, and warn about an answer, with fewer than 6 reliable digits.
_WANTED_ACCURACY = 1e-6
_CURE = "fit the rows that stay anew with fit() or partial_fit()."


def without(gram: Gram, leaving: Gram) -> Gram:
    """The Gram without the rows that the Gram `leaving` counts. Eqs. (G3) and (B2).

    Columns that varied only in those rows become exactly constant again. Raises InputError if some
    of those rows are known to be absent from `gram`, or if little more than round-off would remain.

    >>> X = np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> without(Gram.of(X), Gram.of(X[3:])).xx
    array([[2.]])
    """
    _refuse_unknown_rows(gram, leaving)
    rest = gram - leaving
    if not rest.rows or rest.lost is None:
        return rest
    rest = _flattened(gram, rest, rest.lost)
    _refuse_round_off(rest, np.asarray(rest.lost))
    if not len(rest.sample.rows):
        raise InputError(
            f"None of the {rest.rows} rows that stay is in the sample kept of them, so there is "
            f"nothing to judge them by; {_CURE}"
        )
    return rest


def warn_if_worn(gram: Gram, spectrum: Spectrum, alpha: float) -> None:
    """Warn if subtracting rows from `gram` has cost significant digits. Eq. (B2).

    Issues a ConditionWarning if leverages at the ridge penalty `alpha` may have fewer than 6
    reliable digits; `spectrum` is that of `gram`.
    """
    if gram.lost is None or not len(spectrum.h2):
        return
    error = float(np.sum(gram.lost / spectrum.scale**2) / (spectrum.h2[-1] + alpha))
    if error > _WANTED_ACCURACY:
        warnings.warn(
            f"Rows were forgotten whose round-off is up to {error:.0e} of what is left, so "
            f"regrets may be off by as much; raise alpha, or {_CURE}",
            ConditionWarning,
            stacklevel=2,
        )


def _refuse_unknown_rows(gram: Gram, leaving: Gram) -> None:
    """Raise if the sample holds all rows and some of the leaving rows are not among them."""
    if len(gram.sample.rows) < gram.rows or leaving.rows > gram.rows:
        return
    learnt = gram.rows - len((gram.sample - leaving.sample).rows)
    if learnt < leaving.rows:
        raise InputError(
            f"{leaving.rows - learnt} of the {leaving.rows} rows to forget were never learnt; pass "
            "rows, targets and weights exactly as they were learnt, each at most as often."
        )


def _flattened(before: Gram, rest: Gram, lost: FloatArray) -> Gram:
    """`rest`, with columns whose spread is below round-off set to constant."""
    flat = np.diagonal(rest.xx) <= lost
    if not flat.any():
        return rest
    if np.any(np.diagonal(rest.xx) < -10 * lost):
        _refuse_foreign()
    kept = ~flat
    off = 4 * EPS * before.weight / rest.weight * np.abs(before.x_mean)
    return replace(
        rest,
        x_mean=np.where(flat & (np.abs(rest.x_mean) <= off), 0.0, rest.x_mean),
        xx=rest.xx * kept * kept[:, None],
        xy=rest.xy * kept[:, None],
        lost=lost * kept,
    )


def _refuse_round_off(rest: Gram, lost: FloatArray) -> None:
    spread = np.diagonal(rest.xx)
    varies = spread > 0
    worst = float(np.max(lost[varies] / spread[varies], initial=0.0))
    if worst > _WANTED_ACCURACY:
        raise InputError(
            f"Without these rows the spread of a column would be known to {worst:.0e} only, all "
            f"else being round-off of what was subtracted; {_CURE}"
        )
    size = np.where(varies, np.sqrt(np.where(varies, spread, 1.0)), 1.0)
    smallest = float(np.linalg.eigvalsh(rest.xx / size / size[:, None]).min(initial=0.0))
    allowed = float(np.sum(lost / size**2)) + 10 * len(size) * EPS
    if smallest < -10 * allowed or float(np.diagonal(rest.yy).min(initial=0.0)) < -_slack(rest):
        _refuse_foreign()


def _slack(rest: Gram) -> float:
    """Tolerance for squares of targets that round-off made negative."""
    return 1e-9 * float(np.sum(rest.weight * rest.y_mean**2)) + 1e-300


def _refuse_foreign() -> None:
    raise InputError(
        "The rows to forget spread further than all rows that were learnt, so some of them were "
        "never learnt; pass rows, targets and weights exactly as they were learnt."
    )
