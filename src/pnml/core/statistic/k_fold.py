"""K-fold errors of ridge regression on a whole path of penalties, from Grams alone.

Rows are counted fold by fold. The fit without a fold comes from the sum of the other folds, and
its errors on the fold from the fold's own Gram: each row is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import Path
from pnml.core.statistic.gram import Gram


@dataclass(frozen=True)
class KFold:
    """Squared errors on each of K folds by ridge fits to the others, L penalties. Eq. (B22)."""

    alphas: FloatArray  # (L,)
    squares: FloatArray  # (K, L)  Σ w (y − prediction without the fold)²
    weights: FloatArray  # (K,)  of the rows of each fold

    @property
    def mean_squares(self) -> FloatArray:
        """Mean squared error (L,) at each penalty, over the rows of all folds."""
        means: FloatArray = self.squares.sum(axis=0) / self.weights.sum()
        return means

    @property
    def standard_errors(self) -> FloatArray:
        """Standard error (L,) of `mean_squares` at each penalty, from how the folds differ."""
        folds, share = len(self.weights), self.weights / self.weights.sum()
        errors = self.squares / self.weights[:, None] - self.mean_squares
        errors_of_mean: FloatArray = np.sqrt(folds / max(folds - 1, 1) * (share**2 @ errors**2))
        return errors_of_mean

    def path(self, floor: float) -> Path:
        """Mean log-loss and noise variance of the ridge fits at each of the L penalties.

        The noise variance is the mean squared error, but at least `floor`; losses are in nats.
        """
        squares = self.mean_squares
        noise = np.maximum(squares, floor)
        return Path(self.alphas, noise, 0.5 * (np.log(2 * np.pi * noise) + squares / noise))


def without_each(folds: Sequence[Gram]) -> list[Gram]:
    """For each fold the Gram of all other folds, as a list; needs two folds or more. Eq. (B21).

    Nothing is subtracted, so nothing cancels.

    >>> parts = [Gram.of(np.array([[x]]), np.array([x])) for x in (1.0, 2.0, 4.0)]
    >>> [float(rest.x_mean[0]) for rest in without_each(parts)]
    [3.0, 2.5, 1.5]
    """
    before = list(accumulate(folds, add))
    after = list(accumulate(reversed(folds), add))[::-1]
    inner = (b + a for b, a in zip(before[:-2], after[2:], strict=True))
    return [after[1], *inner, before[-2]]


def k_fold(folds: Sequence[Gram], alphas: FloatArray, *, intercept: bool) -> KFold:
    """Squared errors on each fold by ridge fits to the other folds, at penalties (L,). Eq. (B22).

    `folds` are Grams (means and second moments) of the rows of each fold.

    >>> X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 4.0, 8.0])
    >>> halves = [Gram.of(X[:3], y[:3]), Gram.of(X[3:], y[3:])]
    >>> k_fold(halves, np.array([0.0, 1e9]), intercept=True).squares.round(2)
    array([[41.25, 50.  ],
           [ 9.  , 62.  ]])
    """
    fits = (
        Spectrum.of_gram(rest, intercept=intercept, unit_columns=False)
        for rest in without_each(folds)
    )
    squares = [squared_errors(*pair, alphas) for pair in zip(folds, fits, strict=True)]
    return KFold(alphas, np.stack(squares), np.array([fold.weight for fold in folds]))


def squared_errors(gram: Gram, spectrum: Spectrum, alphas: FloatArray) -> FloatArray:
    """Sums (L,) of w (y − prediction)² over the rows of a Gram, by ridge fits at `alphas` (L,).

    The fits are those to the rows of `spectrum`, which are other rows than those of `gram`. The
    errors of the mean and about the mean add separately. Eq. (B22).
    """
    slopes = np.stack([spectrum.coefficients(float(a))[:, 0] for a in alphas], axis=1)  # (d, L)
    off = gram.y_mean[0] - spectrum.y_mean[0] - (gram.x_mean - spectrum.center) @ slopes
    about = gram.yy[0, 0] - 2 * gram.xy[:, 0] @ slopes + np.vecdot(slopes.T, (gram.xx @ slopes).T)
    squares: FloatArray = np.maximum(about, 0.0) + gram.weight * off**2
    return squares
