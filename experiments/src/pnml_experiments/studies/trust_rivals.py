"""Scores of other methods for regression: which predictions of LightGBM not to trust."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.ensemble import IsolationForest, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from pnml.core.arrays import FloatArray
from pnml_experiments.studies.trust_scorers import (
    COVERAGE,
    LEVEL,
    Answering,
    Answers,
    Scorer,
    bootstraps,
    lightgbm,
    scaled,
)

_BAGS, _NEIGHBOURS, _GP_ROWS, _FOLDS, _VIRTUAL = 20, 10, 1_000, 5, 10
_TAIL = (1 - COVERAGE) / 2


def model_itself(X: FloatArray, y: FloatArray) -> Answering:
    """Predictions of the model whose errors all scores are to find."""
    model = lightgbm().fit(X, y)
    return lambda new: {"prediction": np.asarray(model.predict(new))}


def bagged_boosting(X: FloatArray, y: FloatArray) -> Answering:
    """Spread of LightGBM over bootstrapped training rows."""
    models = [lightgbm().fit(X[rows], y[rows]) for rows in bootstraps(len(X), _BAGS)]
    return lambda new: {"score": np.std([model.predict(new) for model in models], axis=0)}


def forest_variance(X: FloatArray, y: FloatArray) -> Answering:
    """Spread of the trees of a random forest."""
    forest = RandomForestRegressor(random_state=0).fit(X, y)
    return lambda new: {"score": np.std([tree.predict(new) for tree in forest], axis=0)}


def nearest(X: FloatArray, y: FloatArray) -> Answering:
    """Mean distance to the ten nearest training rows, columns in standard units.

    Rejects where it is beyond the quantile of the training rows, each left out.
    """
    scale = StandardScaler().fit(X)
    search = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(scale.transform(X))
    own = search.kneighbors()[0].mean(axis=1)
    most = np.quantile(own, LEVEL, method="inverted_cdf")

    def answer(new: FloatArray) -> Answers:
        score = search.kneighbors(scale.transform(new))[0].mean(axis=1)
        return {"score": score, "rejected": score > most}

    return answer


def _outliers(model: Any, X: FloatArray) -> Answering:
    """Score of an outlier detector of scikit-learn, and its own verdict."""
    detector = scaled(model).fit(X)
    return lambda new: {
        "score": -detector.score_samples(new),
        "rejected": detector.predict(new) < 0,
    }


def local_outliers(X: FloatArray, y: FloatArray) -> Answering:
    """Local outlier factor, columns in standard units."""
    return _outliers(LocalOutlierFactor(novelty=True), X)


def isolation_forest(X: FloatArray, y: FloatArray) -> Answering:
    """Isolation forest."""
    return _outliers(IsolationForest(random_state=0), X)


def mahalanobis(X: FloatArray, y: FloatArray) -> Answering:
    """Mahalanobis distance; rejects beyond the quantile of a Gaussian."""
    scale = StandardScaler().fit(X)
    model = EmpiricalCovariance().fit(scale.transform(X))
    most = chi2.ppf(LEVEL, np.linalg.matrix_rank(model.covariance_))

    def answer(new: FloatArray) -> Answers:
        score = model.mahalanobis(scale.transform(new))
        return {"score": score, "rejected": score > most}

    return answer


def gaussian_process(X: FloatArray, y: FloatArray) -> Answering:
    """Predictive std of a Gaussian process: RBF, noise, evidence, at most 1,000 rows."""
    kernel = ConstantKernel() * RBF(np.sqrt(X.shape[1])) + WhiteKernel(0.1)
    model = scaled(GaussianProcessRegressor(kernel, normalize_y=True))
    model.fit(X[:_GP_ROWS], y[:_GP_ROWS])
    return lambda new: {"score": model.predict(new, return_std=True)[1]}


def _parts(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Two thirds of the rows to fit, one third to calibrate, and their labels."""
    order = np.random.default_rng(0).permutation(len(X))
    held, rest = order[: len(X) // 3], order[len(X) // 3 :]
    return X[rest], y[rest], X[held], y[held]


def quantile_regression(X: FloatArray, y: FloatArray) -> Answering:
    """Conformalised quantile regression with LightGBM; its score is the width."""
    fit, labels, held, truth = _parts(X, y)
    ends = [
        lightgbm(objective="quantile", alpha=tail).fit(fit, labels) for tail in (_TAIL, 1 - _TAIL)
    ]

    def quantiles(new: FloatArray) -> FloatArray:
        found: FloatArray = np.sort(np.column_stack([end.predict(new) for end in ends]), axis=1)
        return found

    low, high = quantiles(held).T
    wider = _conformal(np.maximum(low - truth, truth - high))

    def answer(new: FloatArray) -> Answers:
        low, high = quantiles(new).T
        middle = (low + high) / 2
        half = np.maximum((high - low) / 2 + wider, 0.0)
        interval = np.column_stack([middle - half, middle + half])
        return {"score": high - low, "interval": interval}

    return answer


def _conformal(scores: FloatArray) -> float:
    """The quantile of calibration scores that covers one more row."""
    rank = int(np.ceil((len(scores) + 1) * COVERAGE))
    return float(np.sort(scores)[min(rank, len(scores)) - 1])


def split_conformal(X: FloatArray, y: FloatArray) -> Answering:
    """Constant width around LightGBM, from a third of the rows held back."""
    fit, labels, held, truth = _parts(X, y)
    model = lightgbm().fit(fit, labels)
    half = _conformal(np.abs(truth - model.predict(held)))

    def answer(new: FloatArray) -> Answers:
        mean = model.predict(new)
        return {"interval": np.column_stack([mean - half, mean + half])}

    return answer


def cross_conformal(X: FloatArray, y: FloatArray) -> Answering:
    """MAPIE's CV+ around LightGBM, five folds."""
    from mapie.regression import CrossConformalRegressor  # type: ignore[import-untyped]

    model = CrossConformalRegressor(
        lightgbm(), confidence_level=COVERAGE, method="plus", cv=_FOLDS, random_state=0
    ).fit_conformalize(X, y)
    return lambda new: {"interval": np.sort(model.predict_interval(new)[1][:, :, 0], axis=1)}


def natural_gradient(X: FloatArray, y: FloatArray) -> Answering:
    """NGBoost as it comes: std and interval of its normal distribution."""
    from ngboost import NGBRegressor  # type: ignore[import-untyped]
    from ngboost.learners import default_tree_learner  # type: ignore[import-untyped]

    # its own seed does not reach its trees, whose ties would be broken anew in each run
    tree = clone(default_tree_learner).set_params(random_state=0)
    model = NGBRegressor(Base=tree, verbose=False, random_state=0).fit(X, y)

    def answer(new: FloatArray) -> Answers:
        dist = model.pred_dist(new)
        ends = np.column_stack([dist.ppf(_TAIL), dist.ppf(1 - _TAIL)])
        return {"score": np.asarray(dist.params["scale"]), "interval": ends}

    return answer


def virtual_ensembles(X: FloatArray, y: FloatArray) -> Answering:
    """CatBoost's virtual ensembles: knowledge uncertainty, and knowledge plus data."""
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(
        loss_function="RMSEWithUncertainty",
        posterior_sampling=True,
        thread_count=1,
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
    ).fit(X, y)

    def answer(new: FloatArray) -> Answers:
        _, knowledge, data = model.virtual_ensembles_predict(
            new, "TotalUncertainty", virtual_ensembles_count=_VIRTUAL
        ).T
        return {"knowledge": knowledge, "total": knowledge + data}

    return answer


BAGGED, LOF, FOREST, KNN = "bagged boosting × 20", "LOF", "forest variance", "kNN-10 distance"
GP, MAHALANOBIS, CQR, NGBOOST = "Gaussian process", "Mahalanobis", "CQR", "NGBoost"
ISOLATION, BAGGED_LOF = "isolation forest", "bagged boosting × LOF"
SPLIT, CROSS, CATBOOST, MODEL = "split conformal", "CV+", "CatBoost", "LightGBM"
RIVALS: Mapping[str, Scorer] = {
    MODEL: Scorer(model_itself, "lightgbm"),
    BAGGED: Scorer(bagged_boosting, "lightgbm"),
    FOREST: Scorer(forest_variance),
    KNN: Scorer(nearest),
    LOF: Scorer(local_outliers),
    ISOLATION: Scorer(isolation_forest),
    MAHALANOBIS: Scorer(mahalanobis),
    GP: Scorer(gaussian_process),
    CQR: Scorer(quantile_regression, "lightgbm"),
    SPLIT: Scorer(split_conformal, "lightgbm"),
    CROSS: Scorer(cross_conformal, "mapie"),
    NGBOOST: Scorer(natural_gradient, "ngboost"),
    CATBOOST: Scorer(virtual_ensembles, "catboost"),
}
