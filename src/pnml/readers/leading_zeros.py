"""Codes such as 007 in CSV text: cells of digits that begin with a zero too many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_CHUNK = 2**17  # bytes looked at together, so that they stay in the cache
_MOST_DIGITS = 40
_ZERO, _QUOTE, _NEWLINE, _RETURN = b'0"\n\r'


def padded_columns(data: bytes, delimiter: str, columns: int) -> set[int] | None:
    r"""Indices of CSV columns with a cell such as 007; None where quotes make this uncertain.

    >>> padded_columns(b"7,x,012\n10,007,0\n", ",", 3)
    {1, 2}
    """
    text = np.frombuffer(b"\n" + data + b"\n\n", np.uint8)
    mark = ord(delimiter)
    starts = _starts(text, mark)
    starts = starts[_whole_cell(text, starts, mark)]
    if not len(starts):
        return set()
    if b'"' in data:
        return None
    if columns == 1:
        return {0}
    before = np.searchsorted(np.flatnonzero(text == mark), starts)
    place = before % (columns - 1)
    first = (text[starts - 1] == _NEWLINE) | (text[starts - 1] == _RETURN)
    place[~first & (place == 0)] = columns - 1
    place[first] = 0
    return set(np.unique(place).tolist())


def _starts(text: npt.NDArray[np.uint8], mark: int) -> npt.NDArray[np.intp]:
    """Where a cell begins with a zero and another digit."""
    found = []
    for begin in range(0, len(text) - 2, _CHUNK):
        part = text[begin : begin + _CHUNK + 2]
        ours = part[1:-1] == _ZERO
        ours &= (part[2:] - np.uint8(_ZERO)) < 10
        before = part[:-2]
        ours &= (before == mark) | (before <= _RETURN) | (before == _QUOTE)
        found.append(np.flatnonzero(ours) + (begin + 1))
    return np.concatenate(found)


def _whole_cell(
    text: npt.NDArray[np.uint8], starts: npt.NDArray[np.intp], mark: int
) -> npt.NDArray[np.bool_]:
    """Which of these cells hold digits up to their end."""
    whole = np.zeros(len(starts), dtype=bool)
    alive = np.arange(len(starts))
    for step in range(2, _MOST_DIGITS):
        if not len(alive):
            break
        now = text[np.minimum(starts[alive] + step, len(text) - 1)]
        ended = (now == mark) | (now <= _RETURN) | (now == _QUOTE)
        whole[alive[ended]] = True
        alive = alive[~ended & ((now - np.uint8(_ZERO)) < 10)]
    return whole
