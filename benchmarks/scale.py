"""Scale: learning from Parquet files, against reading them and a bare Gram; kills and merges."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from benchmarks.report import Job, Row, Target, absolute_row, ratio_row
from benchmarks.timing import FloatArray, duel
from pnml import PNMLRegressor
from pnml.core.statistic.exact_sum import merged
from pnml.core.statistic.gram import Gram
from pnml.scale import fit_files

_COLUMNS = 50
_FILES = 20
_SLOWEST = 1.3
_MOST_MEMORY = 1.0  # GB
_PIECE = 65_536  # rows that the rival takes at once, of all that were tried the fastest


@dataclass(frozen=True)
class Sizes:
    """How long the table is. Targets hold at two million rows and more."""

    rows: int

    @classmethod
    def asked(cls, *, quick: bool) -> Sizes:
        """20 million rows, or as many as PNML_SCALE_ROWS says."""
        return cls(int(os.environ.get("PNML_SCALE_ROWS", 200_000 if quick else 20_000_000)))

    def target(self, limit: float) -> Target | None:
        return Target(limit) if self.rows >= 2_000_000 else None


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons."""
    return [partial(_files, Sizes.asked(quick=quick)), _shards]


def write_files(folder: Path, rows: int, width: int = _COLUMNS) -> None:
    """Twenty Parquet files of columns of float32, 50 or so many, and a linear target."""
    rng = np.random.default_rng(0)
    slopes = rng.normal(size=width).astype(np.float32)
    for part, ends in enumerate(np.array_split(np.arange(rows), _FILES)):
        X = rng.standard_normal(size=(len(ends), width), dtype=np.float32)
        y = X @ slopes + rng.standard_normal(size=len(ends), dtype=np.float32)
        columns = {f"x{j}": X[:, j] for j in range(width)} | {"y": y}
        pyarrow.parquet.write_table(pa.table(columns), folder / f"part-{part:03d}.parquet")


def bare_gram(folder: Path) -> FloatArray:
    """What no method that looks at all rows can do without: read, copy to float64, multiply."""
    total = np.zeros((_COLUMNS + 1, _COLUMNS + 1))
    for batch in pyarrow.dataset.dataset(folder).to_batches(batch_size=_PIECE):
        Z = np.empty((batch.num_rows, _COLUMNS + 1), order="F")
        for j, column in enumerate(batch.columns):
            Z[:, j] = column.to_numpy()
        total += Z.T @ Z
    return total


def _files(sizes: Sizes, rounds: int) -> Iterator[Row]:
    rounds = min(rounds, 5)
    with tempfile.TemporaryDirectory(dir=os.environ.get("PNML_SCALE_DIR")) as place:
        folder = Path(place, "table")
        folder.mkdir()
        write_files(folder, sizes.rows)
        name = f"{sizes.rows:,} x {_COLUMNS} Parquet"
        fit = partial(fit_files, PNMLRegressor(), folder, "y")
        rival = "read + float64 + bare Gram"
        both = duel(fit, partial(bare_gram, folder), rounds)
        yield ratio_row(f"fit_files, {name}", rival, both, sizes.target(_SLOWEST))
        walls = np.array([_wall(fit) / _wall(partial(bare_gram, folder)) for _ in range(rounds)])
        note = "the same by the clock on the wall, with all cores for both"
        yield absolute_row(f"fit_files, {name}, wall", walls, "x", note=note)
        seconds, peak = _fresh(folder, Path(place, "whole.npy"))
        note = f"{sizes.rows / seconds:,.0f} rows a second by the clock on the wall"
        limit = sizes.target(_MOST_MEMORY)
        yield absolute_row("peak memory of fit_files", np.array([peak]), "GB", limit, note)
        yield _killed(folder, Path(place))


_FIT = """
import re, sys, time
from pathlib import Path
import numpy as np
from pnml import PNMLRegressor
from pnml.scale import fit_files
folder, out, *checkpoint = sys.argv[1:]
start = time.perf_counter()
kept = dict(checkpoint=checkpoint[0], checkpoint_seconds=0.0) if checkpoint else {}
model = fit_files(PNMLRegressor(), folder, "y", **kept)
gram = model._statistic
np.save(out, np.concatenate([gram.xx.ravel(), gram.xy.ravel(), gram.yy.ravel(), gram.x_mean,
                             gram.sample.keys, gram.sample.rows.ravel()]))
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(time.perf_counter() - start, peak)
"""


def _fresh(folder: Path, out: Path) -> tuple[float, float]:
    """Seconds and GB that a fit takes in a new interpreter."""
    run = [sys.executable, "-c", _FIT, str(folder), str(out)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    seconds, peak = done.stdout.split()
    return float(seconds), float(peak) * 1024 / 1e9


def _killed(folder: Path, place: Path) -> Row:
    """Bytes of the statistic that differ after a kill and a second start."""
    kept, out = place / "fit.part", place / "resumed.npy"
    run = [sys.executable, "-c", _FIT, str(folder), str(out), str(kept)]
    with subprocess.Popen(run, stdout=subprocess.DEVNULL) as process:
        while not kept.exists() and process.poll() is None:
            time.sleep(0.002)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
    stopped = kept.exists() and not out.exists()
    subprocess.run(run, stdout=subprocess.DEVNULL, check=True)
    whole, resumed = np.load(place / "whole.npy"), np.load(out)
    differ = float(np.sum(whole.view(np.uint8) != resumed.view(np.uint8)))
    note = "killed by SIGKILL behind a checkpoint" if stopped else "it was done before the kill"
    return absolute_row("bytes changed by a kill", np.array([differ]), "", Target(0.0), note)


def _shards(_: int) -> Iterator[Row]:
    """How far the order in which 1,000 shards are merged changes the predictions."""
    for condition, limit in ((10.0, 1e-12), (1e6, 1e-9)):
        rng = np.random.default_rng(0)
        turn = np.linalg.qr(rng.normal(size=(20, 20)))[0]
        X = rng.normal(size=(100_000, 20)) @ (turn * np.geomspace(1, condition**-0.5, 20)) @ turn.T
        y = X @ rng.normal(size=20) + 0.1 * rng.normal(size=len(X))
        shards = [Gram.of(X[i::1000], y[i::1000], seen=i) for i in range(1000)]
        first = PNMLRegressor().fit_gram(merged(shards).gram()).predict(X)
        worst = 0.0
        for _ in range(5):
            order = rng.permutation(1000)
            model = PNMLRegressor().fit_gram(merged([shards[i] for i in order]).gram())
            change = np.linalg.norm(model.predict(X) - first) / np.linalg.norm(first)
            worst = max(worst, float(change))
        name = f"1,000 shards in another order, condition {condition:.0e}"
        yield absolute_row(name, np.array([worst]), "", Target(limit))


def _wall(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
