"""The inner loop of DIAL compiled by numba. Imported only where numba is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from pnml.core.arrays import FloatArray

_ROWS = 4  # candidates at once: a number of the targets that was loaded serves them all


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
    full = len(a) // _ROWS * _ROWS
    state = np.empty((2 * _ROWS, b.shape[1]))
    _add_winners(a[:full], b, p, out[:full], state)
    if full < len(a):
        rest = np.repeat(a[-1:], _ROWS, axis=0)
        rest[: len(a) - full] = a[full:]
        won = np.zeros((_ROWS, b.shape[1]))
        _add_winners(rest, b, p, won, state)
        out[full:] += won[: len(a) - full]


@_compiled
def _better(total: float, p: float, best: float, won: float) -> tuple[float, float]:
    return (total, p) if total > best else (best, won)


@_compiled
def _add_winners(
    a: FloatArray, b: FloatArray, p: FloatArray, out: FloatArray, state: FloatArray
) -> None:
    """Four candidates and three m at a time, so that what is loaded once is used often."""
    M, L = b.shape
    best0, best1, best2, best3 = state[0], state[1], state[2], state[3]
    won0, won1, won2, won3 = state[4], state[5], state[6], state[7]
    for r in range(0, len(a), _ROWS):
        for k in range(L):
            best0[k], best1[k] = a[r, 0] + b[0, k], a[r + 1, 0] + b[0, k]
            best2[k], best3[k] = a[r + 2, 0] + b[0, k], a[r + 3, 0] + b[0, k]
            won0[k] = won1[k] = won2[k] = won3[k] = p[0, k]
        m = 1
        while m + 3 <= M:
            a00, a01, a02 = a[r, m], a[r, m + 1], a[r, m + 2]
            a10, a11, a12 = a[r + 1, m], a[r + 1, m + 1], a[r + 1, m + 2]
            a20, a21, a22 = a[r + 2, m], a[r + 2, m + 1], a[r + 2, m + 2]
            a30, a31, a32 = a[r + 3, m], a[r + 3, m + 1], a[r + 3, m + 2]
            for k in range(L):
                b0, b1, b2 = b[m, k], b[m + 1, k], b[m + 2, k]
                p0, p1, p2 = p[m, k], p[m + 1, k], p[m + 2, k]
                x, q = _better(a00 + b0, p0, best0[k], won0[k])
                x, q = _better(a01 + b1, p1, x, q)
                best0[k], won0[k] = _better(a02 + b2, p2, x, q)
                x, q = _better(a10 + b0, p0, best1[k], won1[k])
                x, q = _better(a11 + b1, p1, x, q)
                best1[k], won1[k] = _better(a12 + b2, p2, x, q)
                x, q = _better(a20 + b0, p0, best2[k], won2[k])
                x, q = _better(a21 + b1, p1, x, q)
                best2[k], won2[k] = _better(a22 + b2, p2, x, q)
                x, q = _better(a30 + b0, p0, best3[k], won3[k])
                x, q = _better(a31 + b1, p1, x, q)
                best3[k], won3[k] = _better(a32 + b2, p2, x, q)
            m += 3
        while m < M:
            for k in range(L):
                best0[k], won0[k] = _better(a[r, m] + b[m, k], p[m, k], best0[k], won0[k])
                best1[k], won1[k] = _better(a[r + 1, m] + b[m, k], p[m, k], best1[k], won1[k])
                best2[k], won2[k] = _better(a[r + 2, m] + b[m, k], p[m, k], best2[k], won2[k])
                best3[k], won3[k] = _better(a[r + 3, m] + b[m, k], p[m, k], best3[k], won3[k])
            m += 1
        for k in range(L):
            out[r, k] += won0[k]
            out[r + 1, k] += won1[k]
            out[r + 2, k] += won2[k]
            out[r + 3, k] += won3[k]
