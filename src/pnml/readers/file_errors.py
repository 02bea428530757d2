"""Errors about files, each as one sentence."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from pnml.errors import MOST_PATH, InputError, shorten

_MOST_CELL = 40  # characters of a cell in a message


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Context that turns errors of reading the file `name` into an InputError of one sentence."""
    label = shorten(name, MOST_PATH)
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{label} is no longer there; put it back and start again.") from error
    except PermissionError as error:
        raise InputError(
            f"{label} may not be read by this user; change its permissions or copy it."
        ) from error
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(
                f"{label} cannot be read ({error.strerror}); check the disk or copy the file."
            ) from error
        raise damaged_file(label, error) from error


def damaged_file(label: str, error: Exception) -> InputError:
    """The error for a file that begins as it should but cannot be read to its end.

    `label` is the name of the file in the message, `error` the one that reading raised.
    """
    return InputError(
        f"{label} is damaged or cut short ({brief_reason(error)}); copy or write it again."
    )


def brief_reason(error: Exception) -> str:
    """The first sentence of an error's text, at most 200 characters; its class if it has no text.

    >>> brief_reason(ValueError("Bad  page. Look at byte 7."))
    'Bad page'
    """
    text = " ".join(str(error).split()).partition(". ")[0][:200].rstrip(". ")
    return text or type(error).__name__


def missing_file(path: Path, name: str) -> InputError:
    """The error for a path without a file, with the name that was perhaps meant.

    `name` is the path as the user gave it.
    """
    label = shorten(name, MOST_PATH)
    try:
        nearby = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return InputError(f"{label} is not there, nor is its folder; check the path.")
    close = difflib.get_close_matches(path.name, nearby, n=1)
    if close:
        meant = shorten(path.with_name(close[0]), MOST_PATH)
        return InputError(f"{label} is not there; did you mean {meant}?")
    return InputError(f"{label} is not there; check the path.")


def refuse_repeated(columns: Sequence[str], name: str) -> None:
    """Raise InputError if two columns of the file `name` have the same name.

    >>> refuse_repeated(["a", "b"], "new.csv")
    """
    twice = sorted(column for column, times in Counter(columns).items() if times > 1)
    if twice:
        raise InputError(
            f"{name} has more than one column named {listed(twice)}; rename all but one."
        )


def refuse_many_columns(count: int, name: str, most: int) -> None:
    """Raise InputError if a table has more than `most` columns; `name` is the table in the message.

    >>> refuse_many_columns(3, "new.csv", 20_000)
    """
    if count > most:
        raise InputError(
            f"{shorten(name, MOST_PATH)} has {count:,} columns, but at most {most:,} are read; "
            "check what separates its cells, leave columns out, or raise --max-columns."
        )


def impossible_date(
    column: str,
    name: str,
    cell: str,
    row: int | None = None,
    fault: str = "a date that does not exist",
) -> InputError:
    """The error for a cell that is written as a date but cannot be a date of its column.

    `name` is the file or table, `row` the number of the row in it (None: unknown), and `fault` says
    what is wrong with the date.
    """
    where = "" if row is None else f" in row {row}"
    return InputError(
        f"Column {shorten(column)!r} of {shorten(name, MOST_PATH)} holds {shown_cell(cell)}{where},"
        f" {fault}; mend the cell, name it with --missing if it means missing, "
        "or pass --categorical for the column."
    )


def shown_cell(value: str) -> str:
    """A cell in an error about a file, cut at 40 characters.

    >>> shown_cell("x" * 50)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'"
    """
    return repr(value if len(value) <= _MOST_CELL else value[: _MOST_CELL - 1] + "…")


def listed(names: list[str], most: int = 5) -> str:
    """The first names in an error about a file, each cut at 60 characters, and how many more.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(shorten(name)) for name in names[:most]) + more
