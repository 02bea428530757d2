"""The statistic (Gram) of files of numbers; an error about a bad cell names its file and column."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sklearn.base import BaseEstimator, is_classifier

from pnml.core.arrays import FloatArray
from pnml.core.statistic.exact_sum import Arrays, Document, GramSum, added, state_of, sum_of
from pnml.core.statistic.gram import Gram
from pnml.errors import InputError, shorten
from pnml.estimators.gram_classifier import rows_to_count
from pnml.models.stored_record import checked
from pnml.readers.file_pass import Mark
from pnml.tables.encoder import LARGEST
from pnml.tables.targets import check_amounts, weights_of

_PIECE_BITS = 32  # of a piece's number: its place within the file; above them, the file


class _Measured(NamedTuple):
    gram: Gram
    unlabelled: int


@dataclass(frozen=True)
class Columns:
    """The columns of the files that are read: features, target and weight."""

    features: tuple[str, ...]
    target: str
    weight: str | None
    rounding: float  # relative round-off of the features in the files


class FileStatistic:
    """The sum of the Grams (moments of rows) of all pieces of the files that were added so far.

    `file_name` gives the name of a file by its number, for messages. `final` says whether added
    rows always stay; it is false where the rows of a bad file may be taken out again.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        columns: Columns,
        file_name: Callable[[int], str],
        *,
        final: bool,
    ) -> None:
        self._estimator, self._columns, self._file_name = estimator, columns, file_name
        self._final = final  # whether added rows always stay; a bad file may be taken back
        self._below = 1.0
        self._memory = threading.local()
        self.total: GramSum | None = None
        self.unlabelled = 0

    def measured(self, batch: pa.RecordBatch, mark: Mark) -> _Measured:
        """The Gram of one piece of a file, and its number of rows without a label.

        `mark` is the position of the piece: number of the file, and of the piece in it.
        """
        try:
            X, y, weights = self._rows(batch)
            place = mark.file << _PIECE_BITS | mark.pieces
            with np.errstate(invalid="ignore", over="ignore"):
                gram = Gram.of(
                    X,
                    y,
                    weights,
                    block=place,
                    below=self._below,
                    rounding=self._columns.rounding,
                )
                size = np.sqrt(np.diagonal(gram.xx) / max(gram.weight, 1.0) + gram.x_mean**2)
            if not np.all(size < LARGEST):
                self._refuse_odd(batch)
        except InputError as error:
            raise InputError(f"{self._file_name(mark.file)} cannot be counted: {error}") from error
        return _Measured(gram, batch.num_rows - len(y))

    def add(self, measured: _Measured) -> None:
        """Add to the sum what `measured` returned for a piece."""
        self.unlabelled += measured.unlabelled
        if measured.gram.rows:
            self.total = added(self.total, measured.gram)
            if self._final:
                self._below = self.total.high.sample.threshold

    def state(self) -> tuple[Document, Arrays]:
        """The sum so far as a JSON-ready dict and arrays by name, for a checkpoint."""
        document, arrays = ({}, {}) if self.total is None else state_of(self.total)
        return {"unlabelled": self.unlabelled, "sum": document}, arrays

    def restore(self, document: Document, arrays: Arrays) -> None:
        """Set the sum to a state that `state` returned in an earlier pass."""
        self.unlabelled = document["unlabelled"]
        self.total = checked(sum_of(document["sum"], arrays)) if document["sum"] else None
        if self._final and self.total is not None:
            self._below = self.total.high.sample.threshold

    def _rows(self, batch: pa.RecordBatch) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Rows (n, d) with a label, labels (n,) as numbers, and weights (n,)."""
        asked = self._columns
        labels, there = self._labels(batch.column(asked.target))
        X = self._room(batch.num_rows)
        for j, name in enumerate(asked.features):
            X[:, j] = _numbers(batch.column(name))
        weights = None
        if asked.weight is not None:
            weights = weights_of(batch.column(asked.weight), asked.weight, there)
        if not there.all():
            X, labels = X[there], labels[there]
            weights = None if weights is None else weights[there]
        if is_classifier(self._estimator) and len(X):
            X, labels = rows_to_count(self._estimator, X, labels)
        return X, labels, weights

    def _room(self, rows: int) -> FloatArray:
        """Memory for rows (n, d), column by column; a thread uses the same memory every time.

        Allocating so much memory takes longer than the work on it.
        """
        d = len(self._columns.features)
        held: FloatArray = getattr(self._memory, "room", np.empty(0))
        if held.size < rows * d:
            held = self._memory.room = np.empty(rows * d)
        return held[: rows * d].reshape((rows, d), order="F")

    def _labels(self, cells: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Labels (n,), and which of them are not missing."""
        there = pc.is_valid(cells).to_numpy(zero_copy_only=False)
        if is_classifier(self._estimator):
            if pt.is_dictionary(cells.type):
                cells = cells.dictionary_decode()
            words = cells.drop_null().to_numpy(zero_copy_only=False)
            labels = np.empty(len(cells), dtype=words.dtype)
            labels[there] = words
            return labels, there
        y = np.array(_numbers(cells), dtype=float)
        there &= ~np.isnan(y)
        check_amounts(y[there], self._columns.target)
        return y, there

    def _refuse_odd(self, batch: pa.RecordBatch) -> None:
        for name in self._columns.features:
            values = np.asarray(_numbers(batch.column(name)), dtype=float)
            if np.isnan(values).any():
                raise InputError(
                    f"column {shorten(name)!r} has a missing cell, which has no place in a sum; "
                    "fill such cells in or leave the column out with columns=, or use "
                    "fit_mixed_files, which takes them."
                )
            if not np.all(np.abs(values) < LARGEST):
                largest = float(np.abs(values).max())
                raise InputError(
                    f"column {shorten(name)!r} holds numbers as large as {largest:g}, from which "
                    "nothing can be learnt; correct the cells."
                )


def _numbers(cells: pa.Array) -> npt.NDArray[Any]:
    """Cells as numbers (n,) of any width, NaN where one is missing."""
    if pt.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pt.is_boolean(cells.type):
        cells = cells.cast(pa.int8())
    elif pt.is_decimal(cells.type) or pt.is_null(cells.type):
        cells = cells.cast(pa.float64())
    values: npt.NDArray[Any] = cells.to_numpy(zero_copy_only=False)
    return values
