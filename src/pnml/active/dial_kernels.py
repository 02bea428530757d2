"""The inner loop of DIAL: for each pair of a candidate's label and a target's, who fits both."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from pnml.core.arrays import FloatArray

LANES = 128  # targets at a time: what is gone over again and again stays in cache
_LINE = 64  # bytes that memory is read by
# Below this many sums the compiled loop, which has to be loaded first, saves nothing.
_WORTH_COMPILING = 2**26
# A block of about this many numbers stays in cache between sum and maximum.
_BLOCK_NUMBERS = 2**15


class Kernel(Protocol):
    """What adds, for one class c of the targets, the probabilities of the winners. Eq. (I1).

    Rows and blocks are made ready once and used often; a kernel takes those it made itself.
    """

    bytes_per_weight: int  # of what is held of one weight of a row
    bytes_per_target: int  # of what is held of one number of a block

    def rows(self, a: FloatArray) -> Any:
        """Weights (R, M) of candidates."""
        ...

    def block(self, b: FloatArray) -> Any:
        """Log-probabilities (M, L) of one class of at most LANES targets."""
        ...

    def add(self, rows: Any, block: Any, out: FloatArray) -> None:
        """Add p[m*, k] to out (R, L), where m* is the first m with the largest a[r, m] + b[m, k].

        p is exp(b).
        """
        ...


def aligned(shape: tuple[int, ...]) -> FloatArray:
    """An array to be filled that begins where a line of memory does; loads then cut no line.

    >>> aligned((3, 5)).ctypes.data % 64
    0
    """
    numbers, spare = math.prod(shape), _LINE // 8
    room = np.empty(numbers + spare)
    start = -room.ctypes.data % _LINE // 8
    return room[start : start + numbers].reshape(shape)


class NumpyKernel:
    """The kernel in numpy, a few candidates at a time.

    >>> kernel, out = NumpyKernel(), np.zeros((1, 1))
    >>> weights, block = kernel.rows(np.log([[0.2, 0.9]])), kernel.block(np.log([[0.8], [0.3]]))
    >>> kernel.add(weights, block, out)
    >>> out.round(12)
    array([[0.3]])
    """

    bytes_per_weight = 8
    bytes_per_target = 16

    def rows(self, a: FloatArray) -> FloatArray:
        """The weights as they are."""
        return a

    def block(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-probabilities (L, M), models beside each other, and probabilities (M, L)."""
        return np.ascontiguousarray(b.T), np.exp(b)

    def add(self, rows: FloatArray, block: tuple[FloatArray, FloatArray], out: FloatArray) -> None:
        """Add p of the winners to out (R, L)."""
        targets, p = block
        lanes = np.arange(len(targets))
        step = max(1, _BLOCK_NUMBERS // targets.size)
        totals = np.empty((min(step, len(rows)), *targets.shape))
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            sums = np.add(some[:, None, :], targets, out=totals[: len(some)])
            out[start : start + step] += p[sums.argmax(axis=-1), lanes]  # the first of equals


def fastest_kernel(sums: int) -> Kernel:
    """The compiled kernel where numba is installed and there is enough to do; both agree exactly.

    >>> type(fastest_kernel(1000)).__name__
    'NumpyKernel'
    """
    if sums < _WORTH_COMPILING or find_spec("numba") is None:
        return NumpyKernel()
    from pnml.active.dial_kernels_numba import NumbaKernel

    return NumbaKernel()
