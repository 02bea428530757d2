"""Tables of an SQLite file, by the module of Python's own library; types come from the cells."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pnml.errors import InputError
from pnml.readers.cell_formats import CellFormats
from pnml.readers.database_address import DatabaseAddress
from pnml.readers.file_errors import refuse_repeated

_ROWS = 16_384
_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_DATE = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?$"


@contextmanager
def opened(address: DatabaseAddress) -> Iterator[SqliteDatabase]:
    """The database of a file, opened for reading only."""
    uri = f"{address.path.absolute().as_uri()}?mode=ro"
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=5, check_same_thread=False)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise InputError(
            f"{address.label} cannot be opened ({address.reason(error)}); check that it is an "
            "SQLite database and that nothing is writing to it."
        ) from error
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY
    )
    with closing(connection):
        yield SqliteDatabase(connection, address)


class SqliteDatabase:
    """An SQLite database that is only read."""

    impossible: tuple[tuple[str, str], ...] = ()  # (column, a date in it that does not exist)

    def __init__(self, connection: sqlite3.Connection, address: DatabaseAddress) -> None:
        self._connection, self._address = connection, address

    def tables(self) -> dict[str, str]:
        """Names of the tables and then of the views, each with its quoted name for SQL."""
        rows = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY type, rowid"
        )
        return {name: quoted(name) for (name,) in rows}

    def batches(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The schema of a query's rows, and these rows in batches.

        All rows are read once before, to find the types.
        """
        with closing(self._connection.execute(sql)) as cursor:
            names = [column[0] for column in cursor.description]
            refuse_repeated(names, self._address.label)
            seen = [_Seen() for _ in names]
            while rows := cursor.fetchmany(_ROWS):
                for column, cells in zip(seen, zip(*rows, strict=True), strict=True):
                    column.look(cells)
        found = zip(names, seen, strict=True)
        self.impossible = tuple((name, c.impossible) for name, c in found if c.impossible)
        schema = pa.schema([(name, c.type()) for name, c in zip(names, seen, strict=True)])
        return schema, self._rows(sql, schema)

    def _rows(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with closing(self._connection.execute(sql)) as cursor:
            while rows := cursor.fetchmany(_ROWS):
                columns = zip(*rows, strict=True)
                arrays = [_array(c, f.type) for c, f in zip(columns, schema, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass
class _Seen:
    """Types of the cells of a column so far; SQLite itself has no types of columns."""

    kinds: set[type] = field(default_factory=set)
    dates: bool = True  # whether all text is written as dates without a time zone are
    longest: int = 0
    impossible: str = ""

    def look(self, cells: Sequence[Any]) -> None:
        """Take some cells into account."""
        self.kinds |= set(map(type, cells))
        if not self.dates or str not in self.kinds or self.kinds - {str, type(None)}:
            self.dates = self.dates and str not in self.kinds
            return
        texts = pc.unique(pa.array(cells, pa.string()).drop_null())
        if len(texts):
            self.dates = bool(pc.all(pc.match_substring_regex(texts, _DATE)).as_py())
            self.longest = max(self.longest, pc.max(pc.utf8_length(texts)).as_py())
        if self.dates and not self.impossible:
            self.impossible = next(iter(CellFormats().impossible_dates(texts)), "")
        if not self.dates:
            self.impossible = ""

    def type(self) -> pa.DataType:
        """The type that holds all cells."""
        if bytes in self.kinds:
            return pa.binary()
        if str in self.kinds:
            if not self.dates or self.impossible:
                return pa.string()
            return pa.date32() if self.longest == len("2024-12-31") else pa.timestamp("us")
        if float in self.kinds:
            return pa.float64()
        return pa.int64() if int in self.kinds else pa.null()


def quoted(name: str) -> str:
    """A name in double quotes, as SQL writes names of tables.

    >>> quoted('my "best" table')
    '"my ""best"" table"'
    """
    return '"' + name.replace('"', '""') + '"'


def _array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pt.is_string(kind):
        return pa.array([None if cell is None else str(cell) for cell in cells], kind)
    if pt.is_binary(kind):
        cells = [c if isinstance(c, bytes | None) else str(c).encode() for c in cells]
    if pt.is_temporal(kind):
        return CellFormats().read(pa.array(cells, pa.string()), kind)
    return pa.array(cells, kind)
