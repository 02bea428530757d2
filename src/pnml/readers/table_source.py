"""A table to read: a file, a folder, a pattern or standard input, batch by batch."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa

from pnml.errors import InputError
from pnml.readers.batches import resized
from pnml.readers.common_schema import (
    Part,
    common_schema,
    joined_schema,
    wanted_schema,
    widened_schema,
)
from pnml.readers.csv_file import CsvPart
from pnml.readers.csv_text import ReadOptions
from pnml.readers.file_errors import listed
from pnml.readers.file_kind import Kind
from pnml.readers.file_pass import START, Broken, Event, Mark, Read, Then, Wider, events
from pnml.readers.find_files import Found, TableFile, find
from pnml.readers.typed_file import TypedPart

_MOST_WORKERS = 4

Progress = Callable[[int, int], None]
T = TypeVar("T")


class Retyped(Exception):  # noqa: N818 - no error, but news for the caller
    """Columns need other types than those they were read with."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__("The table is read again with other types.")
        self.schema = schema


class _LeftOut(Exception):  # noqa: N818 - no error, but news for the caller
    """A file turned out to be bad when some of its rows had been handed on."""


def open_table(
    source: str | Path,
    options: ReadOptions | None = None,
    *,
    columns: Collection[str] | None = None,
    skip_bad: bool = False,
    access: Mapping[str, Any] | None = None,
) -> TableSource:
    r"""A table that can be read, as often as needed, in bounded memory.

    Parameters
    ----------
    source : str or path
        A CSV, TSV, Parquet or Arrow file (also compressed CSV), a folder of them, a pattern such
        as ``"part-*.csv"``, ``"-"`` for standard input, or an address that fsspec can open, such
        as ``"s3://bucket/part-*.parquet"``.
    options : ReadOptions
        What is to be known about text files.
    columns : names of columns, optional
        Only these are read, and only these must be alike in all files.
    skip_bad : bool
        Leave out files that cannot be read to their end, all rows of them; they are listed in
        ``bad``.
    access : dict, optional
        What fsspec is to know about an address, such as who asks.

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
    found = find(source, access, skip_bad=skip_bad)
    try:
        return TableSource(found, options or ReadOptions(), columns, skip_bad=skip_bad)
    except BaseException:
        if found.temporary is not None:
            found.temporary.unlink(missing_ok=True)
        raise


class TableSource:
    """Where a table comes from; see `open_table`.

    >>> open_table("missing.csv")
    Traceback (most recent call last):
    ...
    pnml.errors.InputError: missing.csv is not there; check the path.
    """

    name: str  # for messages
    files: tuple[Path, ...]
    size: int  # bytes on disk
    schema: pa.Schema  # by a first look; CSV columns may turn out to be of wider types
    bad: dict[str, str]  # names of files left out, and why

    def __init__(
        self,
        found: Found,
        options: ReadOptions,
        columns: Collection[str] | None = None,
        *,
        skip_bad: bool = False,
    ) -> None:
        self.name = found.name
        self._skip_bad = skip_bad
        self.bad = dict(found.bad)
        self._parts = [
            part for file in found.files if (part := self._part(file, options, columns)) is not None
        ]
        self._refuse_nothing_left()
        self._without: set[int] = set()  # places of parts that turned out to be bad
        self.files = tuple(p.file.path for p in self._parts if isinstance(p.file.path, Path))
        self.size = sum(part.file.size for part in self._parts)
        full = self._first_with_rows()
        self._refuse_lacking(columns)
        self.schema = common_schema(self._good(), full, self.name)
        self._remove = None
        if found.temporary is not None:
            self._remove = weakref.finalize(self, found.temporary.unlink, missing_ok=True)

    def _part(
        self, file: TableFile, options: ReadOptions, columns: Collection[str] | None
    ) -> Part | None:
        try:
            if file.kind is Kind.TEXT:
                return CsvPart(file, options, columns)
            return TypedPart(file, columns)
        except InputError as error:
            if not self._skip_bad:
                raise
            self.bad[file.name] = str(error)
            return None

    def _first_with_rows(self) -> Part | None:
        for place, part in enumerate(self._parts):
            try:
                if part.has_rows():
                    _ = part.schema
                    return part
            except InputError as error:
                if not self._skip_bad:
                    raise
                self.leave_out(Broken(place, error))
        return None

    def _good(self) -> list[Part]:
        return [part for place, part in enumerate(self._parts) if place not in self._without]

    def leave_out(self, broken: Broken) -> None:
        """Take note of a file that cannot be read; no later pass looks at it."""
        self.bad[self.file_name(broken.file)] = str(broken.error)
        self._without.add(broken.file)
        self._refuse_nothing_left()

    def leave_out_named(self, bad: Mapping[str, str]) -> None:
        """Take note of files that an earlier pass could not read."""
        self.bad |= bad
        self._without |= {i for i, part in enumerate(self._parts) if part.file.name in bad}

    @property
    def skips_bad(self) -> bool:
        """Whether files that cannot be read are left out."""
        return self._skip_bad

    def file_name(self, file: int) -> str:
        """What messages call a file that an event speaks of."""
        return self._parts[file].file.name

    @property
    def identity(self) -> list[list[Any]]:
        """Names and states of the files, by which it is known whether they are still the same."""
        return [[p.file.name, p.file.size, p.file.state[-1]] for p in self._parts]

    def _refuse_nothing_left(self) -> None:
        if self._parts and len(getattr(self, "_without", ())) < len(self._parts):
            return
        first = next(iter(self.bad.values()))
        raise InputError(
            f"None of the {len(self.bad)} files of {self.name} can be read; of the first it is "
            f"said: {first}"
        )

    def _refuse_lacking(self, columns: Collection[str] | None) -> None:
        first = self._good()[0]
        lacking = [name for name in columns or () if name not in first.columns]
        if lacking:
            what = "no column" if len(lacking) == 1 else "none of the columns"
            raise InputError(
                f"{first.file.name} has {what} {listed(lacking)}; it has "
                f"{listed(list(first.names), 12)}."
            )

    def close(self) -> None:
        """Remove what was put on disk to read standard input; else nothing is to be done."""
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
    ) -> T:
        """What `consume` makes of all the rows, which it is given in batches of one schema.

        `consume` may be CALLED TWICE: where cells far down a CSV file do not fit the type that
        its beginning suggests, an exception passes through the first call and a second one gets
        all the rows again with types that fit. So it must start afresh, keep nothing outside, and
        let exceptions that are not its own pass.

        Parameters
        ----------
        consume : function of an iterator of record batches
        numeric : names of columns
            Text in these columns of a CSV file is refused.
        text : names of columns
            These columns of a CSV file are read as text, so 007 keeps its zeros.
        schema : pyarrow.Schema, optional
            Types to begin with, in the place of those of a first look.
        progress : function of the bytes read so far and of all bytes
            Called before each batch; the first number falls back where rows are read again.
        """
        schema = self.wanted(numeric, text) if schema is None else schema
        while True:
            with closing(self._batches(schema, numeric, progress)) as stream:
                try:
                    return consume(resized(stream))
                except Retyped as news:
                    schema = news.schema
                except _LeftOut:
                    continue  # without any row of that file

    def wanted(self, numeric: Collection[str] = (), text: Collection[str] = ()) -> pa.Schema:
        """The types to read columns with at first."""
        if not self.is_text:
            return self.schema
        return wanted_schema(self.schema, set(numeric), set(text))

    def codes(self) -> list[str]:
        """Columns of a CSV table that look like numbers but have zeros or digits to lose."""
        first = self._parts[0]
        return first.codes() if isinstance(first, CsvPart) else []

    def passing(
        self,
        schema: pa.Schema,
        then: Then,
        *,
        numeric: Collection[str] = (),
        start: Mark = START,
        workers: int | None = None,
    ) -> Generator[Event, None, None]:
        """One pass from a mark on: pieces of files in order, and what `then` makes of their rows.

        Raises `Retyped` at the end where cells of a CSV file do not fit the schema. A file that is
        `Broken`, where such are left out, is for the caller to tell `leave_out` of.
        """
        wider = schema
        most = min(_MOST_WORKERS, pa.cpu_count()) if self.is_text else 1
        found = events(
            self._parts,
            schema,
            then,
            workers=workers or most,
            start=start,
            without=frozenset(self._without),
            skip_bad=self._skip_bad,
        )
        with closing(found):
            for event in found:
                news = event.result if isinstance(event, Read) else None
                if isinstance(news, Wider) and isinstance(news.part, CsvPart):
                    about = (news.schema, news.part, news.piece, set(numeric))
                    # what the block was read with, not what blocks before it have asked for
                    wider = joined_schema(wider, widened_schema(schema, *about))
                elif wider is schema:
                    yield event
        if wider is not schema:
            raise Retyped(wider)

    def _batches(
        self, schema: pa.Schema, numeric: Collection[str], progress: Progress | None
    ) -> Generator[pa.RecordBatch, None, None]:
        """Rows of one schema; raises what schema they need instead, found by reading to the end."""
        with closing(self.passing(schema, lambda batch, _: batch, numeric=numeric)) as found:
            for event in found:
                if isinstance(event, Broken):
                    self.leave_out(event)
                    raise _LeftOut
                if not isinstance(event, Read):
                    continue
                if progress is not None:
                    progress(event.done, self.size)
                yield event.result

    @property
    def is_text(self) -> bool:
        """Whether types of columns are told by the cells, as in CSV files."""
        return isinstance(self._parts[0], CsvPart)
