"""Conformal intervals normalised by the regret: coverage without a model of the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE
from pnml.core.distributions.tabulated import Tabulated
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import ALONE

# Number of (new row, training row) pairs in one block.
_BLOCK_PAIRS = 2**20


def split_scores(residuals: FloatArray, regrets: FloatArray) -> FloatArray:
    """Conformal scores |y − ŷ|/√K of rows held back, sorted, (n,). Eq. (C1)."""
    return np.sort(np.abs(residuals) * np.exp(-regrets / 2))


def split_distribution(mean: FloatArray, regrets: FloatArray, scores: FloatArray) -> Tabulated:
    """Split-conformal labels: scattered as the scores; intervals ŷ ± q̂√K. Eqs. (C1) and (C3).

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
    """Least number of conformal scores with which an interval of this coverage ends. Eq. (C1).

    >>> rows_needed(0.9), rows_needed(0.99)
    (9, 99)
    """
    n = max(int(coverage / (1 - coverage)) - 1, 1)
    while _rank(n, coverage) > n:
        n += 1
    return n


@dataclass(frozen=True)
class RidgeFolds:
    """Leave-one-out fits of ridge for conformal intervals, from the fit to all rows. Eq. (C2)."""

    spectrum: Spectrum
    alpha: Annotated[float, NOT_NEGATIVE]
    U: Annotated[FloatArray, "n r"]  # training rows in whitened coordinates, xV/√(h²+α)
    residuals: Annotated[FloatArray, "n"]  # of the fit to all rows
    slack: Annotated[FloatArray, "n", NOT_NEGATIVE]  # 1 − hat

    @classmethod
    def of(cls, spectrum: Spectrum, X: FloatArray, y: FloatArray, alpha: float) -> RidgeFolds:
        """Folds of training rows X (n, d), y (n,)."""
        U = spectrum.components(X) / np.sqrt(spectrum.h2 + alpha)
        hat = spectrum.intercept_share + np.sum(U * U, axis=1)
        slack = np.where(hat > 1 - ALONE, 0.0, 1 - hat)
        return cls(spectrum, alpha, U, y - spectrum.fitted(X, alpha), slack)

    def interval(self, X: FloatArray, coverage: float) -> FloatArray:
        """Jackknife+ interval (m, 2) whose folds' half-widths are |e_i| K of the fold. Eq. (C2)."""
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
