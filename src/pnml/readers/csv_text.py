"""CSV text: the options of the user, and the one call of pyarrow that parses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv

from pnml.errors import InputError, shorten
from pnml.readers.compression import check_encoding


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading text files.

    >>> ReadOptions(delimiter=";").encoding
    'utf-8'
    """

    delimiter: str | None = None  # None: a tab in .tsv files, else a comma
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()  # words that mean "missing", beside "", NA, null, nan, …

    def __post_init__(self) -> None:
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0'):
            raise InputError(
                f"The delimiter {shorten(mark)!r} is not one plain character; pass one such as "
                "',', ';' or a tab."
            )
        check_encoding(self.encoding)

    def missing_words(self) -> list[str]:
        """All words that mean "missing"."""
        return [*pyarrow.csv.ConvertOptions().null_values, *self.missing]


def read_text(
    data: bytes,
    delimiter: str,
    names: Sequence[str] | None,
    types: Mapping[str, pa.DataType] | None,
    missing: Sequence[str],
    on_ragged: Callable[[pyarrow.csv.InvalidRow], str] | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    r"""Rows of text as a table of all or some columns; without `names` the first row is a header.

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
            column_types=types,
            include_columns=columns,
            null_values=list(missing),
            strings_can_be_null=bool(missing),
        ),
    )


def reads_as_number(text: str) -> bool:
    """Whether pyarrow reads a cell as a number.

    >>> reads_as_number("1e3"), reads_as_number("abc")
    (True, False)
    """
    try:
        pa.scalar(text.strip()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
