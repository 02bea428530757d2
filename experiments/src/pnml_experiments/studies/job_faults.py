"""Faults put into cells of test rows, and how many of them a ranking of the rows finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml import fit_table
from pnml.core.arrays import FloatArray
from pnml_experiments.studies.job_accuracy import as_categories
from pnml_experiments.studies.job_tables import JobTable

NEIGHBOURS = 10
OURS = "fit_table"
RIVALS = ("isolation forest", "kNN-10 distance", "largest z-score")
# A row is changed in these columns: data frames of the training rows and of rows to change.
Change = Callable[[Any, Any], dict[str, Any]]


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong with some rows of a table."""

    name: str
    table: str
    change: Change


def _minutes(train: Any, rows: Any) -> dict[str, Any]:
    return {"dep_time": rows["dep_time"] // 100 * 60 + rows["dep_time"] % 100}


def _grams(train: Any, rows: Any) -> dict[str, Any]:
    return {"carat": rows["carat"] * 0.2}


def _taller(train: Any, rows: Any) -> dict[str, Any]:
    return {"z": rows["z"] * 1.6}


def _kelvin(train: Any, rows: Any) -> dict[str, Any]:
    return {"temp_min": rows["temp_min"] + 273.15}


def _celsius(train: Any, rows: Any) -> dict[str, Any]:
    return {"temp": (rows["temp"] - 32) / 1.8}


def _metres(train: Any, rows: Any) -> dict[str, Any]:
    return {"visib": rows["visib"] * 1609.344}


def _two_digits(train: Any, rows: Any) -> dict[str, Any]:
    return {"year": rows["year"] % 100}


def _fraction(train: Any, rows: Any) -> dict[str, Any]:
    return {"depth": rows["depth"] / 100}


def _kilometres(train: Any, rows: Any) -> dict[str, Any]:
    return {"distance": rows["distance"] * 1.609344}


def _children(train: Any, rows: Any) -> dict[str, Any]:
    return {"kids": rows["kids"] + 5}


def _exchanged(train: Any, rows: Any) -> dict[str, Any]:
    return {"depth": train["table"].median(), "table": train["depth"].median()}


FAULTS = (
    Fault("departure time in minutes", "flights", _minutes),
    Fault("distance in km", "flights", _kilometres),
    Fault("z × 1.6", "diamonds", _taller),
    Fault("carat in grams", "diamonds", _grams),
    Fault("depth as a fraction", "diamonds", _fraction),
    Fault("depth and table at each other's median", "diamonds", _exchanged),
    Fault("minimum temperature in K", "weather", _kelvin),
    Fault("temperature in °C, not °F", "airports", _celsius),
    Fault("visibility in m, not miles", "airports", _metres),
    Fault("year of two digits", "movies", _two_digits),
    Fault("five more children", "labour", _children),
)


def with_fault(fault: Fault, train: Any, test: Any, count: int, seed: int) -> tuple[Any, Any]:
    """The test rows with the fault in `count` of them, drawn at random, and which rows those are.

    Rows whose cell is missing are not drawn.
    """
    changed = fault.change(train, test)
    there = np.ones(len(test), dtype=bool)
    for name in changed:
        there &= test[name].notna().to_numpy()
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(there))[:count]
    is_faulty = np.isin(np.arange(len(test)), rows)
    out = test.copy()
    for name, values in changed.items():
        out[name] = test[name].astype(float).mask(is_faulty, values)
    return out, is_faulty


def ranks(table: JobTable, train: Any) -> dict[str, Callable[[Any], FloatArray]]:
    """Fitted to the training rows, each method as a function of rows: large is suspicious."""
    model = fit_table(train, target=table.target, task=table.task)

    def ours(rows: Any) -> FloatArray:
        """The order of the report, which lists the first hundred rows; the others are last."""
        listed = [row.number - 1 for row in model.findings(rows).least_trusted]
        out = np.zeros(len(rows))
        out[listed] = np.arange(len(listed), 0, -1)
        return out

    return {OURS: ours, **_rivals(table, train)}


def _rivals(table: JobTable, train: Any) -> dict[str, Callable[[Any], FloatArray]]:
    from sklearn.ensemble import IsolationForest
    from sklearn.neighbors import NearestNeighbors

    read = standard_rows(table, train)
    X = read(train)
    forest = IsolationForest(random_state=0).fit(X)
    near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(X)
    return dict(
        zip(
            RIVALS,
            (
                lambda rows: -np.asarray(forest.score_samples(read(rows))),
                lambda rows: np.asarray(near.kneighbors(read(rows))[0][:, -1]),
                lambda rows: np.abs(read(rows)).max(axis=1),
            ),
            strict=True,
        )
    )


def standard_rows(table: JobTable, train: Any) -> Callable[[Any], FloatArray]:
    """Rows as numbers in standard units of training, gaps at the mean, words one-hot.

    Columns of words with more than 254 of them keep the most frequent, as for boosting; a word
    that training lacks is the category of the others.
    """
    first, _ = as_categories(train, train, table.target)
    words = [name for name in first if first[name].dtype.name == "category"]
    numbers = first.drop(columns=words).astype(float)
    mean, spread = numbers.mean(), numbers.std(ddof=0).replace(0.0, 1.0)

    def read(rows: Any) -> FloatArray:
        if table.target not in rows:
            rows = rows.assign(**{table.target: 0})
        _, here = as_categories(train, rows, table.target)
        units = ((here.drop(columns=words).astype(float) - mean) / spread).fillna(0.0)
        parts = [units.to_numpy()]
        for name in words:
            codes = here[name].cat.codes.to_numpy()
            parts.append(
                (codes[:, None] == np.arange(len(here[name].cat.categories))).astype(float)
            )
        X: FloatArray = np.hstack(parts)
        return X

    return read


def recalls(
    fault: Fault,
    train: Any,
    test: Any,
    methods: dict[str, Callable[[Any], FloatArray]],
    count: int,
    seed: int,
) -> dict[str, float]:
    """Share of the faulty rows among as many rows that a method ranks first, for each method."""
    rows, is_faulty = with_fault(fault, train, test, count, seed)
    total = int(is_faulty.sum())
    out = {}
    for name, rank in methods.items():
        first = np.argsort(-rank(rows), kind="stable")[:total]
        out[name] = float(is_faulty[first].mean())
    return out
