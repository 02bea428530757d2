"""Rows with intervals, checked and put in order for a plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.errors import InputError, shorten
from pnml.learners.protocol import BoolArray
from pnml.metrics import interval_coverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pnml.core.arrays import FloatArray


@dataclass(frozen=True)
class IntervalRows:
    """The n rows of a plot of prediction intervals, from left to right."""

    x: FloatArray  # (n,)  positions on the horizontal axis, rising
    prediction: FloatArray  # (n,)
    ends: FloatArray  # (n, 2)  lower and upper
    trusted: BoolArray  # (n,)
    truth: FloatArray | None  # (n,)  true values

    @classmethod
    def of(
        cls, prediction: Any, lower: Any, upper: Any, trusted: Any, truth: Any, x: Any
    ) -> IntervalRows:
        """Rows from arrays (n,), checked, in the order of x or, if x is None, of the predictions.

        `trusted` and `truth` may be None: all rows are then trusted, or their true values unknown.
        """
        center = _numbers(prediction, "prediction", None)
        n = len(center)
        ends = np.stack([_numbers(lower, "lower", n), _numbers(upper, "upper", n)], axis=1)
        if bool(np.any(ends[:, 0] > ends[:, 1])):
            row = int(np.argmax(ends[:, 0] > ends[:, 1]))
            raise InputError(
                f"The interval of row {row} (counted from 0) goes from {ends[row, 0]:g} down to "
                f"{ends[row, 1]:g}; pass the lower end first."
            )
        verdict = np.ones(n, dtype=bool)
        if trusted is not None:
            verdict = _numbers(trusted, "trusted", n).astype(bool)
        known = None if truth is None else _numbers(truth, "y_true", n)
        if x is None:
            order = np.argsort(center, kind="stable")
            place = np.arange(1.0, n + 1)
        else:
            given = _numbers(x, "x", n)
            order = np.argsort(given, kind="stable")
            place = given[order]
        known = None if known is None else known[order]
        return cls(place, center[order], ends[order], verdict[order], known)

    def count(self, some: BoolArray) -> str:
        """Text on the rows where `some` (n,) is True, for the legend.

        How many they are, how many intervals are infinite, and the share of true values inside.
        """
        text = f"n = {int(some.sum()):,}"
        infinite = int(np.isinf(self.ends[some]).any(axis=1).sum())
        if infinite:
            text += f", {infinite:,} infinite"
        if self.truth is not None:
            inside = interval_coverage(self.truth[some], self.ends[some])
            text += f", {100 * inside:.0f} % inside"
        return text

    def drawn_ends(self, rows: Any, beyond: float) -> FloatArray:
        """Lower end, prediction and upper end (k, 3) of k `rows`, to be drawn.

        Infinite ends are put `beyond` times the finite range outside of it.
        """
        low, high = self._finite_range()
        far = beyond * max(high - low, 1e-9)
        ends = np.clip(self.ends[rows], low - far, high + far)
        return np.stack([ends[:, 0], self.prediction[rows], ends[:, 1]], axis=1)

    def limit(self, ax: Axes) -> None:
        """Limit the vertical axis to finite values if some intervals are infinite."""
        if np.isinf(self.ends).any():
            low, high = self._finite_range()
            room = 0.05 * max(high - low, 1e-9)
            ax.set_ylim(low - room, high + room)

    def _finite_range(self) -> tuple[float, float]:
        values = [self.prediction, self.ends.ravel(), *([] if self.truth is None else [self.truth])]
        every = np.concatenate(values)
        finite = every[np.isfinite(every)]
        return float(finite.min()), float(finite.max())


def column_of(table: Any, column: str | int) -> Any:
    """One column (n,) of a table by name or position; raises InputError if there is none.

    The table is an array, a data frame or a pyarrow table.
    """
    if isinstance(column, str):
        names = list(getattr(table, "column_names", getattr(table, "columns", [])))
        if column not in names:
            known = ", ".join(map(str, names)) or "columns without names"
            raise InputError(
                f"There is no column {shorten(column)!r} to draw; the rows have {shorten(known)}."
            )
        return np.asarray(table[column])
    rows = np.asarray(table)
    if rows.ndim != 2 or not -rows.shape[1] <= column < rows.shape[1]:
        raise InputError(f"There is no column {column} to draw; the rows have shape {rows.shape}.")
    return rows[:, column]


def target_of(y: Any) -> Any:
    """True values y as an array, a single column (n, 1) as (n,); None if y is None."""
    if y is None:
        return None
    values = np.asarray(y)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _numbers(values: Any, name: str, n: int | None) -> FloatArray:
    """Finite numbers (n,), or also infinite ones for the ends of intervals."""
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} holds values that are not numbers; pass one number for each row."
        ) from error
    if numbers.ndim != 1 or not numbers.size or (n is not None and len(numbers) != n):
        rows = "one number for each row" if n is None else f"{n} numbers, one for each prediction"
        raise InputError(f"{name} has shape {numbers.shape}; pass {rows}.")
    allowed = ~np.isnan(numbers) if name in ("lower", "upper") else np.isfinite(numbers)
    if not allowed.all():
        raise InputError(
            f"{name} holds {numbers[~allowed][0]:g}, which cannot be drawn; leave those rows out."
        )
    return numbers
