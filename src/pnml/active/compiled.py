"""The inner loop of DIAL compiled by numba. Imported only where numba is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from pnml.active.kernels import aligned
from pnml.core.arrays import FloatArray

_ROWS = 4  # candidates at once: a number of the targets that was loaded serves them all
_LANES = 128  # targets at once, as many as they are cut into; others are given that room


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled, and kept on disk where numba finds a place for it."""
    try:
        kept: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the folder of this file nor that of the user can be written
        kept = numba.njit(nogil=True)(function)
    return kept


def numba_kernel(a: FloatArray, b: FloatArray, p: FloatArray, out: FloatArray) -> None:
    """The kernel of Eq. (I1), compiled; see `pnml.active.kernels.Kernel`.

    >>> out = np.zeros((1, 1))
    >>> numba_kernel(np.log([[0.2, 0.9]]), np.log([[0.8], [0.3]]), np.array([[0.8], [0.3]]), out)
    >>> out
    array([[0.3]])
    """
    R, L = out.shape
    if R % _ROWS == 0 and L == _LANES:
        _add_winners(a, b.ravel(), p.ravel(), out)
        return
    rows = np.concatenate([a, a[:1].repeat(-R % _ROWS, axis=0)])
    for start in range(0, L, _LANES):
        part = slice(start, start + _LANES)
        won = np.zeros((len(rows), min(_LANES, L - start)))
        _add_winners(rows, _spaced(b[:, part]), _spaced(p[:, part]), won)
        out[:, part] += won[:R]


def _spaced(block: FloatArray) -> FloatArray:
    """A block (M, L) one row after the other, each of which takes the room of _LANES numbers."""
    if block.shape[1] == _LANES:
        return np.ascontiguousarray(block).ravel()
    room = aligned((len(block), _LANES))
    room[:, : block.shape[1]] = block
    return room.ravel()


@_compiled
def _better(total: float, p: float, best: float, won: float) -> tuple[float, float]:
    return (total, p) if total > best else (best, won)


@_compiled
def _add_one(a: float, b: FloatArray, p: FloatArray, best: FloatArray, won: FloatArray) -> None:
    for k in range(len(b)):
        best[k], won[k] = _better(a + b[k], p[k], best[k], won[k])


@_compiled
def _add_winners(a: FloatArray, b: FloatArray, p: FloatArray, out: FloatArray) -> None:
    """Four candidates and three m at a time, so that what is loaded once is used often.

    Distances in memory are constants, or the compiler would look out for rows that overlap each
    time it begins some: row m of b and p begins at m S; in s come the best sums of the four
    candidates, then what they won.
    """
    S, L, M = _LANES, out.shape[1], len(b) // _LANES
    s = np.empty(2 * _ROWS * S)
    for r in range(0, len(a), _ROWS):
        for k in range(L):
            s[k], s[S + k] = a[r, 0] + b[k], a[r + 1, 0] + b[k]
            s[2 * S + k], s[3 * S + k] = a[r + 2, 0] + b[k], a[r + 3, 0] + b[k]
            s[4 * S + k] = s[5 * S + k] = s[6 * S + k] = s[7 * S + k] = p[k]
        m = 1
        while m + 3 <= M:
            a00, a01, a02 = a[r, m], a[r, m + 1], a[r, m + 2]
            a10, a11, a12 = a[r + 1, m], a[r + 1, m + 1], a[r + 1, m + 2]
            a20, a21, a22 = a[r + 2, m], a[r + 2, m + 1], a[r + 2, m + 2]
            a30, a31, a32 = a[r + 3, m], a[r + 3, m + 1], a[r + 3, m + 2]
            o = m * S
            for k in range(L):
                b0, b1, b2 = b[o + k], b[o + S + k], b[o + 2 * S + k]
                p0, p1, p2 = p[o + k], p[o + S + k], p[o + 2 * S + k]
                x, q = _better(a00 + b0, p0, s[k], s[4 * S + k])
                x, q = _better(a01 + b1, p1, x, q)
                s[k], s[4 * S + k] = _better(a02 + b2, p2, x, q)
                x, q = _better(a10 + b0, p0, s[S + k], s[5 * S + k])
                x, q = _better(a11 + b1, p1, x, q)
                s[S + k], s[5 * S + k] = _better(a12 + b2, p2, x, q)
                x, q = _better(a20 + b0, p0, s[2 * S + k], s[6 * S + k])
                x, q = _better(a21 + b1, p1, x, q)
                s[2 * S + k], s[6 * S + k] = _better(a22 + b2, p2, x, q)
                x, q = _better(a30 + b0, p0, s[3 * S + k], s[7 * S + k])
                x, q = _better(a31 + b1, p1, x, q)
                s[3 * S + k], s[7 * S + k] = _better(a32 + b2, p2, x, q)
            m += 3
        while m < M:
            for i in range(_ROWS):
                best, won = s[i * S : i * S + L], s[(4 + i) * S : (4 + i) * S + L]
                _add_one(a[r + i, m], b[m * S : m * S + L], p[m * S : m * S + L], best, won)
            m += 1
        for i in range(_ROWS):
            for k in range(L):
                out[r + i, k] += s[(4 + i) * S + k]
