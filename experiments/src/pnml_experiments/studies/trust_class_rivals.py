"""Scores of other methods for classes: which predictions of LightGBM not to trust."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import entr

from pnml.core.arrays import FloatArray
from pnml_experiments.studies.trust_rivals import (
    ISOLATION,
    KNN,
    LOF,
    MODEL,
    isolation_forest,
    local_outliers,
    nearest,
)
from pnml_experiments.studies.trust_scorers import (
    Answering,
    Answers,
    Scorer,
    bootstraps,
    lightgbm_classifier,
)

_BAGS = 20


def model_itself(X: FloatArray, y: FloatArray) -> Answering:
    """Class that the model predicts, and two scores of its probabilities."""
    model = lightgbm_classifier().fit(X, y)

    def answer(new: FloatArray) -> Answers:
        p = np.asarray(model.predict_proba(new))
        return {
            "prediction": model.classes_[p.argmax(axis=1)].astype(float),
            "max": 1 - p.max(axis=1),
            "entropy": entr(p).sum(axis=1),
        }

    return answer


def bagged_boosting(X: FloatArray, y: FloatArray) -> Answering:
    """Entropy of the mean probabilities of LightGBM over bootstrapped training rows."""
    classes = np.unique(y)
    models = [lightgbm_classifier().fit(X[rows], y[rows]) for rows in bootstraps(len(X), _BAGS)]

    def answer(new: FloatArray) -> Answers:
        p = np.mean([_of_classes(model, new, classes) for model in models], axis=0)
        return {"score": entr(p).sum(axis=1)}

    return answer


def _of_classes(model: Any, new: FloatArray, classes: FloatArray) -> FloatArray:
    """Probabilities (n, classes); a class that a draw of rows lacks has probability 0."""
    p = np.zeros((len(new), len(classes)))
    p[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(new)
    return p


MAX_PROBABILITY, ENTROPY = "1 − maximal probability", "entropy"
BAGGED_ENTROPY = "entropy of bagged boosting × 20"
CLASS_RIVALS: Mapping[str, Scorer] = {
    MODEL: Scorer(model_itself, "lightgbm"),
    BAGGED_ENTROPY: Scorer(bagged_boosting, "lightgbm"),
    KNN: Scorer(nearest),
    LOF: Scorer(local_outliers),
    ISOLATION: Scorer(isolation_forest),
}
