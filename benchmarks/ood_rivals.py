"""Other detectors from features, a few lines each, and the bare products that no score avoids.

Each is made of training rows, their labels and the last layer, and gives outlier scores of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, softmax
from sklearn.neighbors import NearestNeighbors

from benchmarks.timing import FloatArray

Scores = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Trained:
    """What a detector may be made of."""

    X: FloatArray  # (n, d)  training features
    y: npt.NDArray[np.intp]  # (n,)
    weight: FloatArray  # (C, d)
    bias: FloatArray  # (C,)

    def logits(self, X: FloatArray) -> FloatArray:
        return X @ self.weight.T + self.bias


def gen(made: Trained, gamma: float = 0.1, most: int = 100) -> Scores:
    """Generalised entropy of the most probable classes."""

    def scores(X: FloatArray) -> FloatArray:
        p = np.sort(softmax(made.logits(X), axis=1), axis=1)[:, -most:]
        return np.sum(p**gamma * (1 - p) ** gamma, axis=1)

    return scores


def mahalanobis(made: Trained) -> Scores:
    """Distance to the nearest class mean in the metric of the covariance within classes."""
    means = _means(made)
    L = _whiten(made.X - means[made.y])
    centres = means @ L
    return lambda X: _nearest(X @ L, centres)


def mahalanobis_by_class(made: Trained) -> Scores:
    """The same, one product for each class, as it is usually written."""
    means = _means(made)
    P = np.linalg.pinv(np.cov((made.X - means[made.y]).T, bias=True))

    def scores(X: FloatArray) -> FloatArray:
        every = [np.einsum("nd,nd->n", (X - m) @ P, X - m) for m in means]
        return np.min(every, axis=0)

    return scores


def relative_mahalanobis(made: Trained) -> Scores:
    """Mahalanobis distance less that to the mean of all rows in the metric of all rows."""
    inner, mean = mahalanobis(made), made.X.mean(axis=0)
    L = _whiten(made.X - mean)
    return lambda X: inner(X) - np.sum(((X - mean) @ L) ** 2, axis=1)


def knn(made: Trained, k: int = 50) -> Scores:
    """Distance to the k-th nearest training row on the unit sphere."""
    index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(_unit(made.X))
    return lambda X: index.kneighbors(_unit(X))[0][:, -1]


def vim(made: Trained) -> Scores:
    """Virtual-logit matching: what lies outside the principal directions, against the energy."""
    d = made.X.shape[1]
    kept = 1000 if d >= 2048 else 512 if d >= 768 else d // 2
    origin = -np.linalg.pinv(made.weight) @ made.bias
    rows = made.X - origin
    _, V = np.linalg.eigh(rows.T @ rows)
    rest = V[:, : d - kept]
    factor = made.logits(made.X).max(axis=1).mean() / np.linalg.norm(rows @ rest, axis=1).mean()

    def scores(X: FloatArray) -> FloatArray:
        outside = np.linalg.norm((X - origin) @ rest, axis=1)
        return factor * outside - logsumexp(made.logits(X), axis=1)

    return scores


def energy(made: Trained) -> Scores:
    """Free energy of the logits."""
    return lambda X: -logsumexp(made.logits(X), axis=1)


def published_regret(made: Trained) -> Scores:
    """The regret as published: float32, a pseudo-inverse, and nothing for unseen directions."""
    Z = _unit(made.X).astype(np.float32)
    P = np.linalg.pinv(Z.T @ Z, rcond=1e-15, hermitian=True)
    W, b = made.weight.astype(np.float32), made.bias.astype(np.float32)

    def scores(X: FloatArray) -> FloatArray:
        Z = _unit(X).astype(np.float32)
        kappa = np.einsum("nd,nd->n", Z @ P, Z)[:, None]
        pull = kappa / (1 + kappa)
        p = softmax(Z @ W.T + b, axis=1)
        with np.errstate(all="ignore"):
            found = np.log(np.sum(p / (p + p**pull * (1 - p)), axis=1)) / np.log(p.shape[1])
        return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)

    return scores


def bare_products(X: FloatArray, square: FloatArray, weight: FloatArray) -> FloatArray:
    """One product with a square matrix, and one softmax of logits: what any score costs."""
    X @ square
    return softmax(X @ weight.T, axis=1)


def bare_gram(parts: list[FloatArray]) -> FloatArray:
    """XᵀX of the same chunks in float64."""
    total = np.zeros((parts[0].shape[1],) * 2)
    for part in parts:
        rows = part.astype(np.float64, copy=False)
        total += rows.T @ rows
    return total


def bare_gram_and_labels(parts: list[FloatArray], weight: FloatArray) -> FloatArray:
    """The same beside the predicted class of every row, which its region is."""
    for part in parts:
        (part.astype(np.float64, copy=False) @ weight.T).argmax(axis=1)
    return bare_gram(parts)


def _means(made: Trained) -> FloatArray:
    return np.stack([made.X[made.y == c].mean(axis=0) for c in range(len(made.bias))])


def _whiten(rows: FloatArray) -> FloatArray:
    """Matrix whose columns take rows to unit covariance; directions without any are left out."""
    h2, V = np.linalg.eigh(rows.T @ rows / len(rows))
    keep = h2 > 1e-10 * h2[-1]
    return np.ascontiguousarray(V[:, keep] / np.sqrt(h2[keep]))


def _nearest(Y: FloatArray, centres: FloatArray) -> FloatArray:
    squares = np.sum(centres**2, axis=1) - 2 * Y @ centres.T
    return np.einsum("nd,nd->n", Y, Y) + squares.min(axis=1)


def _unit(X: FloatArray) -> FloatArray:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
