"""Tables of a DuckDB file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import pyarrow as pa

from pnml.errors import InputError, how_to_install
from pnml.readers.database_address import DatabaseAddress
from pnml.readers.sqlite_database import quoted

_ROWS = 65_536
_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_catalog = current_database() ORDER BY table_type, table_schema, table_name"
)


@contextmanager
def opened(address: DatabaseAddress) -> Iterator[DuckDatabase]:
    """The database of a file, opened for reading only; other files cannot be reached from it."""
    settings = {"enable_external_access": "false"}
    library = _library()
    try:
        connection = library.connect(str(address.path), read_only=True, config=settings)
    except Exception as error:
        reason = address.reason(error)
        if "lock" in reason:
            raise InputError(
                f"{address.label} is locked by another process that may write to it; close that "
                "one, or copy the file."
            ) from error
        raise InputError(
            f"{address.label} cannot be opened ({reason}); check that it is whole, and written by "
            "this version of DuckDB or an older one."
        ) from error
    with closing(connection):
        yield DuckDatabase(connection, address)


class DuckDatabase:
    """A DuckDB database that is only read."""

    def __init__(self, connection: Any, address: DatabaseAddress) -> None:
        self._connection, self._address = connection, address

    def tables(self) -> dict[str, str]:
        """Names of the tables and then of the views, each with its quoted name for SQL."""
        rows = self._connection.execute(_TABLES).fetchall()
        return named(rows, "main")

    def batches(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The schema of a query's rows, and these rows in batches."""
        statements = self._connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type.name.split("_")[0] != "SELECT":
            raise self._address.would_write()
        relation = self._connection.sql(sql)
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        reader = read(_ROWS)
        return reader.schema, iter(reader)


def named(rows: list[tuple[str, str]], usual: str) -> dict[str, str]:
    """Names of tables for users, each with its quoted name for SQL; `rows` are (schema, table).

    A name has its schema in front unless that is the `usual` one.

    >>> named([("main", "a"), ("old", "a")], "main")
    {'a': '"main"."a"', 'old.a': '"old"."a"'}
    """
    return {
        table if schema == usual else f"{schema}.{table}": f"{quoted(schema)}.{quoted(table)}"
        for schema, table in rows
    }


def _library() -> ModuleType:
    try:
        return import_module("duckdb")
    except ModuleNotFoundError as error:
        raise InputError(
            "Addresses such as duckdb:// need duckdb, which is not installed; "
            f"{how_to_install('databases')}."
        ) from error
