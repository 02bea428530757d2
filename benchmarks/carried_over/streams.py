"""Many files, Dask, windows, merged models and the monitor of regrets."""

from __future__ import annotations

from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from benchmarks.carried_over.answers import record_model
from benchmarks.carried_over.rows import amounts, classes, mixed, new_rows
from pnml import LpNMLRegressor, PNMLClassifier, PNMLRegressor, save
from pnml.scale import (
    Drift,
    RegretMonitor,
    SlidingWindow,
    fit_dask,
    fit_files,
    fit_mixed_files,
    k_fold_dask,
    lazily,
    merge,
)

WRITERS = {"parquet": pyarrow.parquet.write_table, "csv": pyarrow.csv.write_csv}


def probe(record):
    files(record)
    dask_rows(record)
    windows(record)
    monitor(record)


def write(table, folder, ending):
    folder.mkdir(parents=True, exist_ok=True)
    ends = np.linspace(0, table.num_rows, 4).astype(int)
    for i, (a, b) in enumerate(pairwise(ends)):
        WRITERS[ending](table.slice(a, b - a), str(folder / f"part-{i}.{ending}"))
    return folder


def numbers(n=120):
    X, y = amounts(n)
    weight = np.random.default_rng(8).uniform(0.5, 2, size=n)
    return pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "w": weight, "y": y})


def files(record):
    for ending in WRITERS:
        folder = write(numbers(), record.scratch / f"numbers-{ending}", ending)
        for name, fresh, said in (
            ("ordinary", PNMLRegressor(), {"columns": ["a", "b", "c"]}),
            ("weights", PNMLRegressor(alpha="loo"), {"weight": "w"}),
            ("luckiness", LpNMLRegressor(), {"columns": ["a", "b", "c"], "threads": 2}),
        ):
            key = f"scale/fit_files/{ending}/{name}"
            record.case(key, lambda m=fresh, f=folder, s=said: fit_files(m, f, "y", **s))
            new = pd.DataFrame(new_rows(), columns=["a", "b", "c"])
            record_model(record, key, fresh, new)
        table = mixed(120)
        mixed_folder = write(table, record.scratch / f"mixed-{ending}", ending)
        for learner in ("auto", "pnml", "lpnml"):
            model = fit_mixed_files(mixed_folder, "y", learner=learner, drop=["day"])
            save(model, record.scratch / f"mixed-{ending}-{learner}.pnml")
            record.value(f"scale/fit_mixed_files/{ending}/{learner}/rows", model.rows)
    X, y = classes()
    frozen = PNMLClassifier(FrozenEstimator(LogisticRegression().fit(X, y)))
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y.tolist()})
    folder = write(table, record.scratch / "classes", "parquet")
    record.case("scale/fit_files/classes", lambda: fit_files(frozen, folder, "y"))
    record_model(record, "scale/fit_files/classes", frozen, new_rows())


def dask_rows(record):
    X, y = amounts(120)
    dX, dy = da.from_array(X, chunks=(30, 3)), da.from_array(y, chunks=30)
    with dask.config.set(scheduler="sync"):
        for name, fresh in {
            "ordinary": PNMLRegressor(),
            "loo": PNMLRegressor(alpha="loo"),
            "luckiness": LpNMLRegressor(),
        }.items():
            model = fit_dask(fresh, dX, dy, da.ones(120, chunks=30) * 2)
            record_model(record, f"scale/fit_dask/{name}", model, new_rows())
            lazy = lazily(model)
            for method in ("predict", "regret", "trusted", "explain", "predict_interval"):
                record.case(
                    f"scale/lazily/{name}/{method}",
                    lambda z=lazy, m=method: getattr(z, m)(dX).compute(),
                )
        choice = k_fold_dask(PNMLRegressor(), dX, dy, folds=4, alphas=[0.01, 1.0, 100.0])
        record.members("scale/k_fold", choice, ("alpha",))
        record.members("scale/k_fold", choice.path, ("alphas", "log_loss", "noise_variance"))
        record_model(record, "scale/k_fold/model", choice.estimator, new_rows())
        grid = k_fold_dask(LpNMLRegressor(), dX, dy, folds=2)
        record.members("scale/k_fold grid", grid, ("alpha",))


def windows(record):
    X, y = amounts(120)
    parts = [slice(0, 40), slice(40, 90), slice(90, 120)]
    for name, fresh in {"ordinary": PNMLRegressor, "luckiness": LpNMLRegressor}.items():
        models = [fresh().fit(X[part], y[part]) for part in parts]
        together = record.case(f"scale/merge/{name}", lambda m=models: merge(m, list("abc")))
        record_model(record, f"scale/merge/{name}", together, new_rows())
        window = SlidingWindow(fresh(), batches=2)
        for i, part in enumerate(parts):
            window.push(X[part], y[part], np.full(part.stop - part.start, 1.0 + i))
            record.value(f"scale/window/{name}/{i}/rows", [window.rows, len(window)])
            record_model(record, f"scale/window/{name}/{i}", window.model, new_rows())
        window.drop_oldest()
        record_model(record, f"scale/window/{name}/dropped", window.model, new_rows())
    record.case("scale/merge/nothing", lambda: merge([]))


def monitor(record):
    random = np.random.default_rng(4)
    X, y = amounts(120)
    model = PNMLRegressor().fit(X, y)
    for name, make in {
        "reference": lambda: RegretMonitor(random.exponential(size=50), pool=70, within=500),
        "model": lambda: RegretMonitor.of(model, false_alarm=0.05, seed=3),
    }.items():
        key, watch = f"scale/monitor/{name}", make()
        stream = np.concatenate([random.exponential(size=60), 4 + random.exponential(size=40)])
        for i, part in enumerate(np.split(stream, 5)):
            drift = record.case(f"{key}/update {i}", lambda w=watch, p=part: w.update(p))
            record.text(f"{key}/said {i}", f"{isinstance(drift, Drift)} {drift}")
            record.members(f"{key}/{i}", watch, ("rows", "evidence", "p_value"))
        path = record.scratch / f"monitor-{name}.pnml"
        watch.save(path)
        again = RegretMonitor.load(path)
        record.case(f"{key}/loaded", lambda a=again: [a.rows, a.evidence, a.p_value])
        watch.reset()
        record.members(f"{key}/reset", watch, ("rows", "evidence", "p_value"))
    record.text("scale/Drift", str(Drift(row=1200, since=1100, rows_between=1e6)))
