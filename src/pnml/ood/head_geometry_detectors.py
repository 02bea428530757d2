"""FDBD and NCI: where features lie relative to the head's weights and the training mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.ood.feature_detector import FeatureDetector
from pnml.ood.network_features import LinearHead, Rows
from pnml.runtime.checks import check_number

_TINY = float(np.finfo(np.float64).tiny)


class FDBD(FeatureDetector):
    """Detector by features: distance to decision boundaries, relative to the mean. Eq. (O23).

    Liu and Qin 2024 (fDBD): the mean distance to the boundaries between the predicted class and the
    others, divided by the distance to the mean of the training features. No labels are needed.

    Parameters
    ----------
    model, layer, weight, bias
        As in `FeatureDetector`.

    Examples
    --------
    >>> import numpy as np
    >>> seen = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]])
    >>> detector = FDBD(weight=np.array([[1.0, 0.0], [0.0, 1.0]])).fit_features(seen)
    >>> detector.predict_features(np.array([[4.0, 0.0], [4.0, 3.9]])).round(3)
    array([-0.707, -0.013])
    """

    def _learn(self, rows: Iterator[Rows]) -> None:
        self.mean_ = mean_features(rows)
        self.head_ = self._head(len(self.mean_))
        if len(self.head_.weight) < 2:
            raise InputError(
                "The head has one output, and so there is no boundary between classes; pass a "
                "classifier of two classes or more."
            )
        self.apart_ = _distances_apart(self.head_.weight)

    @staticmethod
    def score(
        features: FloatArray, head: LinearHead, mean: FloatArray, apart: FloatArray
    ) -> FloatArray:
        """Outlier scores (n,): negative relative distances of features to boundaries. Eq. (O23).

        `features` are (n, d) and `mean` (d,) is that of training; `apart` (C, C) are the distances
        between the weights of two classes, infinite on the diagonal.
        """
        z = head.logits(features)
        named = z.argmax(axis=1)
        gaps = z[np.arange(len(z)), named][:, None] - z
        distance = np.sum(gaps / apart[named], axis=1) / (len(apart) - 1)
        spread = np.linalg.norm(features - mean, axis=1)
        return np.asarray(-distance / np.maximum(spread, _TINY))

    def _scores(self, features: FloatArray) -> FloatArray:
        return self.score(features, self.head_, self.mean_, self.apart_)


class NCI(FeatureDetector):
    """Detector by features: closeness to the predicted class's weights, and norm. Eq. (O24).

    Liu and Qin 2025, inspired by neural collapse: features of a trained class, minus the training
    mean, point along the weight of the class and are long. No labels are needed.

    Parameters
    ----------
    model, layer, weight, bias
        As in `FeatureDetector`.
    alpha : float, default=1e-4
        Weight of the norm. The authors choose among 1e-4, 1e-3, 1e-2 and 1e-1 with outliers.

    Examples
    --------
    >>> import numpy as np
    >>> seen = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]])
    >>> detector = NCI(weight=np.array([[1.0, 0.0], [0.0, 1.0]])).fit_features(seen)
    >>> detector.predict_features(np.array([[4.0, 0.0], [4.0, 3.9]])).round(3)
    array([-1.   , -0.717])
    """

    def __init__(
        self,
        model: Any = None,
        layer: Any = None,
        *,
        weight: Any = None,
        bias: Any = None,
        alpha: float = 1e-4,
    ) -> None:
        super().__init__(model, layer, weight=weight, bias=bias)
        self.alpha = check_number("alpha", alpha, 0.0)

    def _learn(self, rows: Iterator[Rows]) -> None:
        self.mean_ = mean_features(rows)
        self.head_ = self._head(len(self.mean_))

    @staticmethod
    def score(features: FloatArray, head: LinearHead, mean: FloatArray, alpha: float) -> FloatArray:
        """Outlier scores (n,): negative closeness to the weights, minus alpha × norm. Eq. (O24).

        Closeness is the product of the predicted class's weight with the direction of features (n,
        d) minus `mean` (d,), that of training; the norm is the sum of absolute features.
        """
        named = head.logits(features).argmax(axis=1)
        moved = features - mean
        along = np.einsum("nd,nd->n", head.weight[named], moved)
        nearness = along / np.maximum(np.linalg.norm(moved, axis=1), _TINY)
        return np.asarray(-nearness - alpha * np.abs(features).sum(axis=1))

    def _scores(self, features: FloatArray) -> FloatArray:
        return self.score(features, self.head_, self.mean_, self.alpha)


def mean_features(rows: Iterator[Rows]) -> FloatArray:
    """Mean (d,) of the features of all training rows of a detector."""
    total: Any = 0.0
    n = 0
    for part in rows:
        total = total + part.features.sum(axis=0)
        n += len(part.features)
    return np.asarray(total / max(n, 1))


def _distances_apart(weight: FloatArray) -> FloatArray:
    """Distances (C, C) of weights; infinite where there is no boundary: same class, or equal."""
    apart = np.stack([np.linalg.norm(weight - row, axis=1) for row in weight])
    return np.where(apart > 0, apart, np.inf)
