"""The role of each column of a training table, from the user or from its cells."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers.cell_formats import unlike_zone
from pnml.tables.bad_cells import are_dates, odd_times, odd_zones, unread_date
from pnml.tables.cell_values import (
    are_codes,
    as_words,
    codes_of,
    is_date,
    is_number,
    is_words,
    looks_numeric,
    unread_format,
)

MOST_LEVELS = 200  # words of a column that get a place each; more are hashed
_FEW = 20  # distinct words that are never taken for names of the rows
_MIXED = 0.25  # share of number-like words from which a column of words counts as a mixture


SURVEY, COPIES = WEIGHT_KINDS = ("survey", "copies")

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Request:
    """What the user asks of a fit: the target, the task, and the roles of other columns."""

    target: str
    task: str | None = None  # "regression", "classification", or to be inferred
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    weight: str | None = None
    skip_constant: bool = False  # constant columns are left out in any case
    weight_kind: str = SURVEY  # scaled to sum to the number of rows; COPIES: as they are
    log_target: bool = False  # whether to learn the logarithm of the target


@dataclass(frozen=True)
class Role:
    """Role of one column: how it is used, `kind`, and a `remark` such as why it is left out.

    `kind` is "number", "date", "category", "target", "weight", "id" or "left out".
    """

    column: str
    kind: str  # "number", "date", "category", "target", "weight", "id", "left out"
    remark: str = ""


def check_request(names: list[str], request: Request, table: str) -> None:
    """Raise InputError if a request names a column that is not in `names`, or gives it two roles.

    `table` is the name of the table in the message.
    """
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
    if request.weight_kind not in WEIGHT_KINDS:
        raise InputError(
            f"--weight-kind is {shorten(request.weight_kind)!r}, but a weight is either of a "
            "survey or a number of copies; pass survey or copies."
        )
    option_of: dict[str, str] = {}
    for option, columns in asked.items():
        for column in columns:
            if option_of.setdefault(column, option) != option and option != "--categorical":
                raise InputError(
                    f"{shorten(column)!r} is given both as {option_of[column]} and as {option}; "
                    "give it once."
                )


def infer(look: pa.Table, request: Request) -> list[Role]:
    """The role of every column, from the first rows; raises InputError if none is left to learn."""
    roles = [_role(look[name], name, request) for name in look.column_names]
    if not any(role.kind in ("number", "date", "category") for role in roles):
        raise InputError(
            "No column is left to learn from, all being targets, identifiers or left out; "
            "give more columns, or name some with --categorical."
        )
    return roles


def infer_task(target: pa.ChunkedArray, request: Request) -> str:
    """The task, "regression" or "classification": as requested, or by the cells of the target.

    Words, truth values and whole numbers with at most two values are classes.
    """
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


def _role(column: pa.ChunkedArray, name: str, request: Request) -> Role:
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
    if pt.is_null(kind):
        return Role(name, "number")  # later rows may bring values; checked at the end
    if is_date(kind):
        return Role(name, "date")
    if is_number(kind):
        return _number_role(column, name)
    if is_words(kind):
        return _word_role(column, name)
    return Role(name, "left out", f"cells of type {shorten(kind)} are no numbers or words")


def _number_role(column: pa.ChunkedArray, name: str) -> Role:
    """A number, unless the column only numbers the rows."""
    if pt.is_integer(column.type) and len(column) > 2 and column.null_count == 0:
        values = column.to_numpy()
        if values[0] in (0, 1) and bool(np.all(np.diff(values) == 1)):
            return Role(name, "left out", "it numbers the rows")
    return Role(name, "number")


def _word_role(column: pa.ChunkedArray, name: str) -> Role:
    if pt.is_boolean(column.type):
        return Role(name, "category", "true or false")
    words = as_words(column, name)
    codes = codes_of(words)
    filled = len(column) - int(np.sum(codes < 0))
    seen = np.unique(codes[codes >= 0])
    levels = words.dictionary.take(pa.array(seen))
    if meant := unread_format(levels):
        raise InputError(
            f"Column {shorten(name)!r} holds {meant}; correct the cells, or pass --categorical "
            f"{shorten(name)!r} or --drop {shorten(name)!r}."
        )
    dates = are_dates(levels)
    if len(dates) and dates.all():
        _refuse_impossible_date(levels, seen, codes, name)
        return Role(name, "date")
    counts = np.bincount(codes[codes >= 0], minlength=len(words.dictionary))[seen]
    _refuse_cell(odd_times(levels, counts), levels, seen, codes, name, "which is no time of a day")
    _refuse_mixture(levels, seen, codes, name)
    distinct = len(seen)
    if distinct == filled and filled > 2:
        return Role(name, "left out", "all values are distinct, as in an identifier")
    if distinct > _FEW and 2 * distinct >= filled:
        remark = f"{distinct:,} distinct values in {filled:,} rows, nearly an identifier"
        return Role(name, "left out", remark)
    return Role(name, "category")


def _refuse_impossible_date(levels: pa.Array, seen: Codes, codes: Codes, name: str) -> None:
    """Raise where one of the dates is not in the calendar, such as 2024-02-30."""
    place = unread_date(levels)
    fault = "which is no date of the calendar"
    if place is not None:
        _refuse_cell(np.array([place]), levels, seen, codes, name, fault)
    counts = np.bincount(codes[codes >= 0])[seen]
    zones = odd_zones(levels, counts)
    if len(zones):
        fault = unlike_zone(levels[int(zones[0])].as_py())
        _refuse_cell(zones, levels, seen, codes, name, fault)


def _refuse_cell(
    places: Codes, levels: pa.Array, seen: Codes, codes: Codes, name: str, fault: str
) -> None:
    """Raise for the first cell that holds one of levels[places]; without places do nothing."""
    if not len(places):
        return
    row = int(np.argmax(np.isin(codes, seen[places])))
    word = levels[int(np.searchsorted(seen, codes[row]))].as_py()
    raise InputError(
        f"Column {shorten(name)!r} holds {shorten(word)!r} in row {row + 1:,}, {fault}; correct "
        f"the cell or leave it empty, or pass --drop {shorten(name)!r}."
    )


def _refuse_mixture(levels: pa.Array, seen: Codes, codes: Codes, name: str) -> None:
    """Raise where a fair share of the words are numbers, and others are not."""
    numeric = looks_numeric(levels)
    mixed = numeric.any() and not numeric.all() and float(numeric.mean()) >= _MIXED
    if not mixed or are_codes(levels):
        return
    text = np.isin(codes, seen[~numeric])
    row = int(text.argmax())
    word = levels[int(np.searchsorted(seen, codes[row]))].as_py()
    number = levels[int(numeric.argmax())].as_py()
    raise InputError(
        f"Column {shorten(name)!r} mixes numbers and text: {int(text.sum()):,} of "
        f"{int(np.sum(codes >= 0)):,} cells are no numbers, first {shorten(word)!r} in row "
        f"{row + 1:,}, others are, such as {shorten(number)!r}; correct the cells, name the text "
        f"that means missing with --missing, or pass --categorical {shorten(name)!r} or --drop "
        f"{shorten(name)!r}."
    )


def nearest(column: str, names: list[str]) -> str | None:
    """The one of `names` that is most similar to `column`, for a hint in a message; or None."""
    near = get_close_matches(column, names, n=1, cutoff=0.6)
    folded = [name for name in names if name.strip().lower() == column.strip().lower()]
    return next(iter(folded or near), None)


def _suggestion(column: str, names: list[str]) -> str:
    meant = nearest(column, names)
    listed = ", ".join(repr(shorten(name)) for name in names[:12]) + (
        ", …" if len(names) > 12 else ""
    )
    return f"; it has {listed}." if meant is None else f"; did you mean {shorten(meant)!r}?"
