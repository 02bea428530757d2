"""The inner loop of DIAL: the best model for each pair of a candidate's and a target's label."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from pnml.core.arrays import FloatArray

LANES = 128  # targets of a block, so that it stays in cache
_LINE = 64  # bytes of a cache line
# Below this many sums, loading the compiled loop takes longer than it saves.
_WORTH_COMPILING = 2**26
# Numbers of a block that stays in cache between sum and maximum.
_BLOCK_NUMBERS = 2**15


class Kernel(Protocol):
    """Kernel of DIAL: adds the winning models' probabilities of one class of targets. Eq. (I1).

    Rows and blocks are prepared once and used often; a kernel accepts only its own.
    """

    bytes_per_weight: int  # held for one weight of a row
    bytes_per_target: int  # held for one number of a block

    def rows(self, a: FloatArray) -> Any:
        """Prepare weights (R, M) of candidates."""
        ...

    def block(self, b: FloatArray) -> Any:
        """Prepare log-probabilities (M, L) of one class of at most LANES targets."""
        ...

    def add(self, rows: Any, block: Any, out: FloatArray) -> None:
        """Add p[m*, k] to out (R, L), where m* is the first m with the largest a[r, m] + b[m, k].

        p is exp(b).
        """
        ...


def aligned(shape: tuple[int, ...]) -> FloatArray:
    """An empty array for a kernel, at a cache line, so that loads do not cross lines.

    >>> aligned((3, 5)).ctypes.data % 64
    0
    """
    numbers, spare = math.prod(shape), _LINE // 8
    room = np.empty(numbers + spare)
    start = -room.ctypes.data % _LINE // 8
    return room[start : start + numbers].reshape(shape)


class NumpyKernel:
    """The kernel of DIAL in numpy, a few candidates at a time.

    >>> kernel, out = NumpyKernel(), np.zeros((1, 1))
    >>> weights, block = kernel.rows(np.log([[0.2, 0.9]])), kernel.block(np.log([[0.8], [0.3]]))
    >>> kernel.add(weights, block, out)
    >>> out.round(12)
    array([[0.3]])
    """

    bytes_per_weight = 8
    bytes_per_target = 16

    def rows(self, a: FloatArray) -> FloatArray:
        """The weights unchanged."""
        return a

    def block(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-probabilities (L, M), contiguous over models, and probabilities (M, L)."""
        return np.ascontiguousarray(b.T), np.exp(b)

    def add(self, rows: FloatArray, block: tuple[FloatArray, FloatArray], out: FloatArray) -> None:
        """Add the probabilities of the winners to out (R, L)."""
        targets, p = block
        lanes = np.arange(len(targets))
        step = max(1, _BLOCK_NUMBERS // targets.size)
        totals = np.empty((min(step, len(rows)), *targets.shape))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            sums = np.add(part[:, None, :], targets, out=totals[: len(part)])
            out[start : start + step] += p[sums.argmax(axis=-1), lanes]  # ties go to the first


def fastest_kernel(sums: int) -> Kernel:
    """The DIAL kernel of numba, if installed and worth it, or of numpy; both agree exactly.

    >>> type(fastest_kernel(1000)).__name__
    'NumpyKernel'
    """
    if sums < _WORTH_COMPILING or find_spec("numba") is None:
        return NumpyKernel()
    from pnml.active.dial_kernels_numba import NumbaKernel

    return NumbaKernel()
