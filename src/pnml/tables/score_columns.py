"""Scored rows: the columns of the input, and the columns that scoring adds."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.tables.bad_cells import UNREADABLE
from pnml.tables.fitted_table import FittedTable
from pnml.tables.scores import Scores

_JUDGED = ("expected_error", "regret", "trusted", "because")
REGRESSION = ("prediction", "lower", "upper", *_JUDGED)


def added_columns(model: FittedTable, prefix: str = "") -> list[str]:
    """Names of the columns that scoring adds to a table, with `prefix` in front."""
    if model.target.task == "regression":
        return [prefix + name for name in REGRESSION]
    probabilities = [f"{prefix}probability_{label}" for label in model.classes]
    return [prefix + "prediction", *probabilities, *(prefix + name for name in _JUDGED)]


def check_names(model: FittedTable, names: list[str], table: str, prefix: str) -> None:
    """Raise InputError if a table already has a column that scoring would add.

    `names` are the columns of the table, `table` is its name in the message, and `prefix` goes
    before the names of added columns.
    """
    taken = [name for name in added_columns(model, prefix) if name in names]
    if taken:
        raise InputError(
            f"{shorten(table, MOST_PATH)} already has a column {shorten(taken[0])!r}, which "
            "scoring would add; rename it, or pass --prefix with a word to put before the added "
            "columns."
        )


def with_scores(
    model: FittedTable, batch: pa.RecordBatch, scores: Scores, prefix: str
) -> pa.RecordBatch:
    """The batch with the score columns added, and without its columns of unreadable cells."""
    given = [name for name in batch.schema.names if not name.startswith(UNREADABLE)]
    batch = batch.select(given)
    names = [*given, *added_columns(model, prefix)]
    return pa.RecordBatch.from_arrays([*batch.columns, *_columns(scores)], names=names)


def _columns(scores: Scores) -> Iterator[pa.Array]:
    yield scores.prediction
    answer = scores.answer
    table = answer.interval if answer.probabilities is None else answer.probabilities
    if table is not None:
        for column in table.T:
            yield pa.array(column)
    yield pa.array(answer.expected_error)
    yield pa.array(answer.regret)
    yield pa.array(scores.trusted)
    yield scores.because
