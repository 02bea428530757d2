"""The files of a table, and which of them cannot be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers.common_schema import Part
from pnml.readers.csv_file import CsvFile
from pnml.readers.csv_text import ReadOptions
from pnml.readers.file_errors import listed
from pnml.readers.file_kind import Kind
from pnml.readers.file_pass import Broken
from pnml.readers.find_files import FoundFiles, TableFile
from pnml.readers.frame_in_memory import FrameInMemory
from pnml.readers.frame_part import FramePart
from pnml.readers.parquet_or_arrow_file import TypedFile


class TableFiles:
    """All files of a table; with `skip_bad`, those that cannot be read are left out."""

    parts: list[Part]
    bad: dict[str, str]  # names of files left out, and why
    without: set[int]  # indices of parts that turned out to be bad

    def __init__(
        self,
        found: FoundFiles,
        options: ReadOptions,
        columns: Collection[str] | None,
        skip_bad: bool,
    ) -> None:
        self.name, self.skip_bad = found.name, skip_bad
        self.bad, self.without = dict(found.bad), set()
        parts = (self._part(file, options, columns) for file in found.files)
        self.parts = [part for part in parts if part is not None]
        self._refuse_nothing_left()
        self.first_with_rows = self._first_with_rows()
        self._refuse_missing_columns(columns or ())

    def _part(
        self,
        file: TableFile | FrameInMemory,
        options: ReadOptions,
        columns: Collection[str] | None,
    ) -> Part | None:
        if isinstance(file, FrameInMemory):
            return FramePart(file, columns)
        try:
            if file.kind is Kind.TEXT:
                return CsvFile(file, options, columns)
            return TypedFile(file, columns, options.max_columns)
        except InputError as error:
            if not self.skip_bad:
                raise
            self.bad[file.name] = str(error)
            return None

    def _first_with_rows(self) -> Part | None:
        for index, part in enumerate(self.parts):
            try:
                if part.has_rows():
                    _ = part.schema
                    return part
            except InputError as error:
                if not self.skip_bad:
                    raise
                self.leave_out(Broken(index, error))
        return None

    @property
    def readable(self) -> list[Part]:
        """The files of the table that are not left out."""
        return [part for index, part in enumerate(self.parts) if index not in self.without]

    @property
    def size(self) -> int:
        """Size of all files together, in bytes."""
        return sum(part.file.size for part in self.parts)

    @property
    def identity(self) -> list[list[Any]]:
        """Names, sizes and times of the files, to tell whether they have changed."""
        return [[part.file.name, part.file.size, part.file.state[-1]] for part in self.parts]

    def leave_out(self, broken: Broken) -> None:
        """Leave out a file that cannot be read, as its event `broken` reports, from now on."""
        self.bad[self.parts[broken.file].file.name] = str(broken.error)
        self.without.add(broken.file)
        self._refuse_nothing_left()

    def leave_out_named(self, bad: Mapping[str, str]) -> None:
        """Leave out files that an earlier pass could not read; `bad` maps names to reasons."""
        self.bad |= bad
        self.without |= {i for i, part in enumerate(self.parts) if part.file.name in bad}

    def _refuse_nothing_left(self) -> None:
        if len(self.without) < len(self.parts):
            return
        first = next(iter(self.bad.values()))
        raise InputError(
            f"None of the {len(self.bad)} files of {shorten(self.name, MOST_PATH)} can be read; "
            f"of the first it is said: {first}"
        )

    def _refuse_missing_columns(self, columns: Collection[str]) -> None:
        first = self.readable[0]
        missing = [name for name in columns if name not in first.columns]
        if missing:
            what = "no column" if len(missing) == 1 else "none of the columns"
            raise InputError(
                f"{first.file.label} has {what} {listed(missing)}; it has "
                f"{listed(list(first.names), 12)}."
            )
