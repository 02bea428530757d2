"""Two contenders in turns on a busy machine: what survives is the ratio within a round."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Call = Callable[[], object]

# Shorter samples than this are repeated, so that the clock and a lost time slice matter less.
_SAMPLE_SECONDS = 0.05


@dataclass(frozen=True)
class Duel:
    """Processor seconds per call of both, (rounds,) each; those of one round were neighbours."""

    ours: FloatArray
    rival: FloatArray

    @property
    def ratios(self) -> FloatArray:
        """Ours over the rival's, round by round."""
        return self.ours / self.rival


def duel(ours: Call, rival: Call, rounds: int) -> Duel:
    """Time both in turns; who goes first alternates, so that drift favours neither."""
    calls = (_calls_per_sample(ours), _calls_per_sample(rival))
    seconds = np.empty((rounds, 2))
    for i in range(rounds):
        for j in (0, 1) if i % 2 == 0 else (1, 0):
            seconds[i, j] = _seconds((ours, rival)[j], calls[j])
    return Duel(seconds[:, 0], seconds[:, 1])


def extra_memory(call: Call) -> int:
    """Most bytes that numpy and Python held at once during the call, beyond those held before."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def fresh_process(statement: str, times: int) -> FloatArray:
    """Seconds by the clock on the wall that a statement takes in a new interpreter, (times,)."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    run = [sys.executable, "-c", code]
    return np.array(
        [
            float(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
            for _ in range(times)
        ]
    )


def _calls_per_sample(call: Call) -> int:
    if _seconds(call, 1) > _SAMPLE_SECONDS:  # fills caches and loads lazy imports, too
        return 1
    calls = 1
    while (seconds := _seconds(call, calls)) == 0:  # shorter than a tick of the clock
        calls *= 2
    return max(1, int(_SAMPLE_SECONDS / seconds))


def _seconds(call: Call, calls: int) -> float:
    """Processor time of all threads, which other programs on the machine do not add to."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(calls):
            call()
        return (time.process_time() - start) / calls
    finally:
        gc.enable()
