"""How well the default of fit_table predicts random rows, beside gradient boosting by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pnml import fit_table
from pnml.core.arrays import FloatArray
from pnml_experiments.studies.job_tables import JobTable

_MOST_WORDS = 254  # HistGradientBoosting takes 255 categories, one of which holds the rest
_OTHER = "any other word"
_LEAST = 1e-15  # probability, as in scikit-learn's log_loss


def accuracy(table: JobTable, train: Any, test: Any) -> dict[str, Any]:
    """Errors of both, errors by verdict, and seconds; plain values for the store."""
    began = time.perf_counter()
    model = fit_table(train, target=table.target, task=table.task)
    fitted = time.perf_counter()
    scored = model.score(test.drop(columns=table.target))
    ended = time.perf_counter()
    labels = test[table.target].to_numpy()
    if table.classes:
        named = {f"probability_{label}": label for label in model.classes}
        ours = _log_losses(scored[list(named)].to_numpy(), list(named.values()), labels)
    else:
        ours = (scored["prediction"].to_numpy() - labels) ** 2
    by_hand = boosted_losses(table, train, test)
    trusted = scored["trusted"].to_numpy(dtype=bool)
    return {
        "rows": len(train),
        "learner": model.learner,
        "tried": {score.name: [score.log_loss, score.error] for score in model.comparison},
        "ours": _error(table, ours),
        "boosting": _error(table, by_hand),
        "flagged": int(np.sum(~trusted)),
        "scored": len(test),
        "drifted": sum(row.flagged for row in model.findings(test).drift),
        "trusted": _error(table, ours[trusted]),
        "untrusted": _error(table, ours[~trusted]),
        "fit": fitted - began,
        "score": ended - fitted,
    }


def _error(table: JobTable, losses: FloatArray) -> float | None:
    """Mean log-loss of classes, root of the mean squared error otherwise; None without rows."""
    if not len(losses):
        return None
    mean = float(np.mean(losses))
    return mean if table.classes else float(np.sqrt(mean))


def boosted_losses(table: JobTable, train: Any, test: Any) -> FloatArray:
    """Losses of scikit-learn's HistGradientBoosting as it comes, words as categories."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    X, X_test = as_categories(train, test, table.target)
    y, labels = train[table.target], test[table.target].to_numpy()
    kind = HistGradientBoostingClassifier if table.classes else HistGradientBoostingRegressor
    model = kind(categorical_features="from_dtype", random_state=0).fit(X, y)
    if table.classes:
        return _log_losses(model.predict_proba(X_test), list(model.classes_), labels)
    losses: FloatArray = (model.predict(X_test) - labels) ** 2
    return losses


def as_categories(train: Any, test: Any, target: str) -> tuple[Any, Any]:
    """Both without the target: dates as days, words as the categories of training.

    The most frequent words keep a category of their own, at most 254 of a column; the others
    are one more.
    """
    frames = [frame.drop(columns=target) for frame in (train, test)]
    out = [frame.copy() for frame in frames]
    for name in frames[0]:
        read = _reader(frames[0][name])
        for given, made in zip(frames, out, strict=True):
            made[name] = read(given[name])
    return out[0], out[1]


def _reader(cells: Any) -> Callable[[Any], Any]:
    """How cells of a column are read that holds these in training."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(cells):
        return lambda new: (new - pd.Timestamp(0)) / pd.Timedelta(days=1)
    if pd.api.types.is_numeric_dtype(cells):
        return lambda new: new
    words = list(cells.value_counts().index[:_MOST_WORDS])

    def categories(new: Any) -> Any:
        known = new.astype(object).where(new.isna() | new.isin(words), _OTHER)
        return pd.Categorical(known, categories=[*words, _OTHER])

    return categories


def _log_losses(probabilities: FloatArray, classes: list[Any], labels: Any) -> FloatArray:
    place = {label: k for k, label in enumerate(classes)}
    chosen = probabilities[np.arange(len(labels)), [place[label] for label in labels]]
    losses: FloatArray = -np.log(np.clip(chosen, _LEAST, 1))
    return losses
