"""Fitted TrustedRegressors and TrustedClassifiers around small models, with new rows to ask about.

A new row has a number, a word or a gap that training did not have.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, linear_model, svm
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import pnml
from pnml import TrustedClassifier, TrustedRegressor

_rng = np.random.default_rng(0)
N = _rng.normal(size=(160, 3))
Y = np.sin(2 * N[:, 0]) + N[:, 1] + 0.2 * _rng.normal(size=160)
THREE = np.array(["low", "mid", "größer"])[np.digitize(Y, [-0.6, 0.6])]
_words = np.where(_rng.random(160) < 0.1, None, _rng.choice(["red", "green", "blue"], 160))
FRAME = pd.DataFrame(
    np.where(_rng.random(N.shape) < 0.1, np.nan, N), columns=["age", "größe", "dose"]
).assign(word=pd.Series(_words, dtype=object), day=pd.date_range("2020-01-01", periods=160))

LIGHT = {"n_estimators": 5, "num_leaves": 6, "verbose": -1, "n_jobs": 1}
_CAT = {"iterations": 5, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
_XGB = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1}
_HIST = {"max_iter": 5, "max_leaf_nodes": 6, "random_state": 0}
_SEEDED = {"n_estimators": 5, "random_state": 0}


def _of(library, name, **params):
    return lambda: getattr(pytest.importorskip(library), name)(**params)


def _steps(model):
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none", missing_values=None),
        OneHotEncoder(handle_unknown="ignore"),
    )
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer((words, ["word"]), (numbers, ["age", "größe", "dose"]))
    return make_pipeline(columns, model)


def _fitted(make, cls, X, y, **params):
    """A trusted model that is fitted with two folds."""
    return lambda: cls(make(), random_state=0, **{"cv": 2} | params).fit(X, y)


def _prefit(make, cls, X, y):
    def fitted():
        model = make()
        model = model.fit(X, y) if hasattr(model, "fit") else model
        return cls(model, prefit=True).fit(X, y).calibrate(X[:60], y[:60])

    return fitted


def _light():
    return pytest.importorskip("lightgbm").LGBMRegressor(**LIGHT)


def first_column(X):
    """A model that is a function."""
    return X[:, 0]


_R, _C = TrustedRegressor, TrustedClassifier
REGRESSORS = {
    "default": _fitted(lambda: None, _R, N, Y),
    "default on words": _fitted(lambda: None, _R, FRAME, Y),
    "histograms": _fitted(lambda: ensemble.HistGradientBoostingRegressor(**_HIST), _R, N, Y),
    "lightgbm": _fitted(_light, _R, N, Y),
    "lightgbm on words": _fitted(_light, _R, FRAME, Y),
    "xgboost": _fitted(_of("xgboost", "XGBRegressor", **_XGB), _R, N, Y),
    "catboost": _fitted(_of("catboost", "CatBoostRegressor", **_CAT), _R, N, Y),
    "forest": _fitted(
        lambda: ensemble.RandomForestRegressor(**_SEEDED), _R, N, Y, cv=KFold(2, shuffle=False)
    ),
    "bagging": _fitted(lambda: ensemble.BaggingRegressor(**_SEEDED), _R, N, Y),
    "line": _fitted(linear_model.Ridge, _R, N, Y),
    "scaled line": _fitted(lambda: make_pipeline(StandardScaler(), linear_model.Ridge()), _R, N, Y),
    "line on words": _fitted(lambda: _steps(linear_model.Ridge()), _R, FRAME, Y),
    "scaled trees": _fitted(lambda: make_pipeline(StandardScaler(), _light()), _R, N, Y),
    "prefit": _prefit(_light, _R, N, Y),
    "last step": lambda: pnml.make_pipeline(StandardScaler(), _R(_light(), cv=2)).fit(N, Y),
}
CLASSIFIERS = {
    "default classes": _fitted(
        lambda: ensemble.HistGradientBoostingClassifier(**_HIST), _C, N, THREE
    ),
    "lightgbm classes": _fitted(_of("lightgbm", "LGBMClassifier", **LIGHT), _C, FRAME, THREE),
    "xgboost classes": _fitted(
        _of("xgboost", "XGBClassifier", **_XGB), _C, N, (Y > 0).astype(np.int64)
    ),
    "catboost classes": _fitted(_of("catboost", "CatBoostClassifier", **_CAT), _C, N, THREE),
    "forest classes": _fitted(lambda: ensemble.RandomForestClassifier(**_SEEDED), _C, N, Y > 0),
    "logistic": _fitted(
        lambda: make_pipeline(StandardScaler(), linear_model.LogisticRegression()), _C, N, THREE
    ),
    "prefit classes": _prefit(_of("lightgbm", "LGBMClassifier", **LIGHT), _C, N, THREE),
}
# Models that a file holds by a fingerprint.
OTHERS = {
    "vectors": _fitted(svm.SVR, _R, N, Y),
    "vectors on words": _fitted(lambda: _steps(svm.SVR()), _R, FRAME, Y),
    "own objective": _fitted(
        lambda: _light().set_params(objective=lambda y, p: (p - y, np.ones_like(y))), _R, N, Y
    ),
    "function": _prefit(lambda: first_column, _R, N, Y),
    "prefit vectors": _prefit(svm.SVR, _R, N, Y),
    "neighbours": _fitted(_of("sklearn.neighbors", "KNeighborsClassifier"), _C, N, THREE),
}
WHOLE = REGRESSORS | CLASSIFIERS


@cache
def trusted(name):
    """A fitted model, and new rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries, about names of columns
        model = (WHOLE | OTHERS)[name]()
    return model, _new_frame() if "feature_names_in_" in vars(model) else _new_rows()


def _new_rows():
    X = N[:40].copy()
    X[3] *= 30
    X[5, 1] = 7.0
    return X


def _new_frame():
    X = FRAME.head(40).copy()
    X.loc[3, "word"] = "pink"
    X.loc[5, "age"] = 90.0
    X.loc[7, ["dose", "word"]] = None
    return X


def inside(model):
    """The fitted model of another library in a trusted one, or in the last step of a Pipeline."""
    last = model[-1] if hasattr(model, "steps") else model
    return last.estimator_
