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
    """Inner loop of DIAL: adds, for one class of targets, the best models' probabilities. Eq. (I1).

    The arrays have R rows of weights of M models and L targets. A row of weights is the
    log-probability of one label of a candidate by each model, plus that of labels assumed for
    earlier picks. `rows` and `block` prepare arguments of `add`, once for many calls; a kernel
    accepts only what it prepared.
    """

    bytes_per_weight: int  # held for one weight of a row
    bytes_per_target: int  # held for one number of a block

    def rows(self, a: FloatArray) -> Any:
        """Prepared weights for `add`, from weights (R, M) of candidates by M models."""
        ...

    def block(self, b: FloatArray) -> Any:
        """Prepared targets for `add`, from log-probabilities (M, L) of one class, L ≤ LANES."""
        ...

    def add(self, rows: Any, block: Any, out: FloatArray) -> None:
        """Add to out[r, k] the probability of target k by the best model for row r, in place.

        For weights a (R, M) and log-probabilities b (M, L), the best model is the first m with the
        largest a[r, m] + b[m, k], and its probability is exp(b[m, k]).
        """
        ...


def aligned(shape: tuple[int, ...]) -> FloatArray:
    """Uninitialised float64 array that starts at a cache line, so that loads do not cross lines.

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
        """The weights (R, M) unchanged."""
        return a

    def block(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-probabilities (L, M), contiguous over M models, and probabilities (M, L)."""
        return np.ascontiguousarray(b.T), np.exp(b)

    def add(self, rows: FloatArray, block: tuple[FloatArray, FloatArray], out: FloatArray) -> None:
        """Add to out (R, L) the probability by the best model for each row and target, in place."""
        targets, p = block
        lanes = np.arange(len(targets))
        step = max(1, _BLOCK_NUMBERS // targets.size)
        totals = np.empty((min(step, len(rows)), *targets.shape))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            sums = np.add(part[:, None, :], targets, out=totals[: len(part)])
            out[start : start + step] += p[sums.argmax(axis=-1), lanes]  # ties go to the first


def fastest_kernel(sums: int) -> Kernel:
    """DIAL kernel for this many sums: numba's if installed and worth it, otherwise numpy's.

    A sum is that of a weight and a log-probability. Both kernels agree exactly.

    >>> type(fastest_kernel(1000)).__name__
    'NumpyKernel'
    """
    if sums < _WORTH_COMPILING or find_spec("numba") is None:
        return NumpyKernel()
    from pnml.active.dial_kernels_numba import NumbaKernel

    return NumbaKernel()
