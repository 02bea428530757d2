"""The three columns that drive a row's regret, in the user's own words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pnml.core.arrays import FloatArray
from pnml.core.geometry.attribution import Groups, fractions
from pnml.tables.encoder import NEVER_SEEN, BoolArray, ConstantColumn, Encoded, Encoder
from pnml.tables.learner_answers import LearnerAnswers
from pnml.tables.learners import ridge_in
from pnml.tables.reasons import Reasons, Rows

_NAMED = 3
_FIRST = 2.0  # more than any fraction, so that cells never seen are named first
_LAST = -0.5  # less than any fraction: columns that never change, as long as they do not
_NOBODY = "no single column stands out"


@dataclass(frozen=True)
class Drivers:
    """The at most three columns with the largest shares of each row's leverage, largest first.

    `columns` (n, ≤3) are indices of columns of the encoder, `fractions` (n, ≤3) their shares, 0 to
    1.
    """

    columns: npt.NDArray[np.intp]  # (n, ≤3)
    fractions: FloatArray  # (n, ≤3)


class Explainer:
    """Explains rows of a table: splits an estimator's leverage among the columns."""

    def __init__(self, estimator: Any, encoder: Encoder, answers: LearnerAnswers) -> None:
        self._estimator, self._encoder, self._answers = estimator, encoder, answers

    @property
    def is_cheap(self) -> bool:
        """Whether an explanation costs no more than a prediction."""
        return ridge_in(self._estimator) is not None

    def none(self, n: int) -> Drivers:
        """Drivers of n rows that are not explained: some columns, with fractions of 0."""
        named = min(_NAMED, len(self._encoder.used))
        first = np.flatnonzero(~self._constant)[:named]
        return Drivers(np.tile(first, (n, 1)), np.zeros((n, named)))

    def spread(self, drivers: Drivers, rows: npt.NDArray[np.intp], n: int) -> Drivers:
        """Drivers of n rows: those given at the indices `rows`, fractions of 0 for the others."""
        every = self.none(n)
        every.columns[rows], every.fractions[rows] = drivers.columns, drivers.fractions
        return every

    @cached_property
    def _members(self) -> list[tuple[int, ...]]:
        """Positions of every column in an encoded row; a constant column has none."""
        return [(NEVER_SEEN,), *(column.places for column in self._encoder.columns)]

    @cached_property
    def _constant(self) -> BoolArray:
        return np.array([isinstance(c, ConstantColumn) for c in self._encoder.columns])

    @cached_property
    def _groups(self) -> Groups | None:
        """Split of a ridge fit's leverage by column; None for other learners."""
        ridge = ridge_in(self._estimator)
        if ridge is None:
            return None
        return Groups.of(ridge.geometry, ridge.alpha, self._members)

    def drivers(self, encoded: Encoded, rows: Any, at: npt.NDArray[np.intp]) -> Drivers:
        """The at most three columns that contribute most to the leverage of each encoded row.

        Columns with a cell never seen in training come first. `encoded` holds the m rows to explain
        only; `rows` is the whole batch as `LearnerAnswers.read` returns it, and `at` (m,) are the
        indices of the m rows in it.
        """
        parts = self._parts(encoded, rows, at)
        strange = np.flatnonzero(encoded.never_seen)
        split = parts[:, 1:]
        split[:, self._constant] = _LAST
        if len(strange):
            blame = _blame(encoded, strange)
            novel = np.where(self._constant, 0.0, split[strange])
            novel = novel + parts[strange, :1] * blame + _FIRST
            split[strange] = np.where(blame > 0, novel, split[strange])
        named = min(_NAMED, len(self._encoder.used))
        columns = np.empty((len(split), named), dtype=np.intp)
        sizes = np.empty((len(split), named))
        every = np.arange(len(split))
        for place in range(named):
            best = columns[:, place] = split.argmax(axis=1)
            sizes[:, place] = split[every, best]
            split[every, best] = -1.0  # named; the next largest is wanted
        return Drivers(columns, np.where(sizes >= _FIRST, sizes - _FIRST, sizes))

    def _parts(self, encoded: Encoded, rows: Any, at: npt.NDArray[np.intp]) -> FloatArray:
        if self._groups is not None:
            return self._groups.fractions(encoded.X)
        return self._answers.shares(encoded, rows, at)

    def texts(self, drivers: Drivers, encoded: Encoded, batch: pa.RecordBatch) -> pa.Array:
        """Texts (n,) that name the driving columns of each row with their cells, ranges and shares.

        Such as ``age 648; training 19–79 (62%), bmi 31.2; training 18–42 (21%)``. Cells never seen
        in training come first and say so. `batch` holds the same rows as `encoded`.
        """
        shares = np.rint(100 * drivers.fractions).astype(np.intp)
        rows = Rows(self._encoder, encoded, batch)
        parts: list[pa.Array] = []
        for place, share in zip(drivers.columns.T, shares.T, strict=True):
            part = self._reasons.texts(place, share, rows)
            if parts:
                part = pc.if_else(
                    pc.equal(part, ""), "", pc.binary_join_element_wise("", part, ", ")
                )
            parts.append(part)
        texts = pc.binary_join_element_wise(*parts, "")
        return pc.if_else(pc.equal(texts, ""), _NOBODY, texts)

    @cached_property
    def _reasons(self) -> Reasons:
        return Reasons(self._encoder)


def _blame(encoded: Encoded, rows: npt.NDArray[np.intp]) -> FloatArray:
    """Share (rows, columns) of each column in what is never seen in these rows."""
    cells = encoded.strange_cells[rows].astype(float)
    missing = encoded.missing[rows].astype(float)
    several = np.maximum(missing.sum(axis=1, keepdims=True), 1.0)
    missing = np.where(encoded.strange_pattern[rows][:, None], missing / several, 0.0)
    both = cells + missing
    return fractions(both)
