"""Tables of databases, and results of queries, copied to a temporary file while being read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from pnml.errors import InputError, shorten
from pnml.readers.csv_text import MOST_COLUMNS
from pnml.readers.database_address import DatabaseAddress
from pnml.readers.file_errors import (
    listed,
    missing_file,
    reading,
    refuse_many_columns,
    refuse_repeated,
)
from pnml.readers.frame_part import refuse_nested
from pnml.readers.pandas_columns import Spare, none_spare
from pnml.readers.spooled import Spool, spooled_batches

_READS = {"select", "with", "values", "table", "from"}
_COMMENT = re.compile(r"\s+|--[^\n]*(\n|$)|/\*.*?\*/", re.DOTALL)
_MODULES = {
    "sqlite": "pnml.readers.sqlite_database",
    "duckdb": "pnml.readers.duckdb_database",
    "postgresql": "pnml.readers.postgresql_database",
}

_MAGIC = {
    "sqlite": (0, b"SQLite format 3\0", "an SQLite database"),
    "duckdb": (8, b"DUCK", "a DuckDB database"),
}


class Database(Protocol):
    """An open database that is only read."""

    def tables(self) -> dict[str, str]:
        """Names of the tables and then of the views, each with its quoted name for SQL."""

    def batches(self, sql: str) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
        """The schema of a query's rows, and these rows in batches."""


class SpooledDatabase(NamedTuple):
    """A temporary Arrow file with the rows of a database, and the database's name for messages.

    `impossible` are columns with a date that does not exist, with that cell.
    """

    spool: Spool
    name: str
    impossible: tuple[tuple[str, str], ...]  # (column, a date in it that does not exist)


def spooled_database(
    source: str, query: str | None, most: int = MOST_COLUMNS, spare: Spare = none_spare
) -> SpooledDatabase:
    """The rows of a table or query, copied to a temporary file; memory holds one batch at a time.

    `source` is the address of the database; a table with more than `most` columns raises
    InputError. `spare` tells by name whether the cells of a column are not needed, so that they may
    be lists.
    """
    address = DatabaseAddress.of(source)
    if query is not None:
        if address.table is not None:
            raise InputError(
                f"{address.label} names a table, but there is a query, too; pass one of them."
            )
        _refuse_no_reading(address, query)
    with _opened(address) as database, address.asking():
        sql = query or f"SELECT * FROM {_table(address, database.tables())}"  # noqa: S608 - quoted
        schema, batches = database.batches(sql.strip().rstrip(";"))
        refuse_many_columns(len(schema), address.label, most)
        refuse_repeated(schema.names, address.label)
        refuse_nested(schema, address.label, spare)
        spool = spooled_batches(schema, _not_empty(batches, address, query), address.name)
    return SpooledDatabase(spool, address.name, getattr(database, "impossible", ()))


def _opened(address: DatabaseAddress) -> AbstractContextManager[Database]:
    if address.kind in _MAGIC:
        if not address.path.is_file():
            raise _no_file(address)
        place, magic, what = _MAGIC[address.kind]
        with reading(address.place), address.path.open("rb") as file:
            start = file.read(32)
        if start and start[place : place + len(magic)] != magic:
            raise InputError(f"{address.label} is not {what}; give another file.")
    opened: AbstractContextManager[Database] = import_module(_MODULES[address.kind]).opened(address)
    return opened


def _no_file(address: DatabaseAddress) -> InputError:
    from_root = Path("/", address.place)
    if not address.path.is_absolute() and from_root.is_file():
        return InputError(
            f"{shorten(address.place)} is not there; for a path from the root write "
            f"{address.kind}:///{from_root}."
        )
    if address.path.is_dir():
        return InputError(f"{shorten(address.place)} is a folder; give the file of a database.")
    return missing_file(address.path, address.place)


def _refuse_no_reading(address: DatabaseAddress, query: str) -> None:
    """Raise for a query that does not begin as one that only reads."""
    place = 0
    while comment := _COMMENT.match(query, place):
        place = comment.end()
    word = re.match(r"[\s(]*(\w*)", query[place:])
    if word is None or not word[1]:
        raise InputError(f"The query to {address.label} is empty; pass a SELECT statement.")
    if word[1].lower() not in _READS:
        raise InputError(
            f"The query to {address.label} begins with {shorten(word[1])!r}, but only queries that "
            "read are run; pass a SELECT statement."
        )


def _table(address: DatabaseAddress, tables: dict[str, str]) -> str:
    """The table that the address names, or the only one of the database, quoted for SQL."""
    names = list(tables)
    if not names:
        raise InputError(f"{address.label} holds no tables; give another database.")
    if address.table is None:
        if len(names) > 1:
            raise InputError(
                f"{address.label} holds {len(names)} tables, {listed(names)}; name one at its end, "
                f"such as ?table={shorten(names[0])}, or pass a query."
            )
        return tables[names[0]]
    if address.table in tables:
        return tables[address.table]
    near = difflib.get_close_matches(address.table, names, n=1)
    hint = f"did you mean {shorten(near[0])!r}?" if near else f"it has {listed(names)}."
    raise InputError(f"{address.label} has no table {shorten(address.table)!r}; {hint}")


def _not_empty(
    batches: Iterable[pa.RecordBatch], address: DatabaseAddress, query: str | None
) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        yield batch
    if not rows and query is not None:
        raise InputError(f"The query to {address.label} gives no rows; check its conditions.")
