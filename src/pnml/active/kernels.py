"""The inner loop of DIAL: for each pair of a candidate's label and a target's, who fits both."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Protocol

import numpy as np

from pnml.core.arrays import FloatArray

_LINE = 64  # bytes that memory is read by
# Below this many sums the compiled loop, which has to be loaded first, saves nothing.
_WORTH_COMPILING = 2**26
# A block of about this many numbers stays in cache between sum and maximum.
_BLOCK_NUMBERS = 2**15


class Kernel(Protocol):
    """What adds, for one class c of the targets, the probabilities of the winners. Eq. (I1)."""

    def __call__(self, a: FloatArray, b: FloatArray, p: FloatArray, out: FloatArray) -> None:
        """Add p[m*, k] to out (R, L), where m* is the first m with the largest a[r, m] + b[m, k].

        Weights of the candidate a (R, M); log-probabilities b (M, L) of the targets, p their exp.
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


def numpy_kernel(a: FloatArray, b: FloatArray, p: FloatArray, out: FloatArray) -> None:
    """The kernel in numpy, a block of candidates at a time.

    >>> out = np.zeros((1, 1))
    >>> numpy_kernel(np.log([[0.2, 0.9]]), np.log([[0.8], [0.3]]), np.array([[0.8], [0.3]]), out)
    >>> out
    array([[0.3]])
    """
    targets = np.ascontiguousarray(b.T)  # (L, M)
    lanes = np.arange(len(targets))
    step = max(1, _BLOCK_NUMBERS // targets.size)
    totals = np.empty((min(step, len(a)), *targets.shape))
    for start in range(0, len(a), step):
        rows = a[start : start + step]
        sums = np.add(rows[:, None, :], targets, out=totals[: len(rows)])
        out[start : start + step] += p[sums.argmax(axis=-1), lanes]  # the first of equals


def fastest_kernel(sums: int) -> Kernel:
    """The compiled kernel where numba is installed and there is enough to do; both agree exactly.

    >>> fastest_kernel(1000) is numpy_kernel
    True
    """
    if sums < _WORTH_COMPILING or find_spec("numba") is None:
        return numpy_kernel
    from pnml.active.compiled import numba_kernel

    return numba_kernel
