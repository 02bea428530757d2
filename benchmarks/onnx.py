"""Exported graphs in onnxruntime against the library itself: many rows, and one."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Job, Row, Target, absolute_row, missing_row, ratio_row
from benchmarks.timing import FloatArray, duel
from pnml import LpNMLRegressor, PNMLClassifier, PNMLRegressor, export_onnx

_CALLS = 300  # of one row, in a sample


@dataclass(frozen=True)
class Sizes:
    """How large the jobs are. Targets hold at full size only."""

    train: int
    rows: int
    features: int
    classes: int
    full: bool

    def target(self, limit: float) -> Target | None:
        return Target(limit) if self.full else None


FULL = Sizes(2_000, 20_000, 50, 10, full=True)
QUICK = Sizes(200, 500, 10, 3, full=False)


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons of this suite."""
    sizes = QUICK if quick else FULL
    return [partial(job, sizes) for job in (batches, single_rows)]


def batches(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """Many rows at once: all outputs of a graph against the same from the library."""
    if find_spec("onnxruntime") is None:
        yield missing_row("regrets of many rows", "the library", "onnxruntime")
        return
    X = drawn(sizes, sizes.rows, 1)
    for name, model, library in learners(sizes):
        for dtype in ("float64", "float32"):
            rows, run = X.astype(dtype), session(model, dtype)
            times = duel(lambda: run(rows), lambda: library(rows), rounds)  # noqa: B023
            job = f"{name}, {sizes.rows}x{sizes.features}, {dtype}"
            yield ratio_row(job, "the library", times, sizes.target(2.0))


def single_rows(sizes: Sizes, rounds: int) -> Iterator[Row]:
    """One row a call, all outputs."""
    if find_spec("onnxruntime") is None:
        return
    X = drawn(sizes, 1, 2)
    for name, model, library in learners(sizes):
        for dtype in ("float64", "float32"):
            row, run = X.astype(dtype), session(model, dtype)
            ours = microseconds(lambda: run(row), rounds)  # noqa: B023
            theirs = float(np.median(microseconds(lambda: library(row), max(2, rounds // 3))))  # noqa: B023
            target = sizes.target(50.0) if isinstance(model, PNMLRegressor) else None
            note = f"the library takes {theirs:.0f} µs"
            yield absolute_row(f"one row, {name}, {dtype}", ours, "µs", target, note)


def learners(sizes: Sizes) -> list[tuple[str, Any, Callable[[FloatArray], object]]]:
    """Fitted models, and what in the library gives all that their graphs give."""
    rng = np.random.default_rng(0)
    X = drawn(sizes, sizes.train, 0)
    y = X[:, 0] + rng.normal(size=len(X))
    labels = (X[:, : sizes.classes] + rng.normal(size=(len(X), sizes.classes))).argmax(axis=1)
    pnml = PNMLRegressor().fit(X, y)
    lucky = LpNMLRegressor(alpha=1.0).fit(X, y)
    classifier = PNMLClassifier().fit(X, labels)
    return [
        ("PNMLRegressor", pnml, pnml.predict_dist),
        ("LpNMLRegressor", lucky, lucky.predict_dist),
        (f"PNMLClassifier, C = {sizes.classes}", classifier, classifier.predict_dist),
    ]


def drawn(sizes: Sizes, rows: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(rows, sizes.features))


def session(model: Any, dtype: str) -> Callable[[FloatArray], object]:
    """The exported graph, run by one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        export_onnx(model, path, dtype=dtype)
        found = onnxruntime.InferenceSession(path.read_bytes(), options)
    return lambda rows: found.run(None, {"X": rows})


def microseconds(call: Callable[[], object], rounds: int) -> FloatArray:
    """Processor time of one call, (rounds,)."""
    call()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(_CALLS):
            call()
        times.append((time.process_time() - start) / _CALLS * 1e6)
    return np.array(times)
