"""Read a table batch by batch from files, standard input, a database or a data frame."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa

from pnml.readers.batches import resized
from pnml.readers.common_schema import (
    common_schema,
    joined_schema,
    wanted_schema,
    wanted_typed,
    widened_schema,
)
from pnml.readers.csv_file import CsvFile
from pnml.readers.csv_text import ReadOptions
from pnml.readers.expected import Dates, Expected
from pnml.readers.file_errors import impossible_date
from pnml.readers.file_pass import START, Broken, Event, Mark, Read, Then, Wider, events
from pnml.readers.find_files import FoundFiles
from pnml.readers.find_source import find_source
from pnml.readers.pandas_columns import Spare, none_spare
from pnml.readers.table_files import TableFiles

_MOST_WORKERS = 4

Progress = Callable[[int, int], None]
T = TypeVar("T")


class Retyped(Exception):  # noqa: N818 - a signal for the caller, no error
    """Columns of a table source need other types than those they were read with.

    `schema` has types that fit; the caller reads the table again with it.
    """

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__("The table is read again with other types.")
        self.schema = schema


class _LeftOut(Exception):  # noqa: N818 - a signal for the caller, no error
    """A file turned out to be bad after some of its rows had been handed on."""


def open_table(
    source: Any,
    options: ReadOptions | None = None,
    *,
    columns: Collection[str] | None = None,
    skip_bad: bool = False,
    access: Mapping[str, Any] | None = None,
    spare: Spare = none_spare,
) -> TableSource:
    r"""A source of a table's rows that can be read many times, in bounded memory.

    Parameters
    ----------
    source : str, path or data frame
        A CSV, TSV, Parquet or Arrow file (also compressed CSV), a folder of them, a pattern such
        as ``"part-*.csv"``, ``"-"`` for standard input, or an address that fsspec can open, such
        as ``"s3://bucket/part-*.parquet"``; a database, such as ``"sqlite:///my.db?table=sales"``,
        ``"duckdb:///my.duckdb"`` or ``"postgresql://user@host/db"``; a pandas or polars frame, a
        pyarrow table, or anything with ``__arrow_c_stream__``, such as a relation of DuckDB.
    options : ReadOptions
        Delimiter, encoding, missing words and formats of text files; query to a database.
    columns : names of columns, optional
        Only these are read, and only these must be the same in all files.
    skip_bad : bool
        Leave out all rows of files that cannot be read to their end; ``bad`` lists these files.
    access : dict, optional
        Options of fsspec for an address, such as credentials.
    spare : function of a name, optional
        Whether nobody asks for the cells of a column, which may then hold lists or any objects;
        those that cannot be read come as null.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("age,name\n7,Ann\n9,Bob\n")
    ...     table = open_table(path)
    ...     table.schema.names, table.read(lambda batches: sum(b.num_rows for b in batches))
    (['age', 'name'], 2)
    """
    options = options or ReadOptions()

    def unread(name: str) -> bool:
        return spare(name) or (columns is not None and name not in columns)

    found = find_source(source, options, access, skip_bad=skip_bad, spare=unread)
    try:
        return TableSource(found, options, columns, skip_bad=skip_bad)
    except BaseException:
        if found.temporary is not None:
            found.temporary.remove()
        raise


class TableSource:
    """The source of a table's rows, in files; see `open_table`.

    >>> open_table("missing.csv")
    Traceback (most recent call last):
    ...
    pnml.errors.InputError: missing.csv is not there; check the path.
    """

    name: str  # for messages
    files: tuple[Path, ...]
    size: int  # bytes on disk
    schema: pa.Schema  # from the first rows; CSV columns may turn out to have wider types

    def __init__(
        self,
        found: FoundFiles,
        options: ReadOptions,
        columns: Collection[str] | None = None,
        *,
        skip_bad: bool = False,
    ) -> None:
        self._files = TableFiles(found, options, columns, skip_bad)
        paths = [part.file.path for part in self._files.parts]
        self.name, self.size = found.name, self._files.size
        self.files = tuple(path for path in paths if isinstance(path, Path))
        self.schema = common_schema(self._files.readable, self._files.first_with_rows, self.name)
        self._impossible = found.impossible
        self._remove = None
        if found.temporary is not None:
            self._remove = weakref.finalize(self, found.temporary.remove)

    @property
    def bad(self) -> dict[str, str]:
        """Names of the files that are left out, each with the reason."""
        return self._files.bad

    @property
    def skips_bad(self) -> bool:
        """Whether files that cannot be read are left out."""
        return self._files.skip_bad

    @property
    def identity(self) -> list[list[Any]]:
        """Names, sizes and times of the files, to tell whether they have changed."""
        return self._files.identity

    def file_name(self, file: int) -> str:
        """Name of the file with the index `file`, which the events of a pass give."""
        return self._files.parts[file].file.name

    def leave_out(self, broken: Broken) -> None:
        """Skip an unreadable file, as its event `broken` reports, in this and all later passes."""
        self._files.leave_out(broken)

    def leave_out_named(self, bad: Mapping[str, str]) -> None:
        """Leave out files that an earlier pass could not read; `bad` maps names to reasons."""
        self._files.leave_out_named(bad)

    def close(self) -> None:
        """Remove the temporary copy of standard input, if there is one."""
        if self._remove is not None:
            self._remove()

    def __enter__(self) -> TableSource:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(
        self,
        consume: Callable[[Iterator[pa.RecordBatch]], T],
        *,
        numeric: Collection[str] = (),
        text: Collection[str] = (),
        schema: pa.Schema | None = None,
        progress: Progress | None = None,
        dates: Dates | Collection[str] = (),
        times: Collection[str] = (),
        lenient: bool = False,
    ) -> T:
        """The result of `consume`, called with all rows in batches of one schema.

        `consume` may be CALLED TWICE: where later cells of a CSV file do not fit the types of its
        first rows, an exception passes through the first call, and a second call gets all rows
        again with types that fit. So it must start from nothing, keep no state outside, and let
        exceptions that are not its own pass.

        Parameters
        ----------
        consume : function of an iterator of record batches
        numeric : names of columns
            Text in these columns of a CSV file raises an error.
        text : names of columns
            These columns of a CSV file are read as text, so 007 keeps its zeros.
        schema : pyarrow.Schema, optional
            Types to start with, in place of those of the first rows.
        progress : function of the bytes read so far and of all bytes
            Called before each batch; the first number falls where rows are read again.
        dates, times : names of columns
            With `lenient`, these columns are read as dates, and as times of day. A mapping of the
            columns of dates says whether their cells name a time zone; None: as most of them do.
        lenient : bool
            Text that cannot be read in columns named `numeric`, `dates` or `times`, and dates that
            do not exist in other columns, become null and raise no error. Batches with such cells
            have a further column for each of these columns, named ``UNREADABLE`` and the column's
            name, with the text of these cells and null for all others.
        """
        expected = Expected.of(numeric, dates, times, lenient=lenient)
        if schema is None:
            schema = self.wanted(numeric, text, dates=dates, times=times, lenient=lenient)
        while True:
            with closing(self._batches(schema, expected, progress)) as stream:
                try:
                    return consume(resized(stream))
                except Retyped as retyped:
                    schema = retyped.schema
                except _LeftOut:
                    continue  # now without the rows of that file

    def wanted(
        self,
        numeric: Collection[str] = (),
        text: Collection[str] = (),
        *,
        dates: Dates | Collection[str] = (),
        times: Collection[str] = (),
        lenient: bool = False,
    ) -> pa.Schema:
        """The column types with which `read` starts if it is called with these arguments.

        Codes such as 007 are text unless `numeric` names their column. Raises InputError for a date
        that does not exist among the first rows, unless `text` names its column or reading is
        `lenient`.
        """
        expected = Expected.of(numeric, dates, times, lenient=lenient)
        first = self._files.first_with_rows
        if not isinstance(first, CsvFile):
            if lenient:
                return wanted_typed(self.schema, expected, set(text))
            for name, cell in self._impossible:
                if name not in text:
                    raise impossible_date(name, self.name, cell)
            return self.schema
        words = {*text, *(set(first.padded) - expected.numeric)}
        impossible = [
            name
            for name in first.impossible_dates
            if name not in words and name in self.schema.names
        ]
        if not lenient:
            first.refuse_impossible_dates(None, impossible)
            return wanted_schema(self.schema, expected, words)
        schema = wanted_schema(self.schema, expected, words)
        return first.with_dates(schema, {*expected.dates, *impossible} - words, expected)

    def codes(self) -> list[str]:
        """Names of columns whose cells only text keeps: 007, long numbers, impossible dates."""
        first = self._files.first_with_rows
        if not isinstance(first, CsvFile):
            return [name for name, _ in self._impossible]
        return [*first.codes(), *first.impossible_dates]

    def passing(
        self,
        schema: pa.Schema,
        then: Then,
        *,
        numeric: Collection[str] = (),
        dates: Dates | Collection[str] = (),
        times: Collection[str] = (),
        lenient: bool = False,
        start: Mark = START,
        workers: int | None = None,
    ) -> Generator[Event, None, None]:
        """Events of one pass over the files from the position `start` on, in order.

        A file is read in pieces of some rows; `then` is called with the rows and the position of
        each, in a reading thread, and its result is in the event `Read`. Raises `Retyped` at the
        end if cells of a CSV file do not fit the schema. The caller passes a `Broken` file to
        `leave_out`. The other arguments are those of `read`.
        """
        wider, expected = schema, Expected.of(numeric, dates, times, lenient=lenient)
        most = min(_MOST_WORKERS, pa.cpu_count()) if self.is_text else 1
        stream = events(
            self._files.parts,
            schema,
            then,
            workers=workers or most,
            expected=expected,
            start=start,
            without=frozenset(self._files.without),
            skip_bad=self.skips_bad,
        )
        with closing(stream):
            for event in stream:
                result = event.result if isinstance(event, Read) else None
                if isinstance(result, Wider) and isinstance(result.part, CsvFile):
                    block = (result.schema, result.part, result.piece, expected)
                    # from the types that the block was read with, not from those widened since
                    wider = joined_schema(wider, widened_schema(schema, *block))
                elif wider is schema:
                    yield event
        if wider is not schema:
            raise Retyped(wider)

    def _batches(
        self, schema: pa.Schema, expected: Expected, progress: Progress | None
    ) -> Generator[pa.RecordBatch, None, None]:
        """Rows of one schema; raises `Retyped` at the end where they need another one."""
        passing = self.passing(
            schema,
            lambda batch, _: batch,
            numeric=expected.numeric,
            dates=expected.dates,
            times=expected.times,
            lenient=expected.lenient,
        )
        with closing(passing) as stream:
            for event in stream:
                if isinstance(event, Broken):
                    self.leave_out(event)
                    raise _LeftOut
                if not isinstance(event, Read):
                    continue
                if progress is not None:
                    progress(event.done, self.size)
                yield event.result

    @property
    def is_temporary(self) -> bool:
        """Whether rows come from a temporary copy of a pipe, a database or a stream."""
        return self._remove is not None

    @property
    def is_text(self) -> bool:
        """Whether the types of columns come from the cells, as in CSV files."""
        return isinstance(self._files.parts[0], CsvFile)
