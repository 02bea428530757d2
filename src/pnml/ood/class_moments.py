"""Means of classes and covariances of features for detectors, summed batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.ood.network_features import Labels

# Directions with less than this share of the largest variance are taken for constant ones.
_FLAT = 1e-10


@dataclass(frozen=True)
class ClassMoments:
    """Means and scatter matrices of training features, by class and of all rows, for detectors.

    >>> rows, labels = np.array([[0.0], [2.0], [7.0]]), np.array([0, 0, 1])
    >>> moments = ClassMoments.of([(rows[:1], labels[:1]), (rows[1:], labels[1:])])
    >>> moments.means.ravel(), moments.mean, moments.within, moments.total.round(6)
    (array([1., 7.]), array([3.]), array([[2.]]), array([[26.]]))
    """

    n: int
    means: FloatArray  # (C, d)  μ_c of each class
    mean: FloatArray  # (d,)  μ of all rows
    within: FloatArray  # (d, d)  Σ (x − μ_y)(x − μ_y)ᵀ, with y the class of row x
    total: FloatArray  # (d, d)  Σ (x − μ)(x − μ)ᵀ

    @classmethod
    def of(cls, parts: Iterable[tuple[FloatArray, Labels]]) -> ClassMoments:
        """Moments of batches of features (n, d) and labels (n,), in one pass.

        At least one row is needed. Rows are moved by the mean of the first batch, so that sums of
        squares lose no digits to a mean that is large beside the spread.
        """
        origin: FloatArray | None = None
        counts: dict[Any, int] = {}
        sums: dict[Any, FloatArray] = {}
        squares: FloatArray | float = 0.0
        for features, labels in parts:
            origin = features.mean(axis=0) if origin is None else origin
            rows = features - origin
            squares = squares + rows.T @ rows
            for name in np.unique(labels):
                own = rows[labels == name]
                key = name.item()
                counts[key] = counts.get(key, 0) + len(own)
                sums[key] = sums.get(key, 0.0) + own.sum(axis=0)
        names = sorted(counts)
        n_c = np.array([counts[name] for name in names], dtype=np.float64)
        S = np.stack([sums[name] for name in names])
        n, s = n_c.sum(), S.sum(axis=0)
        within = squares - S.T @ (S / n_c[:, None])
        total = squares - np.outer(s, s) / n
        start = np.zeros(S.shape[1]) if origin is None else origin
        return cls(int(n), start + S / n_c[:, None], start + s / n, within, total)


def whitening(covariance: FloatArray) -> FloatArray:
    """Matrix L (d, r) for which L Lᵀ is the pseudo-inverse of the covariance (d, d) of features.

    Features times L have unit covariance. The r columns are the directions with variance; those
    without are left out, as a pseudo-inverse leaves them out.

    >>> whitening(np.diag([4.0, 0.0])).round(6) + 0.0
    array([[0.5],
           [0. ]])
    """
    values, V = np.linalg.eigh(covariance)
    keep = values > max(_FLAT * values[-1], 0.0)
    L = np.ascontiguousarray(V[:, keep] / np.sqrt(values[keep]))
    return np.asarray(L * np.where(L.sum(axis=0) < 0, -1.0, 1.0))
