"""The inner loop of DIAL compiled by numba; imported only if numba is installed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.active.dial_kernels import LANES, aligned
from pnml.core.arrays import FloatArray
from pnml.core.compilation import compiled

Keys = npt.NDArray[np.int32]

_ROWS = 4  # candidates together: each number of the targets is loaded once for all of them
_REACH = 16.0  # nats below the largest that a key resolves
_LEAST = np.int32(-(2**31))
_DOUBTS = LANES // 8  # with more doubts it is faster to redo all targets


@dataclass(frozen=True)
class _Keyed:
    """Numbers with integer keys that are three times as fast to compare. Eq. (I13)."""

    count: int  # rows or targets; the others are padding
    numbers: FloatArray
    keys: Keys
    p: FloatArray


class NumbaKernel:
    """The kernel of DIAL compiled by numba; see `pnml.active.dial_kernels.Kernel`.

    >>> kernel, out = NumbaKernel(), np.zeros((1, 1))
    >>> weights, block = kernel.rows(np.log([[0.2, 0.9]])), kernel.block(np.log([[0.8], [0.3]]))
    >>> kernel.add(weights, block, out)
    >>> out.round(12)
    array([[0.3]])
    """

    # padded weights with keys; log-probabilities, probabilities and keys of a block
    bytes_per_weight = 12
    bytes_per_target = 20

    def rows(self, a: FloatArray) -> _Keyed:
        """Weights (R, M) with integer keys to compare, padded to a multiple of _ROWS rows."""
        padded = np.concatenate([a, a[:1].repeat(-len(a) % _ROWS, axis=0)])
        return _Keyed(len(a), padded, _keys(padded, axis=1), padded[:0, 0])

    def block(self, b: FloatArray) -> _Keyed:
        """Log-probabilities (M, L) with keys and probabilities, rows padded to LANES numbers."""
        M, L = b.shape
        numbers, p, keys = aligned((M, LANES)), aligned((M, LANES)), np.zeros((M, LANES), np.int32)
        numbers[:, :L] = b
        np.exp(b, out=p[:, :L])
        keys[:, :L] = _keys(b, axis=0)
        keys += np.arange(M - 1, -1, -1, dtype=np.int32)[:, None]  # ties go to the first m
        return _Keyed(L, numbers.ravel(), keys.ravel(), p.ravel())

    def add(self, rows: _Keyed, block: _Keyed, out: FloatArray) -> None:
        """Add to out (R, L) the probability by the best model for each row and target, in place."""
        R, L = out.shape
        bits, units = _grid(rows.keys.shape[1])
        room = out
        if len(rows.keys) != R:
            room = np.zeros((len(rows.keys), L))
        sure = np.int32(2 - _REACH * units)
        _add_winners(rows.numbers, rows.keys, block.numbers, block.keys, block.p, room, bits, sure)
        if room is not out:
            out += room[:R]


def _grid(models: int) -> tuple[int, float]:
    """Bits of a key for the model, and steps per nat in the other bits."""
    bits = max(1, (models - 1).bit_length())
    return bits, 2.0 ** (31 - bits) / (2 * _REACH)


def _keys(x: FloatArray, axis: int) -> Keys:
    """Distances of numbers below the largest along the axis of models, in steps. Eq. (I13)."""
    bits, units = _grid(x.shape[axis])
    with np.errstate(invalid="ignore"):
        below = x - x.max(axis=axis, keepdims=True)  # NaN if all are -inf, which counts as doubt
    np.fmax(below, -_REACH, out=below)
    below *= units
    steps: Keys = np.rint(below, out=below).astype(np.int32)
    steps <<= bits
    return steps


@compiled
def _two_best(key: int, best: int, second: int) -> tuple[int, int]:
    return max(best, key), max(second, min(best, key))


@compiled
def _better(total: float, p: float, best: float, won: float) -> tuple[float, float]:
    return (total, p) if total > best else (best, won)


@compiled
def _add_all(a: FloatArray, b: FloatArray, p: FloatArray, out: FloatArray) -> None:
    """All targets for one row of weights, without keys."""
    S, L = LANES, len(out)
    best, won = np.empty(S), np.empty(S)
    for k in range(L):
        best[k], won[k] = a[0] + b[k], p[k]
    for m in range(1, len(a)):
        o, weight = m * S, a[m]
        for k in range(L):
            best[k], won[k] = _better(weight + b[o + k], p[o + k], best[k], won[k])
    for k in range(L):
        out[k] += won[k]


@compiled
def _winner(a: FloatArray, b: FloatArray, k: int) -> int:
    best, winner = a[0] + b[k], 0
    for m in range(1, len(a)):
        total = a[m] + b[m * LANES + k]
        if total > best:
            best, winner = total, m
    return winner


@compiled
def _in_doubt(best: int, second: int, sure: int) -> bool:
    return best - second < 3 or best < sure


@compiled
def _add_winners(
    a: FloatArray,
    a_keys: Keys,
    b: FloatArray,
    b_keys: Keys,
    p: FloatArray,
    out: FloatArray,
    bits: int,
    sure: int,
) -> None:
    """Four candidates and three models at a time, so that loaded numbers are used often.

    Strides are constants, so that the compiler needs no checks for overlapping rows: row m of b
    and p starts at m S; s holds the largest keys of the four candidates, then the second largest.
    """
    S, L, M = LANES, out.shape[1], a.shape[1]
    s = np.empty(2 * _ROWS * S, np.int32)
    for r in range(0, len(a), _ROWS):
        for i in range(_ROWS):
            key = a_keys[r + i, 0]
            for k in range(L):
                s[i * S + k], s[(_ROWS + i) * S + k] = np.int32(key + b_keys[k]), _LEAST
        m = 1
        while m + 3 <= M:
            a00, a01, a02 = a_keys[r, m], a_keys[r, m + 1], a_keys[r, m + 2]
            a10, a11, a12 = a_keys[r + 1, m], a_keys[r + 1, m + 1], a_keys[r + 1, m + 2]
            a20, a21, a22 = a_keys[r + 2, m], a_keys[r + 2, m + 1], a_keys[r + 2, m + 2]
            a30, a31, a32 = a_keys[r + 3, m], a_keys[r + 3, m + 1], a_keys[r + 3, m + 2]
            o = m * S
            for k in range(L):
                b0, b1, b2 = b_keys[o + k], b_keys[o + S + k], b_keys[o + 2 * S + k]
                x, y = _two_best(np.int32(a00 + b0), s[k], s[4 * S + k])
                x, y = _two_best(np.int32(a01 + b1), x, y)
                s[k], s[4 * S + k] = _two_best(np.int32(a02 + b2), x, y)
                x, y = _two_best(np.int32(a10 + b0), s[S + k], s[5 * S + k])
                x, y = _two_best(np.int32(a11 + b1), x, y)
                s[S + k], s[5 * S + k] = _two_best(np.int32(a12 + b2), x, y)
                x, y = _two_best(np.int32(a20 + b0), s[2 * S + k], s[6 * S + k])
                x, y = _two_best(np.int32(a21 + b1), x, y)
                s[2 * S + k], s[6 * S + k] = _two_best(np.int32(a22 + b2), x, y)
                x, y = _two_best(np.int32(a30 + b0), s[3 * S + k], s[7 * S + k])
                x, y = _two_best(np.int32(a31 + b1), x, y)
                s[3 * S + k], s[7 * S + k] = _two_best(np.int32(a32 + b2), x, y)
            m += 3
        while m < M:
            for i in range(_ROWS):
                key, o, t = a_keys[r + i, m], m * S, i * S
                for k in range(L):
                    total = np.int32(key + b_keys[o + k])
                    s[t + k], s[4 * S + t + k] = _two_best(total, s[t + k], s[4 * S + t + k])
            m += 1
        for i in range(_ROWS):
            best, second = s[i * S : i * S + L], s[(4 + i) * S : (4 + i) * S + L]
            _add_certain(a[r + i], b, p, best, second, out[r + i], bits, sure)


@compiled
def _add_certain(
    a: FloatArray,
    b: FloatArray,
    p: FloatArray,
    best: Keys,
    second: Keys,
    out: FloatArray,
    bits: int,
    sure: int,
) -> None:
    """Take the winner given by the key if its lead exceeds rounding, or search for it again."""
    M, L, doubts, name = len(a), len(out), 0, (1 << bits) - 1
    for k in range(L):
        doubts += _in_doubt(best[k] >> bits, second[k] >> bits, sure)
    if doubts > _DOUBTS:
        _add_all(a, b, p, out)
        return
    if doubts == 0:
        for k in range(L):
            out[k] += p[(M - 1 - (best[k] & name)) * LANES + k]
        return
    for k in range(L):
        named = M - 1 - (best[k] & name)
        doubt = _in_doubt(best[k] >> bits, second[k] >> bits, sure)
        out[k] += p[(_winner(a, b, k) if doubt else named) * LANES + k]
