"""Codes such as 007 in CSV text: cells of digits that begin with a zero too many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_CHUNK = 2**17  # bytes looked at together, so that they stay in the cache
_MOST_DIGITS = 40
_ZERO, _QUOTE, _NEWLINE, _RETURN = b'0"\n\r'
_BLANKS_AND_SIGNS = b" \t+-"  # may stand before the digits of a number

_Places = npt.NDArray[np.intp]


def padded_columns(data: bytes, delimiter: str, columns: int) -> set[int] | None:
    r"""Indices of CSV columns with a cell such as 007; None where quotes make this uncertain.

    `data` are rows without the header, each with so many `columns`.

    >>> padded_columns(b"7,x,012\n10,007,0\n", ",", 3)
    {1, 2}
    """
    text = np.frombuffer(b"\n" + data + b"\n\n", np.uint8)
    mark = ord(delimiter)
    zeros = _zeros(text, mark)
    ends = _cells_before(text, zeros[_digits_to_the_end(text, zeros, mark)], mark)
    if not len(ends):
        return set()
    if b'"' in data:
        return None
    if columns == 1:
        return {0}
    place = np.searchsorted(np.flatnonzero(text == mark), ends, side="right") % (columns - 1)
    first = text[ends] != mark
    place[~first & (place == 0)] = columns - 1
    place[first] = 0
    return set(np.unique(place).tolist())


def _zeros(text: npt.NDArray[np.uint8], mark: int) -> _Places:
    """Indices of zeros before another digit and after the start of a cell, a blank or a sign."""
    plus, minus = b"+-"
    found = []
    for begin in range(0, len(text) - 2, _CHUNK):
        part = text[begin : begin + _CHUNK + 2]
        ours = part[1:-1] == _ZERO
        ours &= (part[2:] - np.uint8(_ZERO)) < 10
        before = part[:-2]  # up to the quote: blanks, ends of rows, tabs
        ours &= (before == mark) | (before <= _QUOTE) | (before == plus) | (before == minus)
        found.append(np.flatnonzero(ours) + (begin + 1))
    return np.concatenate(found)


def _digits_to_the_end(
    text: npt.NDArray[np.uint8], zeros: _Places, mark: int
) -> npt.NDArray[np.bool_]:
    """Which of these zeros are followed by digits and blanks alone up to the end of the cell."""
    whole = np.zeros(len(zeros), dtype=bool)
    ends = _bytes_of(bytes([*range(_RETURN + 1), mark, _QUOTE]))
    goes_on = _bytes_of(b"0123456789 ")
    alive = np.arange(len(zeros))
    for step in range(2, _MOST_DIGITS):
        if not len(alive):
            break
        now = text[np.minimum(zeros[alive] + step, len(text) - 1)]
        whole[alive[ends[now]]] = True
        alive = alive[~ends[now] & goes_on[now]]
    return whole


def _cells_before(text: npt.NDArray[np.uint8], zeros: _Places, mark: int) -> _Places:
    """Index of the byte before the cell of each zero that has only blanks and signs before it."""
    skipped = _bytes_of(_BLANKS_AND_SIGNS)
    skipped[mark] = False
    place = zeros - 1
    moving = np.flatnonzero(skipped[text[place]])
    while len(moving):
        place[moving] -= 1
        moving = moving[skipped[text[place[moving]]]]
    begins = _bytes_of(bytes([mark, _NEWLINE, _RETURN, _QUOTE]))
    ends: _Places = place[begins[text[place]]]
    return ends


def _bytes_of(some: bytes) -> npt.NDArray[np.bool_]:
    """Which of the 256 bytes are among these."""
    among = np.zeros(256, dtype=bool)
    among[np.frombuffer(some, np.uint8)] = True
    return among
