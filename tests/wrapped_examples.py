"""Fitted models of other libraries, small, with the rows that they take."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn import dummy, ensemble, linear_model, svm, tree

from pnml import KernelPNMLRegressor

_rng = np.random.default_rng(0)
N = _rng.normal(size=(120, 4))
GAPS = np.where(_rng.random(N.shape) < 0.1, np.nan, N)
Y = N[:, 0] + 0.1 * _rng.normal(size=120)
THREE = np.array(["low", "mid", "größer"])[_rng.integers(0, 3, 120)]
TWO = np.array(["no", "yes"])[(Y > 0).astype(int)]
NUMBERS = _rng.integers(0, 3, 120)
_words = np.where(_rng.random(120) < 0.1, None, _rng.choice(["red", "green", "blue"], 120))
FRAME = pd.DataFrame(GAPS, columns=["age", "größe", "dose", "hour"]).assign(
    word=pd.Categorical(_words), code=pd.Categorical(_rng.choice([1, 5, 7], 120))
)
WORDS = FRAME.assign(word=FRAME.word.astype(object).fillna("none"), code=FRAME.code.astype(int))
Y_FRAME = Y + 3.0 * (FRAME.code == 5) + 2.0 * (FRAME.word == "red")

_LIGHT = {"n_estimators": 6, "num_leaves": 6, "verbose": -1}
_SORTED = _LIGHT | {"min_data_per_group": 5, "cat_smooth": 1, "max_cat_to_onehot": 1}
_CAT = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False}
_CAT_WORDS = _CAT | {"cat_features": ["word", "code"]}


def _light(name, X, y, **params):
    return lambda: (getattr(pytest.importorskip("lightgbm"), name)(**_LIGHT | params).fit(X, y), X)


def _light_booster():
    return pytest.importorskip("lightgbm").LGBMRegressor(**_SORTED).fit(FRAME, Y_FRAME).booster_


def _light_stopped():
    lightgbm = pytest.importorskip("lightgbm")
    stop = lightgbm.early_stopping(2, verbose=False)
    model = lightgbm.LGBMRegressor(**_LIGHT | {"n_estimators": 30})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a deprecated argument, whose new name is new
        return model.fit(N, Y, eval_set=[(N[:40], N[:40, 1])], callbacks=[stop])


def _extreme(name, X, y, **params):
    usual = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1}
    return lambda: (getattr(pytest.importorskip("xgboost"), name)(**usual | params).fit(X, y), X)


def _extreme_stopped():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=30, early_stopping_rounds=2, n_jobs=1)
    return model.fit(N, Y, eval_set=[(N[:40], N[:40, 1])], verbose=False)


def _cat(name, X, y, **params):
    def fitted():
        return getattr(pytest.importorskip("catboost"), name)(**_CAT | params).fit(X, y), X

    return fitted


def _scikit(cls, X, y, **params):
    def fitted():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of defaults that will change
            return cls(**params).fit(X, y), X

    return fitted


def _seeded(cls, X, y, **params):
    return _scikit(cls, X, y, random_state=0, **params)


LIBRARIES = {
    "lightgbm": _light("LGBMRegressor", FRAME, Y_FRAME, **_SORTED),
    "lightgbm gaps": _light("LGBMRegressor", GAPS, Y, objective="quantile", alpha=0.3),
    "lightgbm two classes": _light("LGBMClassifier", FRAME, TWO),
    "lightgbm three classes": _light("LGBMClassifier", GAPS, THREE),
    "lightgbm linear": _light("LGBMRegressor", N, Y, linear_tree=True),
    "lightgbm forest": _light(
        "LGBMRegressor", N, Y, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5
    ),
    "lightgbm booster": lambda: (_light_booster(), FRAME),
    "lightgbm stopped": lambda: (_light_stopped(), N),
    "xgboost": _extreme(
        "XGBRegressor", FRAME, Y_FRAME, enable_categorical=True, max_cat_to_onehot=1
    ),
    "xgboost gaps": _extreme("XGBRegressor", GAPS, Y, booster="dart"),
    "xgboost two classes": _extreme("XGBClassifier", GAPS, (Y > 0).astype(int)),
    "xgboost three classes": _extreme("XGBClassifier", FRAME, NUMBERS, enable_categorical=True),
    "xgboost linear": _extreme("XGBRegressor", N, Y, booster="gblinear", max_depth=None),
    "xgboost forest": _extreme("XGBRFRegressor", N, Y),
    "xgboost stopped": lambda: (_extreme_stopped(), N),
    "catboost": _cat("CatBoostRegressor", WORDS, Y_FRAME, **_CAT_WORDS),
    "catboost gaps": _cat("CatBoostRegressor", GAPS, Y),
    "catboost two classes": _cat("CatBoostClassifier", GAPS, TWO),
    "catboost three classes": _cat("CatBoostClassifier", WORDS, THREE, **_CAT_WORDS),
    "catboost grown": _cat(
        "CatBoostRegressor", WORDS, Y_FRAME, grow_policy="Lossguide", **_CAT_WORDS
    ),
}
TREES = {
    "tree": _seeded(tree.DecisionTreeRegressor, GAPS, Y),
    "random tree": _seeded(tree.ExtraTreeClassifier, N, THREE),
    "tree of classes": _seeded(tree.DecisionTreeClassifier, GAPS, THREE, max_leaf_nodes=9),
    "forest": _seeded(ensemble.RandomForestRegressor, GAPS, Y, n_estimators=4),
    "forest of classes": _seeded(ensemble.RandomForestClassifier, N, THREE, n_estimators=4),
    "extra trees": _seeded(ensemble.ExtraTreesRegressor, N, Y, n_estimators=4),
    "extra trees of classes": _seeded(ensemble.ExtraTreesClassifier, N, TWO, n_estimators=4),
    "several targets": _seeded(ensemble.RandomForestRegressor, N, N[:, :2], n_estimators=3),
    "boosting": _seeded(ensemble.GradientBoostingRegressor, N, Y, n_estimators=4),
    "boosting of medians": _seeded(
        ensemble.GradientBoostingRegressor, N, Y, n_estimators=4, loss="huber"
    ),
    "boosting from zero": _seeded(
        ensemble.GradientBoostingRegressor, N, Y, n_estimators=4, init="zero"
    ),
    "boosting of classes": _seeded(ensemble.GradientBoostingClassifier, N, THREE, n_estimators=4),
    "exponential boosting": _seeded(
        ensemble.GradientBoostingClassifier, N, TWO, n_estimators=4, loss="exponential"
    ),
    "histograms": _seeded(
        ensemble.HistGradientBoostingRegressor, FRAME, Y_FRAME, max_iter=5, max_leaf_nodes=8
    ),
    "histograms with gaps": _seeded(
        ensemble.HistGradientBoostingRegressor, GAPS, Y, max_iter=5, loss="quantile", quantile=0.3
    ),
    "histograms of classes": _seeded(
        ensemble.HistGradientBoostingClassifier, FRAME, THREE, max_iter=3
    ),
    "histograms of counts": _seeded(
        ensemble.HistGradientBoostingRegressor,
        np.column_stack([N, NUMBERS]),
        np.abs(Y),
        max_iter=5,
        loss="poisson",
        categorical_features=[4],
    ),
    "bagging": _seeded(ensemble.BaggingRegressor, GAPS, Y, n_estimators=3),
    "bagging of classes": _seeded(
        ensemble.BaggingClassifier, GAPS, THREE, n_estimators=3, max_features=0.5
    ),
    "bagging of lines": _seeded(
        ensemble.BaggingRegressor, N, Y, n_estimators=3, estimator=linear_model.Ridge()
    ),
    "adaptive": _seeded(ensemble.AdaBoostRegressor, N, Y, n_estimators=3),
    "adaptive classes": _seeded(ensemble.AdaBoostClassifier, N, THREE, n_estimators=3),
}
LINEAR = {
    cls.__name__: _scikit(cls, N, np.abs(Y) + 0.1)
    for cls in (
        dummy.DummyRegressor,
        linear_model.ARDRegression,
        linear_model.BayesianRidge,
        linear_model.ElasticNet,
        linear_model.ElasticNetCV,
        linear_model.GammaRegressor,
        linear_model.HuberRegressor,
        linear_model.Lars,
        linear_model.LarsCV,
        linear_model.Lasso,
        linear_model.LassoCV,
        linear_model.LassoLars,
        linear_model.LassoLarsCV,
        linear_model.LassoLarsIC,
        linear_model.LinearRegression,
        linear_model.OrthogonalMatchingPursuit,
        linear_model.OrthogonalMatchingPursuitCV,
        linear_model.PoissonRegressor,
        linear_model.QuantileRegressor,
        linear_model.Ridge,
        linear_model.RidgeCV,
        linear_model.SGDRegressor,
        linear_model.TheilSenRegressor,
        linear_model.TweedieRegressor,
        svm.LinearSVR,
    )
} | {
    f"{cls.__name__} of {len(set(labels))}": _scikit(cls, N, labels)
    for cls in (
        dummy.DummyClassifier,
        linear_model.LogisticRegression,
        linear_model.Perceptron,
        linear_model.RidgeClassifier,
        linear_model.RidgeClassifierCV,
        linear_model.SGDClassifier,
        svm.LinearSVC,
    )
    for labels in (TWO, THREE)
}
LINEAR["LogisticRegressionCV"] = _scikit(linear_model.LogisticRegressionCV, N, THREE, cv=2)
LINEAR["probabilities by SGD"] = _scikit(linear_model.SGDClassifier, N, THREE, loss="log_loss")
LINEAR["float32"] = _scikit(linear_model.Ridge, N.astype(np.float32), Y.astype(np.float32))
MODELS = LIBRARIES | TREES | LINEAR


@cache
def example(name):
    """A fitted model and its rows."""
    return MODELS[name]()


def carrier(value):
    """A fitted model of ours that carries a value along."""
    model = KernelPNMLRegressor(alpha=1.0, noise_variance=1.0)
    return model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0]).set_params(kernel_params={"m": value})
