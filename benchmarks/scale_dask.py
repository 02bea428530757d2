"""Scale on Dask: two workers learn from Parquet files, against one process on the same files."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.report import Job, Row, absolute_row, ratio_row
from benchmarks.scale import Sizes, write_files
from benchmarks.timing import Call, Duel
from pnml import PNMLRegressor
from pnml.scale import fit_dask, fit_files, k_fold_dask

_SLOWEST = 1.3
_DIFFERENCE = 1e-10  # of predictions and regrets from those of one process
_WORKERS = 2


def jobs(*, quick: bool) -> list[Job]:
    """All comparisons."""
    return [partial(_cluster, Sizes.asked(quick=quick))]


def _cluster(sizes: Sizes, rounds: int) -> Iterator[Row]:
    rounds = min(rounds, 5)
    with (
        tempfile.TemporaryDirectory() as place,
        dask.config.set({"logging.distributed": "error"}),
        LocalCluster(n_workers=_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        folder = Path(place)
        write_files(folder, sizes.rows)
        alone = partial(fit_files, PNMLRegressor(), folder, "y", threads=_WORKERS)
        name = f"{sizes.rows:,} x 50 Parquet, {_WORKERS} workers"
        for job, fit in (("fit_dask", fit_dask), ("k_fold_dask", k_fold_dask)):

            def spread(fit: object = fit) -> object:
                return fit(PNMLRegressor(), dd.read_parquet(folder, filesystem="arrow"), "y")  # type: ignore[operator]

            cpu, wall = _in_turns(client, spread, alone, rounds)
            ratio, low, high = np.percentile(wall.ratios, [50, 25, 75])
            note = f"{ratio:.2f} x by the clock on the wall, quartiles {low:.2f} to {high:.2f}"
            # K-fold keeps a statistic for each fold, and has no rival of its own
            limit = sizes.target(_SLOWEST) if fit is fit_dask else None
            yield ratio_row(f"{job}, {name}", "fit_files", cpu, limit, note)
        yield _difference(folder)


def _in_turns(client: Client, ours: Call, rival: Call, rounds: int) -> tuple[Duel, Duel]:
    """Seconds of processors, here and in all workers together, and of the clock on the wall."""
    cpu, wall = np.empty((rounds, 2)), np.empty((rounds, 2))
    for call in (ours, rival):  # the first time, modules are loaded
        call()
    for i in range(rounds):
        for j in (0, 1) if i % 2 == 0 else (1, 0):
            before, start = _processors(client), time.perf_counter()
            (ours, rival)[j]()
            wall[i, j] = time.perf_counter() - start
            cpu[i, j] = _processors(client) - before
    return Duel(*cpu.T), Duel(*wall.T)


def _processors(client: Client) -> float:
    return time.process_time() + sum(client.run(time.process_time).values())


def _difference(folder: Path) -> Row:
    """Largest relative difference from one process, over predictions and regrets."""
    one = fit_files(PNMLRegressor(), folder, "y")
    two = fit_dask(PNMLRegressor(), dd.read_parquet(folder), "y")
    names = list(one.feature_names_in_)
    X = dd.read_parquet(folder)[names].head(10_000).astype(float)
    found = max(
        float(np.max(np.abs(b - a)) / np.max(np.abs(a)))
        for a, b in ((one.predict(X), two.predict(X)), (one.regret(X), two.regret(X)))
    )
    return absolute_row("fit_dask, difference from fit_files", np.array([found]), "")
