"""Tables of databases come in as they were put there, and nothing is ever written to them."""

from __future__ import annotations

import datetime as dt
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import child
from pnml.readers import UNREADABLE, open_table
from pnml.readers.database_address import DatabaseAddress
from pnml.readers.postgresql_database import server_address
from read_tables import refused, whole

ROWS = [(k, k / 4, f"w{k % 3}" if k % 5 else None, f"2024-01-{k % 28 + 1:02d}") for k in range(99)]


def columns_of(rows):
    n, x, w, day = zip(*rows, strict=True)
    days = [dt.date.fromisoformat(text) for text in day]
    return {"n": list(n), "x": list(x), "w": list(w), "day": days}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_sqlite(script, path="my.db", rows=()):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        if rows:
            connection.executemany("INSERT INTO sales VALUES (?, ?, ?, ?)", rows)
        connection.commit()


def write_duckdb(script, path="my.duckdb", rows=()):
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect(path)) as connection:
        connection.execute(script)
        if rows:
            connection.executemany("INSERT INTO sales VALUES (?, ?, ?, ?)", rows)


MADE = {"sqlite:///my.db": write_sqlite, "duckdb:///my.duckdb": write_duckdb}
SALES = "CREATE TABLE sales (n INTEGER, x DOUBLE, w TEXT, day DATE);"
OLD = "CREATE TABLE old (n INTEGER); INSERT INTO old VALUES (7);"


@pytest.mark.parametrize("address", MADE)
def test_a_table_has_the_rows_that_were_put_into_it(address, here):
    MADE[address](SALES, rows=ROWS)
    assert whole(address).to_pydict() == columns_of(ROWS)
    MADE[address](OLD, rows=())
    assert whole(f"{address}?table=sales").to_pydict() == columns_of(ROWS)
    kind, _, path = address.partition(":///")
    assert whole(f"{kind}:///{here / path}?table=old").to_pydict() == {"n": [7]}


@pytest.mark.parametrize("address", MADE)
def test_a_query_gives_what_it_selects(address, here):
    MADE[address](SALES, rows=ROWS)
    query = "-- by word\nSELECT w, count(*) AS many FROM sales WHERE w > '' GROUP BY w ORDER BY w;"
    words = sorted({row[2] for row in ROWS if row[2]})
    many = [sum(row[2] == word for row in ROWS) for word in words]
    assert whole(address, query=query).to_pydict() == {"w": words, "many": many}
    found = whole(
        address, query="WITH late AS (SELECT n FROM sales WHERE n > 90) SELECT * FROM late"
    )
    assert found.to_pydict() == {"n": list(range(91, 99))}


@pytest.mark.parametrize("address", MADE)
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("DELETE FROM sales", "begins with 'DELETE', but only queries that read are run"),
        ("/* x */ drop table sales", "begins with 'drop'"),
        ("ATTACH 'other.db' AS other", "begins with 'ATTACH'"),
        ("WITH a AS (SELECT 1) DELETE FROM sales", "would do more than read"),
        ("SELECT 1; DELETE FROM sales", None),
        ("SELECT * FROM sales WHERE n < 0", "gives no rows"),
        ("SELECT * FROM sails", "fails ("),
        ("SELECT n, n FROM sales", "more than one column named 'n'"),
        (" -- nothing\n", "is empty"),
    ],
)
def test_other_queries_are_refused_and_change_nothing(address, query, words, here):
    MADE[address](SALES, rows=ROWS)
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    sentence = refused(address, query=query)
    assert (words or f"query to {address} ") in sentence
    assert address in sentence
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.parametrize("address", MADE)
def test_what_is_not_in_a_database_is_named(address, here):
    kind, _, path = address.partition(":///")
    assert f"{path} is not there; check the path" in refused(address)
    MADE[address](OLD)
    assert f"did you mean {path}?" in refused(address.replace("my", "mi"))
    MADE[address](SALES)
    sentence = refused(address)
    assert "holds 2 tables, 'old', 'sales'" in sentence.replace("'sales', 'old'", "'old', 'sales'")
    assert "no table 'sale'; did you mean 'sales'?" in refused(f"{address}?table=sale")
    assert "no table 'zebra'; it has " in refused(f"{address}?table=zebra")
    assert "has columns but no rows" in refused(f"{address}?table=sales")
    assert "names a table, but there is a query" in refused(
        f"{address}?table=old", query="SELECT 1"
    )
    assert "has the setting 'mode'" in refused(f"{address}?mode=rw")
    assert "names no file" in refused(f"{kind}://{path}")
    assert "must name one table" in refused(f"{address}?table=")
    assert f"write {kind}:///{here / path}." in refused(f"{kind}://{here / path}")
    Path("no.db").write_text("a,b\n1,2\n" * 9)
    assert f"{kind}:///no.db is not a" in refused(f"{kind}:///no.db")
    assert f"read one of its tables by {address}?table=NAME" in refused(path)


def test_a_query_needs_a_database(here):
    Path("t.csv").write_text("a\n1\n")
    assert "There is a query, but t.csv is no database" in refused("t.csv", query="SELECT 1")
    assert "There is a query, but Table is no database" in refused(
        pa.table({"a": [1]}), query="SELECT 1"
    )


def test_cells_of_sqlite_decide_the_types_of_its_columns(here):
    write_sqlite(
        "CREATE TABLE t (whole, mixed, text, moment, zone, void, word);"
        "INSERT INTO t VALUES (1, 1, 'a', '2024-01-01 10:30', '2024-01-01T10:30:00Z', NULL, '1');"
        "INSERT INTO t VALUES (2, 2.5, 3, '2024-01-02', '2024-01-01T10:30:00Z', NULL, NULL)"
    )
    found = whole("sqlite:///my.db")
    assert found.to_pydict() == {
        "whole": [1, 2],
        "mixed": [1.0, 2.5],
        "text": ["a", "3"],
        "moment": [dt.datetime(2024, 1, 1, 10, 30), dt.datetime(2024, 1, 2)],
        "zone": ["2024-01-01T10:30:00Z"] * 2,
        "void": [None, None],
        "word": ["1", None],
    }
    write_sqlite("CREATE TABLE b (b); INSERT INTO b VALUES (x'00')")
    sentence = refused("sqlite:///my.db?table=b")
    assert "Column 'b' of sqlite:///my.db?table=b holds cells of type binary" in sentence


def test_an_impossible_date_in_sqlite_is_refused_or_told(here):
    write_sqlite("CREATE TABLE t (d); INSERT INTO t VALUES ('2024-02-28'), ('2024-02-30')")
    expected = "Column 'd' of sqlite:///my.db holds '2024-02-30', a date that does not exist"
    assert expected in refused("sqlite:///my.db")
    assert whole("sqlite:///my.db", text=["d"])["d"].to_pylist() == ["2024-02-28", "2024-02-30"]
    found = whole("sqlite:///my.db", dates=["d"], lenient=True)
    assert found["d"].to_pylist() == [dt.datetime(2024, 2, 28), None]
    assert found[f"{UNREADABLE}d"].to_pylist() == [None, "2024-02-30"]


def test_odd_names_are_quoted(here):
    write_sqlite("""CREATE TABLE "my ""best"" t;" (a); INSERT INTO "my ""best"" t;" VALUES (7)""")
    assert whole("sqlite:///my.db").to_pydict() == {"a": [7]}
    assert whole('sqlite:///my.db?table=my "best" t;').to_pydict() == {"a": [7]}


def test_a_duckdb_file_that_another_process_writes_is_refused(here):
    write_duckdb(OLD)
    code = (
        "import duckdb, sys; c = duckdb.connect('my.duckdb'); print('open', flush=True); "
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with child.started(command, seconds=60, text=True, **pipes) as process:
        assert process.stdout.readline() == "open\n"
        assert "duckdb:///my.duckdb is locked by another process" in refused("duckdb:///my.duckdb")
        process.communicate("")


def test_a_query_to_duckdb_reaches_no_other_file(here):
    write_duckdb(OLD)
    Path("secret.csv").write_text("a\n1\n")
    assert "fails (" in refused("duckdb:///my.duckdb", query="SELECT * FROM 'secret.csv'")


@pytest.mark.parametrize("unnamed", [True, False])
def test_no_copy_of_a_table_is_left_behind(unnamed, here, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(here / "spool"))
    (here / "spool").mkdir()
    write_sqlite(SALES, rows=ROWS)
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    with open_table("sqlite:///my.db") as table:
        assert table.is_temporary
        named = list((here / "spool").iterdir())
        assert len(named) == (0 if unnamed and hasattr(os, "O_TMPFILE") else 1)
        assert table.read(lambda batches: sum(batch.num_rows for batch in batches)) == len(ROWS)
    refused("sqlite:///my.db", query="SELECT * FROM sales WHERE n < 0")
    assert not list((here / "spool").iterdir())


def closed_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def test_a_server_that_does_not_answer_is_named_without_its_password(here):
    pytest.importorskip("adbc_driver_postgresql")
    address = f"postgresql://ann:top%40secret@127.0.0.1:{closed_port()}/db?sslpassword=hush"
    begun = time.monotonic()
    sentence = refused(address + "&table=t&connect_timeout=5")
    assert time.monotonic() - begun < 60
    assert sentence.startswith("postgresql://ann:***@127.0.0.1:")
    assert "does not answer" in sentence
    assert not re.search("secret|hush", sentence)


def test_addresses_of_servers_are_read_apart():
    address = DatabaseAddress.of("postgres://ann:p%2Fw@host:5/db?table=a.b&sslmode=require")
    assert address.kind == "postgresql"
    assert address.table == "a.b"
    assert address.place == "postgresql://ann:p%2Fw@host:5/db?sslmode=require"
    assert address.name == "postgresql://ann:***@host:5/db?table=a.b&sslmode=require"
    assert address.reason(ValueError("no p/w or p%2Fw here\nDETAIL")) == "no *** or *** here"
    only = "options=-c%20default_transaction_read_only%3Don"
    assert server_address("postgresql://h/db") == f"postgresql://h/db?{only}&connect_timeout=10"
    given = server_address("postgresql://h/db?options=-c%20a%3D1&connect_timeout=3")
    assert given == f"postgresql://h/db?{only}%20-c%20a%3D1&connect_timeout=3"


@pytest.mark.parametrize(
    ("package", "address", "shown"),
    [
        ("duckdb", "duckdb:///my.duckdb", "need duckdb, which"),
        ("adbc_driver_postgresql.dbapi", "postgresql://h/db", "need adbc-driver-postgresql, which"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(package, address, shown, here, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    Path("my.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 100)
    sentence = refused(address)
    assert shown in sentence
    assert 'pip install "pnml[databases]"' in sentence
