"""Regressors, classifiers and trees in every setting, and how rows may come."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.carried_over import models
from benchmarks.carried_over.answers import record_fitted, record_model
from benchmarks.carried_over.rows import NAMES, amounts, classes, gram_of, new_rows, tree_rows
from pnml import (
    KernelPNMLRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLClassifier,
    PNMLRegressor,
    PNMLTreeClassifier,
    PNMLTreeRegressor,
    UniversalRegressor,
)

WEIGHTS = np.random.default_rng(3).uniform(0.5, 2.0, size=100)


def probe(record):
    for name in models.REGRESSORS:
        fresh = models.REGRESSORS[name]
        in_every_form(record, f"regressors/{name}", fresh, *amounts(), new_rows())
    for name in ("ordinary", "ridge-loo", "luckiness", "lasso", "norm-ball", "kernel"):
        model = clone(models.REGRESSORS[name])
        record.case(f"regressors/{name}/wide", lambda m=model: m.fit(*amounts(6, 9)))
        record_model(record, f"regressors/{name}/wide", model, new_rows(9))
    for name in models.CLASSIFIERS:
        fresh = models.CLASSIFIERS[name]
        in_every_form(record, f"classifiers/{name}", fresh, *classes(), new_rows())
    X, amount, kind = tree_rows()
    for name, fresh in models.TREE_REGRESSORS.items():
        record_model(record, f"trees/{name}", clone(fresh).fit(X, amount), 2 * X[:12], amount[:12])
        weighted = clone(fresh).fit(X, amount, sample_weight=WEIGHTS[:80])
        record_model(record, f"trees/{name}/weights", weighted, 2 * X[:12])
    for name, fresh in models.TREE_CLASSIFIERS.items():
        record_model(record, f"trees/{name}", clone(fresh).fit(X, kind), 2 * X[:12], kind[:12])
        weighted = clone(fresh).fit(X, kind, sample_weight=WEIGHTS[:80])
        record_model(record, f"trees/{name}/weights", weighted, 2 * X[:12])
    around_others(record)
    pipelines(record)
    streams(record)
    degenerate(record)


def in_every_form(record, key, fresh, X, y, new):
    """Rows as float64, float32 and a data frame; weights where the estimator takes them."""
    model = clone(fresh).fit(X, y)
    record_model(record, key, model, new, y[: len(new)])
    single = clone(fresh).fit(X.astype(np.float32), y)
    record_model(record, f"{key}/float32", single, new.astype(np.float32))
    frame, new_frame = (pd.DataFrame(rows, columns=NAMES) for rows in (X, new))
    named = clone(fresh).fit(frame, y)
    for method in ("predict", "regret", "explain"):
        if hasattr(named, method):
            record.case(f"{key}/frame/{method}", lambda m=method: getattr(named, m)(new_frame))
    record_fitted(record, f"{key}/frame", named)
    weighted = clone(fresh)
    weight = WEIGHTS[: len(y)]
    if record.case(f"{key}/weights", lambda: weighted.fit(X, y, sample_weight=weight)) is not None:
        record_model(record, f"{key}/weights", weighted, new)


def around_others(record):
    """Classifiers of scikit-learn inside, frozen ones, and forests that are grown already."""
    X, y = classes()
    inner = {
        "liblinear": PNMLClassifier(LogisticRegression(solver="liblinear"), alpha=0.5),
        "bayes": PNMLClassifier(GaussianNB()),
        "neighbours": PNMLClassifier(KNeighborsClassifier(3)),
        "frozen": PNMLClassifier(FrozenEstimator(LogisticRegression().fit(X, y))),
        "scaled": PNMLClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
        "polynomial": PNMLClassifier(
            make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression()),
            method="refit",
        ),
    }
    for name, model in inner.items():
        labels = np.where(y == "ill", "ill", "well") if name == "liblinear" else y
        record.case(f"classifiers/{name}/fit", lambda m=model, c=labels: m.fit(X, c))
        record_model(record, f"classifiers/{name}", model, new_rows())
    numbers = PNMLClassifier().fit(X, np.unique(y, return_inverse=True)[1])
    record_model(record, "classifiers/whole-numbers", numbers, new_rows())
    rows, amount, _ = tree_rows()
    forest = RandomForestRegressor(4, min_samples_leaf=2, random_state=0).fit(rows, amount)
    frozen = PNMLTreeRegressor(FrozenEstimator(forest)).fit(rows, amount)
    record_model(record, "trees/frozen", frozen, 2 * rows[:12])


def pipelines(record):
    X, y = amounts()
    for name, last in {
        "ordinary": PNMLRegressor(),
        "luckiness": LpNMLRegressor(),
        "kernel": KernelPNMLRegressor(),
        "norm-ball": NormBallRegressor(),
    }.items():
        model = make_pipeline(StandardScaler(), PolynomialFeatures(2), last).fit(X, y)
        record.case(f"pipelines/{name}/predict", lambda m=model: m.predict(new_rows()))
        moved = model[:-1].transform(new_rows())
        record_model(record, f"pipelines/{name}/last", model[-1], moved)
        record.case(f"pipelines/{name}/std", lambda m=model: m.predict(new_rows(), return_std=True))


def streams(record):
    """partial_fit, forget and what a stream keeps of many rows."""
    X, y = amounts(120, 4)
    w = np.random.default_rng(5).uniform(0.5, 2, size=120)
    for name, fresh in {
        "ordinary": PNMLRegressor(),
        "ridge": PNMLRegressor(alpha=0.2),
        "ridge-loo": PNMLRegressor(alpha="loo"),
        "luckiness": LpNMLRegressor(),
        "lasso": LpNMLRegressor(penalty="l1"),
    }.items():
        key, model = f"streams/{name}", clone(fresh)
        if record.case(f"{key}/partial_fit", lambda m=model: m.partial_fit(X[:50], y[:50])) is None:
            record.case(f"{key}/forget", lambda m=model: m.forget(X[:5], y[:5]))
            record.case(f"{key}/fit_gram", lambda m=model: m.fit_gram(gram_of(X, y)))
            continue
        record_model(record, f"{key}/first", model, new_rows(4))
        model.partial_fit(X[50:], y[50:], w[50:])
        record_model(record, f"{key}/second", model, new_rows(4))
        record.case(f"{key}/forget", lambda m=model: m.forget(X[:20], y[:20]))
        record_model(record, f"{key}/third", model, new_rows(4))
        record.case(f"{key}/forget strangers", lambda m=model: m.forget(X[:5], y[:5]))
        counted = clone(fresh).fit_gram(gram_of(X, y, w))
        record_model(record, f"{key}/fit_gram", counted, new_rows(4))
    record.case("streams/classifier/fit_gram", lambda: PNMLClassifier().fit_gram(gram_of(X, y)))
    long_X, long_y = amounts(9000, 2)
    long = PNMLRegressor().partial_fit(long_X[:5000], long_y[:5000])
    long.partial_fit(long_X[5000:], long_y[5000:])
    record.case("streams/long/regret", lambda: long.regret(new_rows(2)))
    record.case("streams/long/trusted", lambda: long.trusted(new_rows(2), level=0.9))
    record.case("streams/long/left out", lambda: np.sort(long.loo_.regrets)[::100])


def degenerate(record):
    """Constant columns, equal columns, one row, integers, and lists."""
    X, y = amounts()
    same = np.column_stack([X, np.ones(len(X)), X[:, 0], 1e6 + 1e-3 * X[:, 1]])
    for name in ("ordinary", "ridge-loo", "luckiness", "lasso", "norm-ball", "kernel", "universal"):
        model = clone(models.REGRESSORS[name])
        record.case(f"degenerate/{name}/fit", lambda m=model: m.fit(same, y))
        record_model(record, f"degenerate/{name}", model, 2 * same[:5])
        model = clone(models.REGRESSORS[name])
        whole = np.arange(24).reshape(12, 2) % 7
        record.case(f"lists/{name}/fit", lambda m=model, w=whole: m.fit(w.tolist(), y[:12]))
        record.case(f"lists/{name}/regret", lambda m=model, w=whole: m.regret(w[:3]))
    one = PNMLRegressor(noise_variance=1.0).fit(X[:1], y[:1])
    record_model(record, "degenerate/one row", one, X[:3])
    leaves = PNMLTreeClassifier().fit(X, y > 0)
    record_model(record, "degenerate/truth values", leaves, new_rows())
    few = UniversalRegressor([("one", PNMLRegressor()), ("two", NormBallRegressor(radius=1.0))])
    record.case("degenerate/not Gaussian", lambda: few.fit(X, y))
