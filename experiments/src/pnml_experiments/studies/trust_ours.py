"""Scores of this package for the trust study, and the parts that they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

import pnml
from pnml import KernelPNMLRegressor, PNMLRegressor, TrustedRegressor
from pnml.core.arrays import FloatArray
from pnml_experiments.framework.code import Code, Name
from pnml_experiments.studies.trust_scorers import (
    COVERAGE,
    LEVEL,
    Answering,
    Answers,
    Scorer,
    lightgbm,
    lightgbm_classifier,
    scaled,
)

# Of this study's own local noise: folds, and rows by which the mean of a leaf is shrunk.
_FOLDS, _SHRINK = 5, 5.0


def trusted_boosting(X: FloatArray, y: FloatArray) -> Answering:
    """TrustedRegressor around LightGBM."""
    model = TrustedRegressor(lightgbm(), random_state=0).fit(X, y)
    return lambda new: {
        "regret": model.regret(new),
        "expected": model.expected_error(new),
        "rejected": ~np.asarray(model.trusted(new, level=LEVEL)),
        "interval": model.predict_interval(new, coverage=COVERAGE),
    }


def linear(X: FloatArray, y: FloatArray) -> Answering:
    """Least squares with the penalty by leave-one-out."""
    return _regret(PNMLRegressor(alpha="loo"), X, y)


def kernel(X: FloatArray, y: FloatArray) -> Answering:
    """Kernel regression."""
    return _regret(KernelPNMLRegressor(), X, y)


def _regret(model: Any, X: FloatArray, y: FloatArray) -> Answering:
    """Regret of a learner on columns in standard units, its verdict and its intervals."""
    pipe = scaled(model).fit(X, y)
    scale, fitted = pipe[0], pipe[-1]

    def answer(new: FloatArray) -> Answers:
        rows = scale.transform(new)
        return {
            "score": fitted.regret(rows),
            "rejected": ~np.asarray(fitted.trusted(rows, level=LEVEL)),
            "interval": fitted.predict_interval(rows, COVERAGE),
        }

    return answer


def parts(X: FloatArray, y: FloatArray) -> Answering:
    """From their definitions: share of trees whose cell a row leaves, and noise of its leaves."""
    model = lightgbm().fit(X, y)
    leaf = _leaves(model, X)
    count = int(leaf.max()) + 1
    trees = range(leaf.shape[1])
    errors = np.abs(_out_of_fold(X, y))
    low = np.full((len(trees), count, X.shape[1]), np.inf)
    high = np.full_like(low, -np.inf)
    noise = np.zeros((len(trees), count))
    for t in trees:
        np.minimum.at(low[t], leaf[:, t], X)
        np.maximum.at(high[t], leaf[:, t], X)
        total = np.bincount(leaf[:, t], errors, count) + _SHRINK * errors.mean()
        noise[t] = total / (np.bincount(leaf[:, t], minlength=count) + _SHRINK)

    def answer(new: FloatArray) -> Answers:
        at = _leaves(model, new)
        outside = [np.any((new < low[t, at[:, t]]) | (new > high[t, at[:, t]]), 1) for t in trees]
        local = [noise[t, at[:, t]] for t in trees]
        return {"cells": np.mean(outside, axis=0), "noise": np.mean(local, axis=0)}

    return answer


def _leaves(model: Any, X: FloatArray) -> Any:
    """Leaf of each row in each tree (n, trees)."""
    return np.asarray(model.predict(X, pred_leaf=True), dtype=int).reshape(len(X), -1)


def _out_of_fold(X: FloatArray, y: FloatArray) -> FloatArray:
    """Errors of LightGBM on rows that it was not trained on."""
    errors = np.empty(len(y))
    for rest, held in KFold(_FOLDS, shuffle=True, random_state=0).split(X):
        errors[held] = y[held] - lightgbm().fit(X[rest], y[rest]).predict(X[held])
    return errors


def trusted_classes(X: FloatArray, y: FloatArray) -> Answering:
    """TrustedClassifier around LightGBM."""
    wrapper: Any = getattr(pnml, TRUSTED_CLASSES)
    model = wrapper(lightgbm_classifier(), random_state=0).fit(X, y)
    return lambda new: {
        "regret": model.regret(new),
        "expected": model.expected_error(new),
        "rejected": ~np.asarray(model.trusted(new, level=LEVEL)),
    }


REGRET, EXPECTED = "regret", "expected error"
LINEAR, KERNEL, CELLS, NOISE = "linear pNML", "kernel pNML", "cells alone", "leaf noise alone"
TRUSTED, PARTS = "TrustedRegressor", "parts"
OURS: Mapping[str, Scorer] = {
    TRUSTED: Scorer(trusted_boosting, "lightgbm"),
    LINEAR: Scorer(linear),
    KERNEL: Scorer(kernel),
    PARTS: Scorer(parts, "lightgbm"),
}
TRUSTED_CLASSES = "TrustedClassifier"
CLASS_OURS: Mapping[str, Scorer] = (
    {TRUSTED_CLASSES: Scorer(trusted_classes, "lightgbm")} if hasattr(pnml, TRUSTED_CLASSES) else {}
)


@cache
def own_code() -> str:
    """Digest of this package's code behind the scores, so that only a change of it counts."""
    folder = Path(pnml.__file__).parent
    classes = [TrustedRegressor, PNMLRegressor, KernelPNMLRegressor]
    classes += [getattr(pnml, name) for name in CLASS_OURS]
    names = [Name(one.__module__, one.__name__) for one in classes]
    return Code(folder, "pnml").digest(*names)
