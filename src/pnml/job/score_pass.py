"""One pass over a new table: each batch of rows is scored, handed on, and summarised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pnml.core.trust import DEFAULT_LEVEL
from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers import ReadOptions, TableSource, open_table
from pnml.report.findings import Findings, Gatherer
from pnml.runtime.checks import is_share
from pnml.runtime.progress import terminal_bar
from pnml.tables.encoder import Encoded
from pnml.tables.fitted_table import FittedTable
from pnml.tables.score_columns import check_names, with_scores

# Opens a context whose value is called with each scored batch; opened anew if a table is reread.
Sink = Callable[[], AbstractContextManager[Callable[[pa.RecordBatch], None]]]


@dataclass
class ScorePass:
    """Scores a table batch by batch with one model; `run` reads the table and gives findings."""

    model: FittedTable
    coverage: float = 0.9
    level: float = DEFAULT_LEVEL
    prefix: str = ""
    strict: bool = False

    def __post_init__(self) -> None:
        _check_share("coverage", self.coverage, or_one=False)
        _check_share("level", self.level, or_one=True)

    def run(
        self,
        new: Any,
        name: str,
        sink: Sink | None = None,
        *,
        options: ReadOptions | None = None,
        check: Callable[[TableSource], None] | None = None,
    ) -> Findings:
        """Score the table `new` in one pass, and return findings: counts, reasons, drift, groups.

        `name` is the model's name in the title of the findings. `sink`, if given, opens a context
        whose value is called with each scored batch; if the table must be read again, the sink is
        opened again, and only the last pass counts. `check`, if given, gets the opened table before
        it is read, and may raise.
        """
        with open_table(new, options, spare=self._is_spare) as table:
            if check is not None:
                check(table)
            names = table.schema.names
            self.model.check_columns(names, table.name)
            if sink is not None:
                check_names(self.model, names, table.name, self.prefix)

            def consume(batches: Iterator[pa.RecordBatch]) -> Findings:
                title = f"{Path(table.name).name} by {Path(name).name}"
                gatherer = Gatherer(self.model, title, self.coverage, self.level)
                with nullcontext() if sink is None else sink() as give:
                    for batch in batches:
                        scores = self.model.score(batch, self.coverage, self.level)
                        if self.strict:
                            self._refuse_bad_cells(batch, scores.encoded, table.name)
                        if give is not None:
                            give(with_scores(self.model, batch, scores, self.prefix))
                        gatherer.add(batch, scores)
                return gatherer.findings()

            with terminal_bar("Scoring") as tell:
                findings: Findings = table.read(
                    consume,
                    numeric=self.model.numeric_columns,
                    text=self._text_columns(table),
                    dates=self.model.date_columns,
                    times=self.model.time_columns,
                    lenient=not self.strict,
                    progress=tell,
                )
            return findings

    def _is_spare(self, name: str) -> bool:
        """Whether the model has no use for a column."""
        return name not in (
            *self.model.encoder.names,
            *self.model.id_columns,
            self.model.target.name,
        )

    def _text_columns(self, table: TableSource) -> list[str]:
        """Columns to read as text: the model's words, and those that other types would change."""
        dates = self.model.date_columns if self.strict else ()  # an odd one is to be refused
        return [*self.model.text_columns, *(name for name in table.codes() if name not in dates)]

    def _refuse_bad_cells(self, batch: pa.RecordBatch, encoded: Encoded, table: str) -> None:
        """Raise InputError for the first cell that is not of its column's type."""
        if not encoded.bad_cells.any():
            return
        row, place = np.argwhere(encoded.bad_cells)[0].tolist()
        name = self.model.encoder.names[place]
        kind = getattr(self.model.encoder.columns[place], "wanted", "number")
        raise InputError(
            f"Column {shorten(name)!r} of {shorten(table, MOST_PATH)} holds "
            f"{shorten(str(batch.column(name)[row].as_py()))!r}, which is not a {kind}; correct "
            "the cell, or leave --strict out."
        )


def _check_share(name: str, value: float, *, or_one: bool) -> None:
    if not is_share(value, or_one=or_one):
        top = "at most 1" if or_one else "below 1"
        raise InputError(f"{name} is {value!r}, but it is a share; pass one above 0 and {top}.")
