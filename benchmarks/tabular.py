"""A table of everyday size, from rows to intervals, against what users reach for today."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
from sklearn.linear_model import BayesianRidge, LinearRegression

from benchmarks.report import Row, missing_row, ratio_row
from benchmarks.timing import Call, FloatArray, duel
from pnml import ConformalRegressor, PNMLRegressor

_COVERAGE = 0.9
Peer = Callable[[FloatArray, FloatArray, FloatArray], Call]


def peers(rows: int, features: int, rounds: int) -> Iterator[Row]:
    """Fit, then predict as many new rows with an interval. For information, no target."""
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(2, rows, features))
    y = X @ rng.normal(size=features) + rng.normal(size=rows)
    model: Call = lambda: PNMLRegressor().fit(X, y).predict_interval(new, _COVERAGE)  # noqa: E731
    split: Call = lambda: (  # noqa: E731
        ConformalRegressor(random_state=0).fit(X, y).predict_interval(new, _COVERAGE)
    )
    contests: list[tuple[Call, str, str, Peer, str]] = [
        (model, "PNMLRegressor", "sklearn", _bayesian_ridge, "BayesianRidge"),
        (model, "PNMLRegressor", "statsmodels", _statsmodels, "statsmodels OLS"),
        (split, "ConformalRegressor", "mapie", _mapie, "MAPIE split"),
        (split, "ConformalRegressor", "crepes", _crepes, "crepes split"),
    ]
    for ours, name, package, peer, rival in contests:
        job = f"{name}: fit and intervals, {rows}x{features}"
        if find_spec(package) is None:
            yield missing_row(job, rival, package)
        else:
            yield ratio_row(job, rival, duel(ours, peer(X, y, new), rounds))


def _bayesian_ridge(X: FloatArray, y: FloatArray, new: FloatArray) -> Call:
    return lambda: BayesianRidge().fit(X, y).predict(new, return_std=True)


def _statsmodels(X: FloatArray, y: FloatArray, new: FloatArray) -> Call:
    import statsmodels.api as sm  # type: ignore[import-untyped]

    def call() -> object:
        fit = sm.OLS(y, sm.add_constant(X)).fit()
        return fit.get_prediction(sm.add_constant(new)).conf_int(obs=True, alpha=1 - _COVERAGE)

    return call


def _mapie(X: FloatArray, y: FloatArray, new: FloatArray) -> Call:
    from mapie.regression import SplitConformalRegressor  # type: ignore[import-untyped]

    held = len(X) // 4

    def call() -> object:
        model = SplitConformalRegressor(
            LinearRegression(), confidence_level=_COVERAGE, prefit=False
        )
        model.fit(X[held:], y[held:]).conformalize(X[:held], y[:held])
        return model.predict_interval(new)

    return call


def _crepes(X: FloatArray, y: FloatArray, new: FloatArray) -> Call:
    from crepes import WrapRegressor  # type: ignore[import-untyped]

    held = len(X) // 4

    def call() -> object:
        model = WrapRegressor(LinearRegression())
        model.fit(X[held:], y[held:])
        model.calibrate(X[:held], y[:held])
        return model.predict_int(new, confidence=_COVERAGE)

    return call
