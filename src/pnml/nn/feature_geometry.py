"""Leverage of new rows, and of training rows left out, from the statistic of the features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.linalg import cholesky
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dtrtri
from torch import Tensor

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.softmax_leave_one_out import left_out_leverages
from pnml.nn.feature_statistic import FeatureStatistic

# The default penalty, as a share of the rows' total energy. Eq. (F11).
SHARE = 1e-8
# A penalty of at least this share exceeds the round-off of the statistic, about 1e-15 of it.
_CLEAR = 1e-9


def whitening(xx: FloatArray, alpha: float) -> FloatArray:
    """Triangle (w, w) in which a network's features have squares that sum to the leverage.

    It is the inverse of the Cholesky factor of XᵀX + αI, for a penalty above the round-off.

    >>> np.array([[2.0, 4.0]]) @ whitening(np.diag([3.0, 15.0]), 1.0)
    array([[1., 1.]])
    """
    root = cholesky(xx + alpha * np.eye(len(xx)), overwrite_a=True)
    inverse: FloatArray = dtrtri(root, overwrite_c=1)[0]
    return inverse


@dataclass(frozen=True)
class Geometry:
    """The geometry of a network's features, which gives leverages: statistic and penalty."""

    statistic: FeatureStatistic
    alpha: float

    @classmethod
    def of(cls, statistic: FeatureStatistic, alpha: float | None) -> Geometry:
        """Geometry at a penalty; None is a share of the rows' total energy. Eq. (F11)."""
        return cls(statistic, SHARE * statistic.total_energy if alpha is None else alpha)

    def leverage(self, rows: FloatArray, norms: FloatArray) -> FloatArray:
        """Leverage (n,) of rows of features with these norms. Eq. (S2)."""
        if self._whitening is None:
            leverage: FloatArray = self._complete.leverage(rows, self.alpha)
        else:
            white = dtrmm(1.0, self._whitening, rows.T, trans_a=1).T  # half of a full product
            leverage = np.vecdot(white, white)
        return np.where(norms == 0, np.inf, leverage) if self._directions_only else leverage

    def leverage_of_tensor(self, rows: Tensor, norms: Tensor) -> Tensor:
        """The same with gradients, on the device of the rows."""
        if self._whitening is None:
            leverage: Tensor = self._complete.leverage(rows, self.alpha)
        else:
            white = rows @ self._whitening_on(rows.device)
            leverage = torch.linalg.vecdot(white, white)
        return leverage.masked_fill(norms == 0, torch.inf) if self._directions_only else leverage

    @property
    def typical_norm(self) -> float:
        """Root mean square of the norms of all training features."""
        return float(np.sqrt(self.statistic.energy / self.statistic.rows))

    @property
    def sample(self) -> FloatArray:
        """The rows in the sample, (m, width)."""
        return self.statistic.sample.rows[:, :-1]

    @property
    def sample_norms(self) -> FloatArray:
        """Norms (m,) of the features of the sampled rows."""
        return self.statistic.sample.rows[:, -1]

    @cached_property
    def left_out(self) -> FloatArray:
        """Leverage (m,) that each row of the sample would have without itself. Eq. (F6)."""
        if self._whitening is None:
            ones = np.ones(len(self.sample))
            leverage = left_out_leverages(self._spectrum, self.sample, ones, self.alpha)
            nowhere = self._directions_only & (self.sample_norms == 0)
            return np.where(nowhere, np.inf, leverage)
        h = self.leverage(self.sample, self.sample_norms)
        return np.divide(h, 1 - h, out=h, where=np.isfinite(h))

    @property
    def _directions_only(self) -> bool:
        """Whether rows are directions only, so that a row of zeros is unlike every training row."""
        return self.statistic.form.normalize and not self.statistic.form.bias

    @cached_property
    def _spectrum(self) -> Spectrum:
        """Eigenvectors of the statistic, for penalties too small for `whitening`."""
        return Spectrum.of_gram(self.statistic.gram, intercept=False, unit_columns=self.alpha == 0)

    @cached_property
    def _complete(self) -> Spectrum:
        return self._spectrum.completed(self.alpha) if self.alpha > 0 else self._spectrum

    @cached_property
    def _whitening(self) -> FloatArray | None:
        """None if the penalty is within the round-off."""
        clear = 0 < _CLEAR * self.statistic.total_energy <= self.alpha
        return whitening(self.statistic.xx, self.alpha) if clear else None

    def _whitening_on(self, device: torch.device) -> Tensor:
        if device not in self._copies:
            with torch.inference_mode(False):  # gradients flow through it later
                self._copies[device] = torch.tensor(self._whitening, device=device)
        return self._copies[device]

    @cached_property
    def _copies(self) -> dict[torch.device, Tensor]:
        return {}
