"""Are directions that no training row had ever trusted, and what does asking cost? Eq. (X1).

For every registered learner: the share of 10,000 rows trusted that leave a training table of 200
rows (a constant, a dead column, a sum, one-hot columns) in a random direction, and the time of
``trusted`` a row; with and without the relations of columns. On the tables of PMLB in the folder
that PNML_DATA names: ordinary rows that are not trusted, with and without.
"""

from __future__ import annotations

import gzip
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.relations import Relations
from pnml.estimators.registry import Registered, every_learner

_ROWS, _DIRECTIONS, _TABLE_ROWS = 200, 10_000, 300
_SLOW_ROWS = 2_000  # learners for at most this many rows take milliseconds a row


def main(*, quick: bool = False) -> int:
    """Print one line for each learner."""
    warnings.simplefilter("ignore")
    sets = list(_tables())
    print(f"{_ROWS} training rows, directions of 0.01 to 100 spreads; {len(sets)} tables of PMLB")
    print(f"{'':<22} {'trusted directions':>25} {'µs a row':>15} {'ordinary rows refused':>22}")
    print(
        f"{'learner':<22} {'of':>7} {'without':>8} {'with':>8} {'without':>7} {'with':>7}", end=""
    )
    print(f" {'without':>11} {'with':>10}")
    worst = 0
    for entry in every_learner().values():
        count = 50 if quick else _DIRECTIONS
        found, clock = _directions(entry, count)
        refused = _refused(entry, sets[:1] if quick else sets)
        print(f"{entry.name:<22} {count:>7,} {found[0]:>8,} {found[1]:>8,}", end="")
        print(f" {clock[0]:>7.1f} {clock[1]:>7.1f}", end="")
        print(f" {refused[0]:>11.2%} {refused[1]:>10.2%}", flush=True)
        worst = max(worst, found[1])
    return int(worst > 0)


@contextmanager
def _no_relations() -> Iterator[None]:
    known = Relations.broken
    Relations.broken = lambda self, X: np.full(len(X), np.inf)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Relations.broken = known  # type: ignore[method-assign]


def _training(n: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    free, words = rng.normal(size=(n, 3)), np.eye(3)[rng.integers(0, 3, n)]
    return np.column_stack([free, free[:, 0] + free[:, 1], np.full(n, 4.0), np.zeros(n), words])


def _labels(entry: Registered, signal: FloatArray) -> Any:
    if entry.task == "regression":
        return signal
    return np.where(signal > np.median(signal), "high", "low")


def _directions(entry: Registered, count: int) -> tuple[list[int], list[float]]:
    """Rows trusted and microseconds a row, without and with relations."""
    X, rng = _training(_ROWS, 0), np.random.default_rng(1)
    signal = X[:, 0] + 0.5 * rng.normal(size=_ROWS)
    model = entry.make().fit(X, _labels(entry, signal))
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    sizes = 10 ** rng.uniform(-2, 2, size=(count, 1))
    steps = rng.normal(size=(count, X.shape[1]))
    steps *= sizes / np.linalg.norm(steps, axis=1, keepdims=True) * spread
    rows = _training(count, 2) + steps
    return _both(lambda: model.trusted(rows), count)


def _both(ask: Any, count: int) -> tuple[list[int], list[float]]:
    found, clock = [], []
    ask()  # so that nothing is done for the first time
    with _no_relations():
        start = time.process_time()
        found.append(int(ask().sum()))
        clock.append((time.process_time() - start) / count * 1e6)
    start = time.process_time()
    found.append(int(ask().sum()))
    clock.append((time.process_time() - start) / count * 1e6)
    return found, clock


def _refused(entry: Registered, sets: list[tuple[FloatArray, FloatArray]]) -> list[float]:
    """Mean share of ordinary rows that are not trusted, without and with relations."""
    shares = []
    for X, y in sets:
        order = np.random.default_rng(0).permutation(len(X))
        here = order[: min(_TABLE_ROWS, len(X) // 2)]
        rest = order[len(here) :][: 60 if entry.rows <= _SLOW_ROWS else 500]
        model = entry.make().fit(X[here], _labels(entry, y)[here])
        found, _ = _both(lambda m=model, rows=X[rest]: m.trusted(rows), len(rest))
        shares.append([1 - trusted / len(rest) for trusted in found])
    return [float(share) for share in np.mean(shares, axis=0)] if shares else [np.nan, np.nan]


def _tables() -> Iterator[tuple[FloatArray, FloatArray]]:
    """Tables of PMLB that are not of Friedman's functions, and one of these."""
    folder = os.environ.get("PNML_DATA")
    for path in sorted(Path(folder or "nowhere", "pmlb").glob("*.tsv.gz")):
        if "_fri_" in path.name and "c0_500_25" not in path.name:
            continue
        with gzip.open(path, "rt") as file:
            table = np.genfromtxt(file, delimiter="\t", skip_header=1, max_rows=2_000)
        if len(table) >= 2 * _TABLE_ROWS // 3 and len(np.unique(table[:, -1])) > 2:
            yield table[:, :-1], table[:, -1]
