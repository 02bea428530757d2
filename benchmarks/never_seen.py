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
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.relations import Relations
from pnml.core.trust import Thresholds
from pnml.estimators.registry import Registered, every_learner

_ROWS, _DIRECTIONS, _TABLE_ROWS, _TIMED = 200, 10_000, 300, 300
_SLOW_ROWS = 2_000  # learners for at most this many rows take milliseconds a row


def main(*, quick: bool = False) -> int:
    """Print one line for each learner; 1 where a direction was trusted."""
    warnings.simplefilter("ignore")
    sets, count = list(_tables()), 50 if quick else _DIRECTIONS
    print(f"{_ROWS} training rows, {count:,} directions of 0.01 to 100 spreads, tables of PMLB")
    print(f"{'':<20} {'trusted directions':>20} {'µs a row':>19} {'ordinary rows refused':>28}")
    parts = f"{'without':>9} {'with':>9}"
    print(f"{'learner':<20}   {parts} {parts} {'tables':>7} {parts}")
    worst = 0
    for entry in every_learner().values():
        found, clock = _directions(entry, count)
        slow = entry.rows <= _SLOW_ROWS
        used = sets[:1] if quick else sets[::4] if slow else sets
        refused = _refused(entry, used, 60 if slow else 500)
        line = f"{entry.name:<20}   {found[0]:>9,} {found[1]:>9,} {clock[0]:>9.1f} {clock[1]:>9.1f}"
        print(f"{line} {len(used):>7} {refused[0]:>9.2%} {refused[1]:>9.2%}", flush=True)
        worst = max(worst, found[1])
    return int(worst > 0)


def _verdicts(model: Any, rows: FloatArray) -> tuple[int, int]:
    """How many rows are trusted without and with relations, asked once."""
    trusts, without = Thresholds.trusts, []

    def both(self: Thresholds, *evidence: Any) -> Any:
        without.append(int(trusts(self, *evidence[:4]).sum()))
        return trusts(self, *evidence)

    with mock.patch.object(Thresholds, "trusts", both):
        found = int(model.trusted(rows).sum())
    return sum(without), found


def _microseconds(model: Any, rows: FloatArray) -> list[float]:
    """Processor time of ``trusted`` a row, without and with relations."""
    out = []
    for way, method in enumerate((lambda self, X: np.full(len(X), np.inf), Relations.broken)):
        with mock.patch.object(Relations, "broken", method):
            seconds = []
            for turn in range(4):
                fresh = rows * (1 + 1e-12 * (4 * way + turn))  # else answers are remembered
                start = time.process_time()
                model.trusted(fresh)
                seconds.append(time.process_time() - start)
        out.append(min(seconds[1:]) / len(rows) * 1e6)
    return out


def _training(n: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    free, words = rng.normal(size=(n, 3)), np.eye(3)[rng.integers(0, 3, n)]
    return np.column_stack([free, free[:, 0] + free[:, 1], np.full(n, 4.0), np.zeros(n), words])


def _labels(entry: Registered, signal: FloatArray) -> Any:
    if entry.task == "regression":
        return signal
    return np.where(signal > np.median(signal), "high", "low")


def _directions(entry: Registered, count: int) -> tuple[tuple[int, int], list[float]]:
    """Rows trusted and microseconds a row, without and with relations."""
    X, rng = _training(_ROWS, 0), np.random.default_rng(1)
    signal = X[:, 0] + 0.5 * rng.normal(size=_ROWS)
    model = entry.make().fit(X, _labels(entry, signal))
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    steps = rng.normal(size=(count, X.shape[1]))
    steps[::2, X.std(axis=0) == 0] = 0.0  # every second one keeps the constants
    sizes = 10 ** rng.uniform(-2, 2, size=(count, 1)) / np.linalg.norm(steps, axis=1, keepdims=True)
    rows = _training(count, 2) + steps * sizes * spread
    timed = 50 if entry.rows <= _SLOW_ROWS else _TIMED
    return _verdicts(model, rows), _microseconds(model, _training(timed, 3))


def _refused(
    entry: Registered, sets: list[tuple[FloatArray, FloatArray]], most: int
) -> list[float]:
    """Mean share of ordinary rows that are not trusted, without and with relations."""
    shares = []
    for X, y in sets:
        order = np.random.default_rng(0).permutation(len(X))
        here = order[: min(_TABLE_ROWS, len(X) // 2)]
        rest = order[len(here) :][:most]
        model = entry.make().fit(X[here], _labels(entry, y)[here])
        shares.append([1 - trusted / len(rest) for trusted in _verdicts(model, X[rest])])
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
