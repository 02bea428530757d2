"""The labels and weights of a table's rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from pnml.core.arrays import FloatArray
from pnml.errors import InputError, shorten
from pnml.tables.bad_cells import read_cells
from pnml.tables.cell_values import (
    as_dates,
    as_numbers,
    first_non_number,
    is_words,
    looks_numeric,
    unread_format,
)
from pnml.tables.encoder import LARGEST


@dataclass(frozen=True)
class Target:
    """The target: the column to predict, and how its cells are read.

    `task` is "regression" or "classification"; `kind` is the arrow type of the cells; `log`: their
    logarithm is learnt; `least`: no prediction is below it, None for no bound.
    """

    name: str
    task: str  # "regression" or "classification"
    kind: str  # arrow type of the cells, in which predicted labels are given back
    log: bool = False  # whether the logarithm of the amounts is learnt
    least: float | None = None  # predictions are not below; None: no bound

    @classmethod
    def of(cls, cells: pa.ChunkedArray, name: str, task: str, *, log: bool = False) -> Target:
        """The target column `name`; raises InputError if its cells cannot be labels of the task."""
        kind = cells.type
        if pt.is_dictionary(kind):
            kind = kind.value_type
        if task == "regression" and (is_words(kind) or pt.is_null(kind)):
            _refuse_words(cells, name)
        if pt.is_nested(kind) or pt.is_binary(kind) or pt.is_large_binary(kind):
            needs = "regression needs numbers" if task == "regression" else "classes are words"
            raise InputError(
                f"The target {shorten(name)!r} holds cells of type {shorten(kind)}, but {needs}; "
                "pick another --target."
            )
        if log and task == "classification":
            raise InputError(
                f"--log-target wants amounts, but the target {shorten(name)!r} holds classes; "
                "leave it out, or pass --task regression."
            )
        return cls(name, task, str(kind), log)

    def labels(self, cells: pa.Array) -> npt.NDArray[Any]:
        """Labels (n,) to learn: numbers, NaN where missing, or class words, None where missing.

        Numbers are logarithms if `log` is set; dates are days since 1970.
        """
        if self.task == "regression":
            return self._logs(self._numbers(cells)) if self.log else self._numbers(cells)
        if str(cells.type) != self.kind:
            # a label of another kind counts as never seen
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
                cells = cells.cast(pa.type_for_alias(self.kind))
        words: npt.NDArray[Any] = cells.cast(pa.string()).to_numpy(zero_copy_only=False)
        return words

    def _logs(self, y: FloatArray) -> FloatArray:
        """Logarithms of y (n,); −inf for numbers of 0 or less."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(y <= 0, -np.inf, np.log(y))

    def outcomes(self, cells: pa.Array) -> npt.NDArray[Any]:
        """Labels (n,) of rows to score, as of `labels`; text that is no label counts as missing."""
        if self.task == "regression" and is_words(cells.type):
            kind = "date" if self.kind.startswith(("date", "timestamp")) else "number"
            y = read_cells(cells, self.name, kind)[0]
            return self._logs(y) if self.log else y
        return self.labels(cells)

    def _numbers(self, cells: pa.Array) -> FloatArray:
        if self.kind.startswith(("date", "timestamp")):
            return as_dates(cells, self.name)
        try:
            return as_numbers(cells, self.name)
        except InputError as error:
            raise InputError(
                f"The target {shorten(self.name)!r} holds {first_non_number(cells)}, but the model "
                "predicts numbers; correct the cells, name the text that means missing with "
                "--missing, or take the column out."
            ) from error

    def amounts(self, values: FloatArray) -> FloatArray:
        """Learnt values in units of the target column: their exp if `log`, and at least `least`."""
        with np.errstate(over="ignore"):
            values = np.exp(values) if self.log else values
        return values if self.least is None else np.maximum(values, self.least)

    def log_slope(self, y: FloatArray) -> FloatArray:
        """Term (n,), in nats, from the log-loss of learnt labels y to that of amounts. Eq. (C4).

        It is the log of the slope of the amounts in the learnt labels: y if logarithms are learnt,
        else 0.
        """
        return y if self.log else np.zeros(len(y))

    def error_in_amounts(self, mean: FloatArray, error: FloatArray) -> FloatArray:
        """Expected absolute error (n,) in units of the target column, from that of learnt labels.

        `mean` (n,) and `error` (n,) are the prediction and its expected error as learnt: of
        logarithms if `log` is set.
        """
        if not self.log:
            return error
        with np.errstate(over="ignore"):
            return np.exp(mean) * np.sinh(error)

    def cells(self, labels: npt.NDArray[Any]) -> pa.Array:
        """Predicted labels (n,) as an arrow array; classes in the type that the column had."""
        if self.task == "regression":
            return pa.array(labels)
        words = pa.array(labels, type=pa.string())
        try:
            return words.cast(pa.type_for_alias(self.kind))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            return words


def weights_of(cells: pa.Array, name: str, asked: npt.NDArray[np.bool_]) -> FloatArray:
    """Weights (n,) of rows, from the cells of the weight column `name`; NaN for empty cells.

    Raises InputError unless every row in the mask `asked` (n,) has a finite number of 0 or more.
    Weights of other rows are not checked, but a cell that is no number raises in any row.
    """
    try:
        weights = as_numbers(cells, name)
    except InputError as error:
        raise InputError(
            f"The weight column {shorten(name)!r} holds other cells than numbers, but a weight "
            "says how much a row counts; give every row a number of 0 or more."
        ) from error
    bad = asked & ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        first = weights[int(bad.argmax())]
        what = "an empty cell" if np.isnan(first) else f"{first:g}"
        raise InputError(
            f"The weight column {shorten(name)!r} holds {what}, but a weight says how much a row "
            "counts; give every row a number of 0 or more."
        )
    return weights


def survey_weights(weights: FloatArray | None) -> FloatArray | None:
    """Weights (n,) of labelled rows scaled to the sum n, so that rows count once on average.

    >>> survey_weights(np.array([2.0, 6.0]))
    array([0.5, 1.5])
    """
    if weights is None or not len(weights):
        return weights
    if np.all(weights == weights[0]):
        return np.ones(len(weights))
    return weights * (len(weights) / float(weights.sum()))


def check_amounts(values: FloatArray, name: str) -> None:
    """Raise InputError if a label is infinite, or so large that its square overflows."""
    if np.any(values == -np.inf):
        raise InputError(
            f"The target {shorten(name)!r} holds amounts of 0 or less, which have no logarithm; "
            "leave --log-target out, or correct the cells."
        )
    largest = float(np.abs(values).max(initial=0.0))
    if not largest < LARGEST:
        raise InputError(
            f"The target {shorten(name)!r} holds numbers as large as {largest:g}, from which "
            "nothing can be learnt; correct the cells or leave them empty."
        )


def check_classes(labels: npt.NDArray[Any], name: str) -> None:
    """Raise InputError if there is one class only, or more classes than half the number of rows."""
    classes = len(set(labels.tolist()))
    if classes < 2:
        raise InputError(
            f"The target {shorten(name)!r} has one class only, {shorten(labels[0])!r}, so there is "
            "nothing to tell apart; give rows of at least two classes."
        )
    if classes > max(len(labels) // 2, 2):
        raise InputError(
            f"The target {shorten(name)!r} has {classes:,} classes in {len(labels):,} rows, which "
            "is more like an identifier; pick another --target, or --task regression for numbers."
        )


def _refuse_words(cells: pa.ChunkedArray | pa.Array, name: str) -> None:
    if pt.is_null(cells.type) or cells.null_count == len(cells):
        raise InputError(
            f"The target {shorten(name)!r} holds no value at all; pick another --target."
        )
    if pt.is_boolean(cells.type):
        raise InputError(
            f"The target {shorten(name)!r} is true or false, but regression needs numbers; "
            "pass --task classification."
        )
    words = cells.cast(pa.string())
    if meant := unread_format(words):
        raise InputError(f"The target {shorten(name)!r} holds {meant}; correct the cells.")
    numeric = looks_numeric(words)
    odd = words.filter(pa.array(~numeric)).drop_null()
    if len(odd):
        raise InputError(
            f"The target {shorten(name)!r} holds text such as {shorten(odd[0].as_py())!r}, but "
            "regression needs numbers; pass --task classification, name the text that means "
            "missing with --missing, or pick another --target."
        )
