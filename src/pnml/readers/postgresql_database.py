"""Tables of a PostgreSQL server, in Arrow batches by ADBC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import pyarrow as pa

from pnml.errors import InputError, how_to_install
from pnml.readers.database_address import DatabaseAddress
from pnml.readers.duckdb_database import named

_SECONDS = 10  # to wait for a server, unless the address says otherwise
_READ_ONLY = "options=-c%20default_transaction_read_only%3Don"
_TYPE_NAME = b"ADBC:postgresql:typname"
_TABLES = (
    "SELECT table_schema::text, table_name::text FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') "
    "ORDER BY table_type, table_schema, table_name"
)


@contextmanager
def opened(address: DatabaseAddress) -> Iterator[PostgresDatabase]:
    """The database of a server, in transactions that only read."""
    library = _library()
    try:
        connection = library.connect(server_address(address.place))
    except Exception as error:
        raise InputError(
            f"{address.label} does not answer ({address.reason(error)}); check the address, the "
            "user and that the server runs."
        ) from None  # the cause may show the password
    with closing(connection):
        yield PostgresDatabase(connection)


def server_address(place: str) -> str:
    """The address of a server, with settings for a time limit and for reading only.

    >>> server_address("postgresql://host/db?connect_timeout=3")
    'postgresql://host/db?connect_timeout=3&options=-c%20default_transaction_read_only%3Don'
    """
    settings = place.partition("?")[2]
    if "options=" in settings:
        place = place.replace("options=", f"{_READ_ONLY}%20", 1)
    else:
        place += f"{'&' if settings else '?'}{_READ_ONLY}"
    return place if "connect_timeout=" in settings else f"{place}&connect_timeout={_SECONDS}"


class PostgresDatabase:
    """A PostgreSQL database that is only read."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def tables(self) -> dict[str, str]:
        """Names of the tables and then of the views, each with its quoted name for SQL."""
        with self._connection.cursor() as cursor:
            cursor.execute(_TABLES)
            return named(cursor.fetchall(), "public")

    def batches(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The schema of a query's rows, and these rows in batches."""
        cursor = self._connection.cursor()
        cursor.execute(sql)
        reader = cursor.fetch_record_batch()
        schema = pa.schema([field.with_type(_plain(field)) for field in reader.schema])
        return schema, _cast(reader, schema, cursor)


def _cast(reader: Any, schema: pa.Schema, cursor: Any) -> Iterator[pa.RecordBatch]:
    with closing(cursor):
        for batch in reader:
            columns = [_array(c, f.type) for c, f in zip(batch.columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _plain(field: pa.Field) -> pa.DataType:
    """The type of a column; numbers of any length are floats, UUIDs text."""
    if _is_uuid(field.type):
        return pa.string()
    kind, name = field.type, (field.metadata or {}).get(_TYPE_NAME, b"").decode()
    if isinstance(kind, pa.BaseExtensionType):
        name, kind = name or str(getattr(kind, "type_name", "")), kind.storage_type
    return pa.float64() if name == "numeric" else kind


def _is_uuid(kind: pa.DataType) -> bool:
    return getattr(kind, "extension_name", None) == "arrow.uuid"


def _array(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if _is_uuid(column.type):
        return pa.array([None if cell is None else str(cell) for cell in column.to_pylist()], kind)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column if column.type.equals(kind) else column.cast(kind)


def _library() -> ModuleType:
    try:
        return import_module("adbc_driver_postgresql.dbapi")
    except ModuleNotFoundError as error:
        raise InputError(
            "Addresses such as postgresql:// need adbc-driver-postgresql, which is not installed; "
            f"{how_to_install('databases')}."
        ) from error
