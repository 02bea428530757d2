"""Rows of the new table as the report lists them, with the cells that drive their regret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pnml.tables.bad_cells import UNREADABLE
from pnml.tables.fitted_table import FittedTable
from pnml.tables.main_reasons import training_text
from pnml.tables.scores import Scores

_LEAST = 0.02  # share of the leverage from which on a column is named


@dataclass(frozen=True)
class DrivingCell:
    """A cell of a listed row that drives its regret, beside what training had there."""

    column: str
    value: str
    training: str = ""  # range or words of the training rows, "" where it is not known
    share: float = float("nan")  # of the leverage
    outside: bool = False  # of its training range, or never seen in training


@dataclass(frozen=True)
class Row:
    """Findings about one row of the new table, as the report lists it."""

    number: int  # 1 = the first row below the header
    id: str  # text of the --id columns, "" without any
    prediction: str
    interval: str  # "" in classification
    regret: float
    trusted: bool
    because: str
    cells: tuple[DrivingCell, ...]  # those that drive the regret, the strongest first
    reason: str = ""  # why it is not trusted; rows of one text are one group


class RowReader:
    """Makes the `Row` values that a report lists, from batches of rows and their scores."""

    def __init__(self, model: FittedTable) -> None:
        self._model = model
        self._training = [training_text(column) for column in model.encoder.columns]

    def row(self, batch: pa.RecordBatch, scores: Scores, i: int, place: int, reason: str) -> Row:
        """The i-th row of a batch, counted from 0, which is row `place` of the table, from 1.

        `reason` says why the row is not trusted, "" if it is.
        """
        ids = [name for name in self._model.id_columns if name in batch.schema.names]
        interval = scores.answer.interval
        return Row(
            number=place,
            id=", ".join(_text(batch.column(name)[i]) for name in ids),
            prediction=_text(scores.prediction[i]),
            interval="" if interval is None else f"{interval[i, 0]:.4g} … {interval[i, 1]:.4g}",
            regret=float(scores.answer.regret[i]),
            trusted=bool(scores.trusted[i]),
            because=scores.because[i].as_py(),
            cells=tuple(self._cell(batch, scores, i, j, share) for j, share in _driving(scores, i)),
            reason=reason,
        )

    def _cell(
        self, batch: pa.RecordBatch, scores: Scores, i: int, j: int, share: float
    ) -> DrivingCell:
        name = self._model.encoder.names[j]
        text = _text(batch.column(name)[i])
        if UNREADABLE + name in batch.schema.names:
            unread = batch.column(UNREADABLE + name)[i].as_py()
            text = text if unread is None else repr(unread)
        encoded = scores.encoded
        far = bool(encoded.outside[i, j] or encoded.strange_cells[i, j])
        return DrivingCell(name, text, self._training[j], share, far)


def _driving(scores: Scores, i: int) -> list[tuple[int, float]]:
    """Columns that drive the regret of a row, with their shares, if these are not tiny."""
    columns, shares = scores.drivers.columns[i].tolist(), scores.drivers.fractions[i].tolist()
    pairs = list(zip(columns, shares, strict=True))
    return [(j, share) for j, share in pairs if share >= _LEAST] or pairs[:1]


def _text(cell: pa.Scalar) -> str:
    value: Any = cell.as_py()
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
