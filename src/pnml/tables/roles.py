"""The role of each column of a training table, from the user or from its cells."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.tables.cell_values import (
    as_numbers,
    as_words,
    codes_of,
    is_date,
    is_number,
    is_words,
    looks_numeric,
    unread_format,
)

MOST_LEVELS = 1000
ROUND_OFF = 1e-12  # a spread below this share of the mean is the rounding of the numbers
_MIXED = 0.25  # share of number-like words from which a column of words counts as a mixture


@dataclass(frozen=True)
class Request:
    """The roles of columns that the user asks for."""

    target: str
    task: str | None = None  # "regression", "classification", or to be inferred
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    weight: str | None = None
    skip_constant: bool = False
    log_target: bool = False  # whether to learn the logarithm of the target


@dataclass(frozen=True)
class Role:
    """Role of one column: number, date, category, or a reason why it is none of these."""

    column: str
    kind: str  # "number", "date", "category", "target", "weight", "id", "left out"
    remark: str = ""


def check_request(names: list[str], request: Request, table: str) -> None:
    """Raise where the user gives roles to columns that are not there, or two to one."""
    asked = {
        "--target": (request.target,),
        "--categorical": request.categorical,
        "--drop": request.drop,
        "--id": request.id,
        "--weight": (request.weight,) if request.weight else (),
    }
    for option, columns in asked.items():
        for column in columns:
            if column not in names:
                raise InputError(
                    f"{option} names {shorten(column)!r}, but {shorten(table, MOST_PATH)} has no "
                    f"such column{_suggestion(column, names)}"
                )
    option_of: dict[str, str] = {}
    for option, columns in asked.items():
        for column in columns:
            if option_of.setdefault(column, option) != option and option != "--categorical":
                raise InputError(
                    f"{shorten(column)!r} is given both as {option_of[column]} and as {option}; "
                    "give it once."
                )


def infer(look: pa.Table, request: Request, useless: Collection[str] = ()) -> list[Role]:
    """Role of every column, from the first rows; columns in `useless` are left out."""
    roles = [_role(look[name], name, request, useless) for name in look.column_names]
    if not any(role.kind in ("number", "date", "category") for role in roles):
        raise InputError(
            "No column is left to learn from, all being targets, identifiers or left out; "
            "give more columns, or name some with --categorical."
        )
    return roles


def infer_task(target: pa.ChunkedArray, request: Request) -> str:
    """Task by the target's role: regression for amounts, else (words, two values) classes."""
    if request.task is not None:
        return request.task
    kind = target.type
    if is_words(kind):
        if pt.is_string(kind) and (meant := unread_format(pc.unique(target))):
            raise InputError(
                f"The target {shorten(request.target)!r} holds {meant}; correct the cells, or pass "
                "--task classification if they are names."
            )
        return "classification"
    if pt.is_integer(kind) and len(pc.unique(target.drop_null())) <= 2:
        return "classification"
    return "regression"


def constant_columns(rows: pa.Table) -> list[str]:
    """Columns without a role, from which nothing can be learnt: missing, or constant."""
    return [name for name in rows.column_names if _is_constant(rows[name])]


def _role(column: pa.ChunkedArray, name: str, request: Request, useless: Collection[str]) -> Role:
    if name == request.target:
        return Role(name, "target")
    if name == request.weight:
        return Role(name, "weight")
    if name in request.id:
        return Role(name, "id")
    if name in request.drop:
        return Role(name, "left out", "as asked")
    kind = column.type
    if name in request.categorical:
        return Role(name, "category", "as asked")
    if name in useless:
        return Role(name, "left out", "it has no value, or the same in every row")
    if pt.is_null(kind):
        return Role(name, "number")  # later rows may bring values; checked at the end
    if is_date(kind):
        return Role(name, "date")
    if is_number(kind):
        return _number_role(column, name)
    if is_words(kind):
        return _word_role(column, name)
    return Role(name, "left out", f"cells of type {shorten(kind)} are no numbers or words")


def _is_constant(column: pa.ChunkedArray) -> bool:
    if column.null_count == len(column):
        return True
    if is_number(column.type) and column.null_count == 0:
        values = as_numbers(column, "")
        if np.isfinite(values).all():
            return bool(values.std() <= ROUND_OFF * abs(values.mean()))
    return column.null_count == 0 and column.type.num_fields == 0 and len(pc.unique(column)) == 1


def _number_role(column: pa.ChunkedArray, name: str) -> Role:
    """A number, unless the column only numbers the rows."""
    if pt.is_integer(column.type) and len(column) > 2 and column.null_count == 0:
        values = column.to_numpy()
        if values[0] in (0, 1) and bool(np.all(np.diff(values) == 1)):
            return Role(name, "left out", "it numbers the rows")
    return Role(name, "number")


def _word_role(column: pa.ChunkedArray, name: str) -> Role:
    words = as_words(column, name)
    levels, filled = words.dictionary, len(column) - column.null_count
    seen = np.unique(codes_of(words))
    distinct = int(np.sum(seen >= 0))
    if pt.is_boolean(column.type):
        return Role(name, "category", "true or false")
    if meant := unread_format(levels):
        raise InputError(
            f"Column {shorten(name)!r} holds {meant}; correct the cells, or pass --categorical "
            f"{shorten(name)!r} or --drop {shorten(name)!r}."
        )
    numeric = looks_numeric(levels)
    if numeric.any() and not numeric.all() and float(numeric.mean()) >= _MIXED:
        number, word = levels[int(numeric.argmax())], levels[int((~numeric).argmax())]
        raise InputError(
            f"Column {shorten(name)!r} mixes numbers and text ({shorten(number.as_py())!r} and "
            f"{shorten(word.as_py())!r}); correct the cells, name the text that means missing with "
            f"--missing, or pass --categorical {shorten(name)!r} or --drop {shorten(name)!r}."
        )
    if distinct == filled and filled > 2:
        return Role(name, "left out", "all values are distinct, as in an identifier")
    if distinct > MOST_LEVELS:
        return Role(name, "left out", f"more than {MOST_LEVELS:,} distinct values")
    return Role(name, "category")


def nearest(column: str, names: list[str]) -> str | None:
    """The most similar of the known names, for a column that was given a role."""
    near = get_close_matches(column, names, n=1, cutoff=0.6)
    folded = [name for name in names if name.strip().lower() == column.strip().lower()]
    return next(iter(folded or near), None)


def _suggestion(column: str, names: list[str]) -> str:
    meant = nearest(column, names)
    listed = ", ".join(repr(shorten(name)) for name in names[:12]) + (
        ", …" if len(names) > 12 else ""
    )
    return f"; it has {listed}." if meant is None else f"; did you mean {shorten(meant)!r}?"
