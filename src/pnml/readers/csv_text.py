"""CSV text split between rows, and read as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from pnml.errors import InputError, shorten
from pnml.readers.cell_formats import CellFormats
from pnml.readers.encoding_and_compression import check_encoding
from pnml.runtime.checks import is_whole

MOST_COLUMNS = 20_000
MOST_ROW_BYTES = 64 * 2**20
_QUOTE = ord('"')

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Block:
    """Whole rows of CSV text: `data`, and the number of this block in its file, from 0.

    `position` is the number of file bytes read up to the last row.
    """

    data: bytes
    number: int  # of the block in its file, from 0
    position: int  # file bytes read up to its last row


def blocks(
    pieces: Iterator[tuple[bytes, int]], delimiter: str, name: str, most: int = MOST_ROW_BYTES
) -> Iterator[Block]:
    """CSV text in blocks of whole rows; memory holds one piece and one row.

    `pieces` are texts with the file bytes read so far. `name` is the file, for messages; a row of
    more than `most` bytes raises InputError.
    """
    rest, number, position = b"", 0, 0
    for piece, position in pieces:
        data = rest + piece if rest else piece
        end = last_row_end(data, delimiter)
        rest = data[end:]
        if end:
            yield Block(data[:end] if rest else data, number, position)
            number += 1
        if len(rest) > most:
            raise InputError(
                f"{name} holds a row of over {most / 2**20:.0f} MiB, so a quotation mark is "
                "probably opened and never closed; close it or remove it."
            )
    if len(_quotes(rest, delimiter)) % 2:
        raise InputError(
            f"{name} opens a quotation mark in one of its last rows that is never closed; "
            "close it or remove it."
        )
    if rest:
        yield Block(rest, number, position)


def last_row_end(data: bytes, delimiter: str) -> int:
    r"""Length of the complete rows at the start of a CSV text; 0 if no row is complete.

    >>> last_row_end(b'1,2\n3,"a\nb', ",")
    4
    """
    newline = _newline(data)
    end = data.rfind(newline) + 1
    if data.find(b'"', 0, end) < 0:
        return end
    quotes = _quotes(data, delimiter)
    while (before := int(np.searchsorted(quotes, end))) % 2:
        end = data.rfind(newline, 0, quotes[before - 1]) + 1
    return end


def row_ends(data: bytes, delimiter: str) -> Positions:
    r"""Positions just after each row of a CSV text.

    >>> row_ends(b'1,2\n3,"a\nb"\n', ",").tolist()
    [4, 12]
    """
    ends: Positions = np.flatnonzero(_characters(data) == ord(_newline(data))) + 1
    outside = np.searchsorted(_quotes(data, delimiter), ends) % 2 == 0
    return np.asarray(ends[outside], dtype=np.intp)


def count_cells(row: bytes, delimiter: str) -> int:
    r"""Number of cells in one row of CSV text, without making any of them.

    >>> count_cells(b'a,"b,c",d\n', ",")
    3
    """
    mark = delimiter.encode()
    if b'"' not in row:
        return row.count(mark) + 1
    marks = np.flatnonzero(_characters(row) == ord(mark))
    outside = np.searchsorted(_quotes(row, delimiter), marks) % 2 == 0
    return int(np.count_nonzero(outside)) + 1


def _newline(data: bytes) -> bytes:
    return b"\n" if b"\n" in data else b"\r"


def _characters(data: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def _quotes(data: bytes, delimiter: str) -> Positions:
    """Positions of quotation marks that open and close in turn; a doubled mark does both."""
    text = _characters(data)
    quotes = np.flatnonzero(text == _QUOTE)
    # A mark opens a cell only at the start of the cell; elsewhere it is a letter: 5" pipe.
    before = np.zeros(256, dtype=np.bool_)
    before[[ord(delimiter), ord("\n"), ord("\r"), _QUOTE]] = True
    opening = quotes[::2]
    if before[text[opening[opening > 0] - 1]].all():
        return quotes
    before[_QUOTE] = False
    return _without_letters(quotes, before[text[quotes - 1]] | (quotes == 0))


def _without_letters(quotes: Positions, begins: npt.NDArray[np.bool_]) -> Positions:
    """The quotation marks without those that are letters."""
    kept: list[int] = []
    for quote, begins_cell in zip(quotes.tolist(), begins.tolist(), strict=True):
        doubled = bool(kept) and kept[-1] == quote - 1
        if len(kept) % 2 or begins_cell or doubled:
            kept.append(quote)
    return np.array(kept, dtype=np.intp)


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading CSV text, the query to a database, and how wide a table may be.

    >>> ReadOptions(delimiter=";").encoding
    'utf-8'
    """

    delimiter: str | None = None  # None: a tab in .tsv files, else a comma, or as the rows tell
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()  # words that mean "missing", beside "", NA, null, nan, …
    decimal: str = "."
    thousands: str | None = None  # what groups the digits of long numbers
    date_format: str | None = None  # as of strptime, beside ISO 8601
    query: str | None = None  # SQL for a database
    max_columns: int = MOST_COLUMNS  # a table with more is refused before their names are read

    def __post_init__(self) -> None:
        if not is_whole(self.max_columns, 1):
            raise InputError(
                f"max_columns is {self.max_columns!r}, but it is a number of columns; pass 1 or "
                "more."
            )
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0'):
            raise InputError(
                f"The delimiter {shorten(mark)!r} is not one plain character; pass one such as "
                "',', ';' or a tab."
            )
        check_encoding(self.encoding)
        _ = self.formats

    @property
    def formats(self) -> CellFormats:
        """The formats of numbers and dates in cells of text."""
        return CellFormats(self.decimal, self.thousands, self.date_format)

    def missing_words(self) -> list[str]:
        """All words that mean "missing": the usual ones and those of this option."""
        return [*pyarrow.csv.ConvertOptions().null_values, *self.missing]


def read_text(
    data: bytes,
    delimiter: str,
    names: Sequence[str] | None,
    types: Mapping[str, pa.DataType] | None,
    missing: Sequence[str],
    on_ragged: Callable[[pyarrow.csv.InvalidRow], str] | None = None,
    columns: Sequence[str] | None = None,
    point: str = ".",
) -> pa.Table:
    r"""CSV text as a table of all or some columns; without `names` the first row is a header.

    `types` are those of some columns, others are inferred; cells that are one of the words
    `missing` are null; `on_ragged` is called for a row of another length; `point` is the decimal
    mark.

    >>> read_text(b"1,a\n2,b\n", ",", ["x", "y"], None, [""]).to_pydict()
    {'x': [1, 2], 'y': ['a', 'b']}
    """
    return pyarrow.csv.read_csv(
        pa.BufferReader(data),
        # One block: each thread of the reader parses its own text.
        pyarrow.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
        pyarrow.csv.ParseOptions(delimiter=delimiter, invalid_row_handler=on_ragged),
        pyarrow.csv.ConvertOptions(
            check_utf8=False,
            decimal_point=point,
            column_types=types,
            include_columns=columns,
            null_values=list(missing),
            strings_can_be_null=bool(missing),
        ),
    )
