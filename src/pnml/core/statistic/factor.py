"""Triangular factor of rows in memory: more accurate than a Gram.

XᵀX squares the condition number of X; R with RᵀR = XᵀX does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.linalg import lapack

from pnml.core.arrays import FloatArray
from pnml.core.conditions import COUNT, NOT_NEGATIVE, OF_ROWS
from pnml.core.statistic.gram import Gram, counted_rows
from pnml.core.statistic.row_sample import RowSample

# Blocks this high stay in cache; higher ones made the factorisation slower.
_BLOCK_ROWS = 1000


@dataclass(frozen=True)
class Factor:
    """Triangular factor R of centred rows [X Y]: RᵀR is their matrix of second moments. Eq. (S1).

    X are d features and Y are k targets; `of` makes it from rows in memory.
    """

    rows: Annotated[int, COUNT]
    weight: Annotated[float, NOT_NEGATIVE]
    x_mean: Annotated[FloatArray, "d", OF_ROWS]
    y_mean: Annotated[FloatArray, "k", OF_ROWS]
    rounding: Annotated[float, NOT_NEGATIVE]  # relative round-off of the rows as they came
    whole: bool  # whether every row counts as at least one copy of itself
    R: Annotated[FloatArray, "q d+k"]  # upper triangular, RᵀR = Σ w [x−x̄, y−ȳ][x−x̄, y−ȳ]ᵀ

    @classmethod
    def of(
        cls, X: FloatArray, Y: FloatArray | None = None, weights: FloatArray | None = None
    ) -> Factor:
        """The Factor of rows X (n, d) with targets Y (n,) or (n, k) and weights (n,)."""
        X, Y, weights = counted_rows(X, Y, weights)
        total = float(len(X)) if weights is None else float(weights.sum())
        if weights is None:
            x_mean, y_mean = X.mean(axis=0, dtype=float), Y.mean(axis=0)
        else:
            x_mean, y_mean = weights @ X / total, weights @ Y / total
        d, k = X.shape[1], Y.shape[1]
        R = np.zeros((0, d + k))
        step = max(_BLOCK_ROWS, 4 * (d + k))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            height = len(R) + len(X[part])
            block = np.empty((height, d + k), order="F")  # LAPACK's order
            block[: len(R)] = R
            fresh = block[len(R) :]
            np.subtract(X[part], x_mean, out=fresh[:, :d])
            np.subtract(Y[part], y_mean, out=fresh[:, d:])
            if weights is not None:
                fresh *= np.sqrt(weights[part])[:, None]
            R = _triangle(block)
        whole = weights is None or bool(np.all(weights >= 1))
        return cls(len(X), total, x_mean, y_mean, float(np.finfo(X.dtype).eps), whole, R)

    def __add__(self, other: Factor) -> Factor:
        """The Factor of the rows of both operands. Eq. (G2)."""
        weight = self.weight + other.weight
        share = other.weight / weight
        dx, dy = other.x_mean - self.x_mean, other.y_mean - self.y_mean
        moved = np.sqrt(self.weight * share) * np.concatenate([dx, dy])
        return Factor(
            self.rows + other.rows,
            weight,
            self.x_mean + share * dx,
            self.y_mean + share * dy,
            max(self.rounding, other.rounding),
            self.whole and other.whole,
            _triangle(np.asfortranarray(np.vstack([self.R, other.R, moved]))),
        )

    def gram(self, sample: RowSample) -> Gram:
        """The Gram (means and second moments) of the same rows, to which further rows can be added.

        `sample` is the sample of the rows that the Gram keeps.
        """
        d = len(self.x_mean)
        S = self.R.T @ self.R
        return Gram(
            self.rows,
            self.weight,
            self.x_mean,
            self.y_mean,
            self.rounding,
            self.whole,
            S[:d, :d],
            S[:d, d:],
            S[d:, d:],
            sample,
        )


def _triangle(block: FloatArray) -> FloatArray:
    """R of a Householder QR; overwrites the block."""
    lwork = 64 * block.shape[1]
    qr = lapack.dgeqrf(block, lwork=lwork, overwrite_a=1)[0]
    return np.triu(qr[: min(qr.shape)])
