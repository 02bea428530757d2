"""Conformal intervals normalised by the regret: coverage without a model of the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import COUNT, NOT_NAN, NOT_NEGATIVE
from pnml.core.distributions.tabulated import Tabulated
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import ALONE

# Number of (new row, training row) pairs in one block.
_BLOCK_PAIRS = 2**20


def split_scores(residuals: FloatArray, regrets: FloatArray) -> FloatArray:
    """Conformal scores |y − ŷ|/√K of rows held back, ascending, (n,). Eq. (C1).

    `residuals` are y − ŷ (n,), label less prediction; K = exp(regret), the regrets (n,) in nats.
    """
    return np.sort(unsorted_scores(residuals, regrets))


def unsorted_scores(residuals: FloatArray, regrets: FloatArray) -> FloatArray:
    """Conformal scores |y − ŷ|/√K (n,) of rows held back, in the order of the rows. Eq. (C1).

    `residuals` are y − ŷ (n,), label less prediction; K = exp(regret), the regrets (n,) in nats.
    """
    return np.abs(residuals) * np.exp(-regrets / 2)


def split_distribution(mean: FloatArray, regrets: FloatArray, scores: FloatArray) -> Tabulated:
    """Split-conformal distribution of each label: ŷ ± √K times a score. Eqs. (C1) and (C3).

    `mean` are the predictions ŷ (n,) and K = exp(regret), the regrets (n,) in nats; `scores` (m,)
    are those of `split_scores`. Central intervals are ŷ ± q̂√K with q̂ one of the scores.

    >>> dist = split_distribution(np.zeros(1), np.zeros(1), np.arange(1.0, 20.0))
    >>> dist.interval(0.9)
    array([[-18.,  18.]])
    """
    with np.errstate(over="ignore"):
        return Tabulated(mean, np.exp(regrets / 2), regrets, scores)


def _rank(n: int, coverage: float) -> int:
    """⌈(n+1)·coverage⌉, guarded against round-off of the product."""
    return int(np.ceil((n + 1) * coverage - 1e-9))


def rows_needed(coverage: float) -> int:
    """Fewest rows with a conformal score that give finite intervals at this coverage. Eq. (C1).

    >>> rows_needed(0.9), rows_needed(0.99)
    (9, 99)
    """
    n = max(int(coverage / (1 - coverage)) - 1, 1)
    while _rank(n, coverage) > n:
        n += 1
    return n


@dataclass(frozen=True)
class GroupedScores:
    """Conformal scores of held-back rows, kept separately for each group of rows. Eq. (C7).

    >>> scores = GroupedScores.of(np.array([3.0, 1.0, 2.0, 5.0]), np.array([0, 0, 0, 1]), 2)
    >>> scores.thresholds(0.75)
    array([ 3., inf])
    """

    scores: Annotated[FloatArray, "n", NOT_NAN]  # group after group, sorted within each
    sizes: Annotated[npt.NDArray[np.int64], "g", COUNT]  # rows of each group

    @classmethod
    def of(cls, scores: FloatArray, groups: npt.NDArray[np.intp], n_groups: int) -> GroupedScores:
        """GroupedScores from the score (n,) and the group (n,), 0 to n_groups − 1, of each row."""
        order = np.lexsort((scores, groups))
        return cls(scores[order], np.bincount(groups, minlength=n_groups).astype(np.int64))

    def thresholds(self, coverage: float) -> FloatArray:
        """Conformal quantile (g,) of the scores of each group; infinite for a group of few rows.

        A new row of the group scores at most this with a probability of at least `coverage`.
        """
        ends = np.cumsum(self.sizes)
        ranks = np.array([_rank(int(size), coverage) for size in self.sizes])
        enough = ranks <= self.sizes
        at = np.where(enough, ends - self.sizes + ranks - 1, 0)
        found = self.scores[at] if len(self.scores) else np.zeros(len(at))
        return np.where(enough, found, np.inf)


def split_interval(mean: FloatArray, regrets: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Split-conformal intervals (n, 2) of labels: ŷ ± q̂√K. Eqs. (C1) and (C7).

    `mean` are the predictions ŷ (n,) and K = exp(regret), the regrets (n,) in nats; `thresholds`
    are q̂ (n,), for each row the one of its group. A row of infinite regret gets the whole line.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        half = np.exp(regrets / 2) * thresholds
    half = np.where(np.isinf(regrets), np.inf, half)  # 0 · inf: no score is small there
    return np.stack([mean - half, mean + half], axis=-1)


@dataclass(frozen=True)
class RidgeFolds:
    """Leave-one-out ridge fits for jackknife+ intervals, from the fit to all rows. Eq. (C2)."""

    spectrum: Spectrum
    alpha: Annotated[float, NOT_NEGATIVE]  # ridge penalty
    U: Annotated[FloatArray, "n r"]  # training rows in whitened coordinates, xV/√(h²+α)
    residuals: Annotated[FloatArray, "n"]  # of the fit to all rows
    slack: Annotated[FloatArray, "n", NOT_NEGATIVE]  # 1 − leverage of the row in that fit

    @classmethod
    def of(cls, spectrum: Spectrum, X: FloatArray, y: FloatArray, alpha: float) -> RidgeFolds:
        """RidgeFolds of training rows X (n, d) with labels y (n,) at the ridge penalty `alpha`.

        `spectrum` is that of the same rows and labels.
        """
        U = spectrum.components(X) / np.sqrt(spectrum.h2 + alpha)
        hat = spectrum.intercept_share + np.sum(U * U, axis=1)
        slack = np.where(hat > 1 - ALONE, 0.0, 1 - hat)
        return cls(spectrum, alpha, U, y - spectrum.fitted(X, alpha), slack)

    def interval(self, X: FloatArray, coverage: float) -> FloatArray:
        """Jackknife+ interval (m, 2) for the label of each new row X (m, d). Eq. (C2).

        The fit without training row i gives the end points ŷ ± |e|K: ŷ is its prediction for the
        new row, log K the regret of the new row under it, and e the residual of row i in the fit to
        all rows. The interval joins quantiles of these end points, and is infinite for few rows.
        """
        out = np.empty((len(X), 2))
        step = max(1, _BLOCK_PAIRS // len(self.U))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            out[part] = self._interval(np.asarray(X[part], dtype=float), coverage)
        return out

    def _interval(self, X: FloatArray, coverage: float) -> FloatArray:
        spectrum, n = self.spectrum, len(self.U)
        a = spectrum.components(X) / np.sqrt(spectrum.h2 + self.alpha)
        cross = a @ self.U.T + spectrum.intercept_share  # (m, n)  xᵀPx_i
        K = 1 + spectrum.leverage(X, self.alpha)
        alone = self.slack == 0
        g = np.where(alone, 1.0, self.slack)
        centre = spectrum.fitted(X, self.alpha)[:, None] - cross * (self.residuals / g)
        with np.errstate(invalid="ignore"):  # 0 · inf, settled below
            half = np.abs(self.residuals) * (K[:, None] + cross**2 / g)
        # a row alone in its direction does not tell where the fit would be without it
        half = np.where(alone | np.isinf(K)[:, None], np.inf, half)
        rank = _rank(n, coverage)
        if rank > n:
            return np.tile([-np.inf, np.inf], (len(X), 1))
        lower = np.partition(centre - half, n - rank, axis=1)[:, n - rank]
        upper = np.partition(centre + half, rank - 1, axis=1)[:, rank - 1]
        return np.stack([lower, upper], axis=-1)
