"""Scale on paper: a cost model of a few numbers, against measured runs at three sizes."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from benchmarks.report import Job, Row, absolute_row
from benchmarks.scale import write_files
from benchmarks.timing import FloatArray
from benchmarks.wide import WIDE, Wide, exact_regrets
from pnml import PNMLRegressor
from pnml.core.geometry.random_projection import regret_error
from pnml.core.statistic.exact_sum import GramSum
from pnml.core.statistic.gram import Gram
from pnml.core.statistic.row_sample import sample_size
from pnml.scale import fit_files

Size = tuple[int, int]  # rows and columns

# Small runs, from which the model learns its numbers, and three larger ones that it predicts.
_KNOWN: tuple[Size, ...] = (
    (30_000, 8),
    (120_000, 8),
    (30_000, 64),
    (120_000, 64),
    (30_000, 256),
    (120_000, 256),
)
_HELD_OUT: tuple[Size, ...] = ((1_500_000, 20), (500_000, 80), (100_000, 400))
_QUICK: tuple[Size, ...] = ((60_000, 20), (30_000, 80))
_FILES = 20  # that write_files makes
_PIECE = 65_536  # rows of a piece, fewer where they are wide
_FAN_IN = 8
_CORES = 1000
_DISK = 200e6  # bytes a second that one core is given of storage, as an assumption
_NETWORK = 1e9  # and of the network


@dataclass(frozen=True)
class Costs:
    """Seconds of one core: a piece, a cell, a product of two cells, a byte added up. Eq. (K2)."""

    piece: float
    cell: float
    product: float
    byte: float

    @classmethod
    def of(cls, sizes: tuple[Size, ...], seconds: FloatArray) -> Costs:
        """The numbers that fit measured runs best, in relative terms."""
        terms = np.array([_terms(*size, _FILES) for size in sizes])
        found, _ = nnls(terms / seconds[:, None], np.ones(len(seconds)))
        return cls(*(float(one) for one in found))

    def seconds(self, rows: float, columns: int, files: float) -> float:
        """Time of one core to learn from files."""
        numbers = np.array([self.piece, self.cell, self.product, self.byte])
        return float(_terms(rows, columns, files) @ numbers)


def _terms(rows: float, columns: int, files: float) -> FloatArray:
    m = columns + 1
    pieces = files * np.ceil(rows / files / min(_PIECE, 2**22 / m))
    return np.array([pieces, rows * m, rows * m * m / 2, pieces * statistic_bytes(columns)])


def statistic_bytes(columns: int) -> float:
    """What one worker sends: moments with what is cut off them, and a sample. Eq. (K3)."""
    m = columns + 1
    return 16.0 * m * (m + 1) + 8.0 * sample_size(columns) * (m + 2)


def tree(parts: float, columns: int, addition: float) -> tuple[int, float]:
    """Levels of the tree of sums, and seconds from its leaves to its root. Eq. (K4)."""
    depth = int(np.ceil(np.log(parts) / np.log(_FAN_IN))) if parts > 1 else 0
    return depth, depth * _FAN_IN * (statistic_bytes(columns) / _NETWORK + addition)


def jobs(*, quick: bool) -> list[Job]:
    """All checks of the model, and what it says of a trillion rows."""
    made = Wide(rows=400, size=200) if quick else WIDE
    return [partial(_files, _QUICK if quick else _HELD_OUT), partial(_wide, made)]


def _files(sizes: tuple[Size, ...], rounds: int) -> Iterator[Row]:
    rounds = min(rounds, 5)
    known = np.array([_measured(*size, rounds)[0] for size in _KNOWN])
    costs = Costs.of(_KNOWN, known)
    note = (
        f"{costs.piece * 1e3:.2f} ms a piece, {costs.cell * 1e9:.2f} ns a cell, "
        f"{costs.product * 1e9:.3f} ns a product, {costs.byte * 1e9:.3f} ns a byte added up"
    )
    off = np.array([costs.seconds(*s, _FILES) for s in _KNOWN]) / known
    yield absolute_row("runs that the model was made of", off, "x", note=note)
    for rows, columns in sizes:
        seconds, size = _measured(rows, columns, rounds)
        predicted = costs.seconds(rows, columns, _FILES)
        job = f"fit_files, {rows:,} x {columns}, {size / rows:.0f} bytes a row"
        yield _predicted(job, seconds, predicted)
    byte = _addition(400, rounds) / statistic_bytes(400)
    for columns in (100, 1000, 2000):
        job = f"one addition of statistics, {columns} columns"
        yield _predicted(job, _addition(columns, rounds), byte * statistic_bytes(columns))
        measured = len(pickle.dumps(_statistic(columns)))
        ratio = statistic_bytes(columns) / measured
        note = f"{measured:,} bytes"
        yield absolute_row(f"bytes of it, {columns} columns", np.array([ratio]), "x", note=note)
    for columns in (50, 1000):
        yield _trillion(costs, columns, _addition(columns, rounds))


def _measured(rows: int, columns: int, rounds: int) -> tuple[float, int]:
    """Seconds of processors that a fit takes at best, and bytes of its files."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("PNML_SCALE_DIR")) as place:
        folder = Path(place)
        write_files(folder, rows, columns)
        fit = partial(fit_files, PNMLRegressor(), folder, "y", threads=1)
        return _best(fit, rounds), sum(path.stat().st_size for path in folder.iterdir())


def _best(call: Callable[[], object], rounds: int) -> float:
    """Other programs only ever add to the time, so that the shortest is the truest."""
    call()  # loads what is loaded lazily
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _statistic(columns: int, seed: int = 0) -> GramSum:
    X = np.random.default_rng(seed).normal(size=(6000, columns))
    return GramSum.of(Gram.of(X, X[:, 0], seen=seed))


def _addition(columns: int, rounds: int) -> float:
    a, b = _statistic(columns), _statistic(columns, 1)
    return _best(lambda: a + b, 3 * rounds)


def _predicted(job: str, measured: float, predicted: float) -> Row:
    ratio = predicted / measured
    return Row(job, "predicted", ratio, ratio, ratio, "x", measured, predicted)


def _trillion(costs: Costs, columns: int, addition: float) -> Row:
    """What the model says of 10^12 rows of float32 on a thousand cores. Eqs. (K1) to (K5)."""
    rows, part = 1e12, 1e6
    size = 4.0 * (columns + 1) * rows
    cpu = costs.seconds(rows, columns, rows / part) / _CORES
    disk = size / _CORES / _DISK
    depth, root = tree(rows / part, columns, addition)
    per_core = rows / part / _CORES * statistic_bytes(columns)
    note = (
        f"{size / 1e12:,.0f} TB; a core works {cpu / 3600:.1f} h and reads {disk / 3600:.1f} h, "
        f"sends {per_core / 1e9:.1f} GB, or {statistic_bytes(columns) / 1e6:.2f} MB if it adds up "
        f"its own first; tree of {depth} levels, {root:.1f} s to its root"
    )
    hours = np.array([max(cpu, disk) / 3600])
    return absolute_row(f"10^12 rows x {columns}, {_CORES} cores", hours, "hours", note=note)


def _wide(made: Wide, _: int) -> Iterator[Row]:
    """Twenty thousand features, projected on the way, against the exact regrets."""
    code = f"from benchmarks.wide import Wide, report; report({made!r})"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    truth, dimension = exact_regrets(made)
    name = f"{made.rows:,} x {made.columns:,} projected to"
    for size, regrets in found["regrets"].items():
        stated = regret_error(dimension, int(size))
        change = np.abs(np.array(regrets) - truth)
        note = (
            f"effective dimension {dimension:.0f}, stated {stated:.2f} nats, largest change "
            f"{change.max():.4f} of regrets from {truth.min():.3f} to {truth.max():.2f}"
        )
        yield absolute_row(f"{name} {int(size):,}: change of regret", change, "nats", note=note)
    gram = 8e-9 * made.columns**2
    note = f"the Gram of all features alone would be {gram:.1f} GB"
    yield absolute_row("peak memory of it", np.array([found["peak"] / 1e9]), "GB", note=note)
    rate = made.rows / found["seconds"]
    note = f"{found['seconds']:.1f} s of one core, of which {found['making']:.1f} s made the rows"
    yield absolute_row("rows a second of it", np.array([rate]), "", note=note)
