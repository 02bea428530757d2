"""Delimiters of CSV text, found from its first rows."""

from __future__ import annotations

import csv
from itertools import islice, pairwise

from pnml.errors import InputError
from pnml.readers.csv_text import row_ends
from pnml.readers.file_errors import shown_cell

_OTHERS = ";\t"
_HINTS = ";\t|:,"
_ROWS = 20
_BYTES = 2**16


def sniffed(data: bytes, usual: str) -> str:
    r"""The delimiter of CSV text: `usual`, or a semicolon or tab if only this splits rows alike.

    >>> sniffed(b"a;b\n1,5;2\n", ","), sniffed(b"a,b\n1;5,2\n", ",")
    (';', ',')
    """
    text = data[:_BYTES].decode(errors="replace")
    for mark in usual + _OTHERS:
        rows = csv.reader(text.splitlines(keepends=True), delimiter=mark)
        try:
            widths = [len(row) for row in islice(rows, _ROWS) if row]
        except csv.Error:
            continue
        if len(data) > _BYTES and len(widths) < _ROWS:
            widths = widths[:-1]  # the last row was cut
        if len(set(widths)) == 1 and widths[0] > 1:
            return mark
    return usual


def refuse_other_delimiter(name: str, column: str, data: bytes, delimiter: str) -> None:
    """Raise InputError if a file with one column seems to be separated by another delimiter.

    That is so if all first rows of `data` hold the same number of it. `name` is the file, `column`
    its only column.
    """
    ends = [0, *row_ends(data, delimiter)[: _ROWS + 1].tolist(), len(data)]
    texts = [data[a:b].decode().strip() for a, b in pairwise(ends)]
    texts = [text for text in texts if text][:_ROWS]
    for mark in _HINTS:
        counts = {text.count(mark) for text in texts}
        if mark != delimiter and mark in column and len(counts) == 1:
            shown = "$'\\t'" if mark == "\t" else repr(mark)
            raise InputError(
                f"{name} has one column, {shown_cell(column)}; it looks separated by {mark!r}: "
                f"pass --delimiter {shown}."
            )
