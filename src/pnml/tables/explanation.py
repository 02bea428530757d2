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
from pnml.tables.encoder import NEVER_SEEN, Encoded, Encoder
from pnml.tables.learners import ridge_in

_NAMED = 3
_FIRST = 2.0  # more than any fraction, so that cells never seen are named first
_LONGEST = 40
_NOBODY = "no single column stands out"


@dataclass(frozen=True)
class Drivers:
    """Explanation of rows: the columns with the largest fractions of leverage, largest first."""

    columns: npt.NDArray[np.intp]  # (n, ≤3)
    fractions: FloatArray  # (n, ≤3)


class Explainer:
    """Explains rows of a table: splits an estimator's leverage among the columns."""

    def __init__(self, estimator: Any, encoder: Encoder) -> None:
        self._estimator = estimator
        self._encoder = encoder

    @cached_property
    def _members(self) -> list[tuple[int, ...]]:
        return [(NEVER_SEEN,), *(column.places for column in self._encoder.columns)]

    @cached_property
    def _groups(self) -> Groups | None:
        """Split of a ridge fit's leverage by column; None for other learners."""
        ridge = ridge_in(self._estimator)
        if ridge is None:
            return None
        return Groups.of(ridge.geometry, ridge.alpha, self._members)

    def drivers(self, encoded: Encoded, rows: FloatArray) -> Drivers:
        """The three columns that matter most to each row; `rows` are as the learner takes them."""
        parts = self._parts(encoded, rows)
        strange = np.flatnonzero(encoded.never_seen)
        split = parts[:, 1:]
        if len(strange):
            blame = _blame(encoded, strange)
            split[strange] += parts[strange, :1] * blame + _FIRST * (blame > 0)
        named = min(_NAMED, split.shape[1])
        columns = np.empty((len(split), named), dtype=np.intp)
        sizes = np.empty((len(split), named))
        every = np.arange(len(split))
        for place in range(named):
            best = columns[:, place] = split.argmax(axis=1)
            sizes[:, place] = split[every, best]
            split[every, best] = -1.0  # named; the next largest is wanted
        return Drivers(columns, np.where(sizes >= _FIRST, sizes - _FIRST, sizes))

    def _parts(self, encoded: Encoded, rows: FloatArray) -> FloatArray:
        if self._groups is not None:
            return self._groups.fractions(encoded.X)
        split = self._estimator.explain(rows)
        if rows is not encoded.X:  # one number for each column
            return fractions(np.column_stack([encoded.X[:, NEVER_SEEN] ** 2, split]))
        return fractions(np.column_stack([split[:, list(m)].sum(axis=1) for m in self._members]))

    def texts(self, drivers: Drivers, encoded: Encoded, batch: pa.RecordBatch) -> pa.Array:
        """Such as ``bmi 62%, age 21%, bp 9%``; cells never seen in training say so."""
        percent = np.rint(100 * drivers.fractions).astype(np.int64)
        index = drivers.columns * 101 + percent
        parts = [self._phrases.take(pa.array(index[:, 0]))]
        parts += [self._further.take(pa.array(column)) for column in index.T[1:]]
        texts = pc.binary_join_element_wise(*parts, "")
        if not percent[:, 0].all():
            texts = pc.if_else(pa.array(percent[:, 0] > 0), texts, _NOBODY)
        strange = np.flatnonzero(encoded.never_seen).tolist()
        if not strange:
            return texts
        rows = batch.take(pa.array(strange))
        remarks = [
            ", ".join(
                f"{self._short_names[column]} {percent[i, place]}%{remark}"
                for place, column in enumerate(drivers.columns[i])
                if (remark := self._remark(encoded, rows, i, k, column)) or percent[i, place]
            )
            for k, i in enumerate(strange)
        ]
        return pc.replace_with_mask(
            texts, pa.array(encoded.never_seen), pa.array(remarks, type=pa.string())
        )

    @cached_property
    def _phrases(self) -> pa.Array:
        """Every column with every whole percentage; an empty text for 0."""
        return pa.array(self._named(""), type=pa.string())

    @cached_property
    def _further(self) -> pa.Array:
        """The same, behind a comma."""
        return pa.array(self._named(", "), type=pa.string())

    @cached_property
    def _short_names(self) -> list[str]:
        return [_short(name) for name in self._encoder.names]

    def _named(self, before: str) -> list[str]:
        names = self._short_names
        return [f"{before}{name} {p}%" if p else "" for name in names for p in range(101)]

    def _remark(self, encoded: Encoded, rows: pa.RecordBatch, i: int, k: int, column: int) -> str:
        """In brackets, what is new about this cell; "" if nothing is."""
        if encoded.strange_cells[i, column]:
            if encoded.missing[i, column]:
                return " (never missing in training)"
            cell = rows.column(self._encoder.names[column])[k]
            return f" (never seen: {_short(str(cell.as_py()))})"
        if encoded.strange_pattern[i] and encoded.missing[i, column]:
            together = int(encoded.missing[i].sum()) > 1
            alone = self._encoder.columns[column].missing is None
            if together and not alone:
                return " (never missing together with the others)"
            return " (never missing in training)"
        return ""


def _blame(encoded: Encoded, rows: npt.NDArray[np.intp]) -> FloatArray:
    """Share of each column in the novelty of these rows, (rows, columns)."""
    cells = encoded.strange_cells[rows].astype(float)
    missing = encoded.missing[rows].astype(float)
    several = np.maximum(missing.sum(axis=1, keepdims=True), 1.0)
    missing = np.where(encoded.strange_pattern[rows][:, None], missing / several, 0.0)
    both = cells + missing
    return fractions(both)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
