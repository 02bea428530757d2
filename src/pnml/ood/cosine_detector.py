"""CosineSimilarity: the angle between features and the directions of the classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, device

from pnml.core.arrays import Array
from pnml.errors import InputError
from pnml.ood.detector import FeatureScoreDetector
from pnml.ood.network_logits import Model, as_numpy, logits_of


class CosineSimilarity(FeatureScoreDetector):
    """Detector by cosine: features that point along no class's direction are outliers. Eq. (O16).

    Parameters
    ----------
    directions : array or tensor of shape (C, d)
        One direction for each class: the weight of the last layer. `of_class_means` uses the means
        of training features instead.
    features : network or callable, optional
        Computes features (n, d) from inputs; not needed if features are given.

    Examples
    --------
    >>> import numpy as np
    >>> detector = CosineSimilarity(np.eye(3)[:2])
    >>> rows = np.array([[9.0, 0.0, 0.0], [3.0, 0.0, 4.0], [0.0, 0.0, 1.0]])
    >>> detector.predict_features(rows).round(6) + 0.0
    array([-1. , -0.6,  0. ])
    """

    def __init__(self, directions: Any, features: Model | None = None) -> None:
        self.directions = as_numpy(directions)
        self.features = features
        if self.directions.ndim != 2 or not np.all(np.isfinite(self.directions)):
            raise InputError(
                f"The directions have shape {self.directions.shape}, or numbers that are not "
                "finite; pass one finite row for each class, as the weight of the last layer is."
            )

    @classmethod
    def of_class_means(cls, rows: Any, labels: Any, features: Model | None = None) -> Self:
        """A detector whose directions are the class means of training features (n, d).

        `rows` are these features, `labels` (n,) their classes; `features` is as in the constructor.

        >>> import numpy as np
        >>> rows = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]])
        >>> CosineSimilarity.of_class_means(rows, [0, 0, 1]).directions
        array([[2., 0.],
               [0., 2.]])
        """
        rows, classes = as_numpy(rows), np.asarray(labels)
        if rows.ndim != 2 or classes.shape != rows.shape[:1] or not len(rows):
            raise InputError(
                f"The features have shape {rows.shape} and the labels {classes.shape}, but (n, d) "
                "and (n,) with n > 0 are needed; pass one label for each row."
            )
        means = [rows[classes == name].mean(axis=0) for name in np.unique(classes)]
        return cls(np.stack(means), features)

    @staticmethod
    def score(features: Array, directions: Array) -> Array:
        """Outlier scores (n,): minus the largest cosine of features with directions. Eq. (O16).

        Features are (n, d), directions (C, d), one for each class.
        """
        return -array_namespace(features).max(_unit(features) @ _unit(directions).T, axis=-1)

    def predict(self, x: Any) -> Array:
        """Outlier scores (n,) of inputs; high means out-of-distribution."""
        return self.predict_features(logits_of(self.features, x))

    def predict_features(self, features: Array) -> Array:
        """Outlier scores (n,) of features (n, d); high means out-of-distribution."""
        xp, width = array_namespace(features), self.directions.shape[1]
        if features.shape[-1] != width:
            raise InputError(
                f"The features have {features.shape[-1]} columns, but the directions have {width}; "
                "pass what the last layer sees."
            )
        return self.score(features, xp.asarray(self.directions, device=device(features)))


def _unit(rows: Array) -> Array:
    """Rows of length 1 in float64; a row of zeros stays a row of zeros."""
    xp = array_namespace(rows)
    rows = xp.astype(rows, xp.float64)
    # divide by the largest entry first, so that no square overflows or vanishes
    rows = rows / _or_one(xp.max(xp.abs(rows), axis=-1, keepdims=True))
    return rows / _or_one(xp.sqrt(xp.sum(rows * rows, axis=-1, keepdims=True)))


def _or_one(lengths: Array) -> Array:
    xp = array_namespace(lengths)
    return xp.where(lengths > 0, lengths, xp.ones_like(lengths))
