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

from pnml.core.arrays import EPS, FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.softmax_leave_one_out import left_out_leverages
from pnml.nn.feature_regions import IntArray, Regions
from pnml.nn.feature_statistic import FeatureStatistic, gram_of

# The default penalty, as a share of the rows' total energy. Eq. (F11).
SHARE = 1e-8
# With regions, as a share of the mean energy of a column. Eq. (F13).
SHARE_OF_COLUMN = 1e-6
# A penalty of at least this share exceeds the round-off of the statistic, about 1e-15 of it.
_CLEAR = 1e-9
# With regions, as a share of the mean energy of a column.
_CLEAR_OF_COLUMN = 1e-7


def whitening(xx: FloatArray, alpha: float) -> FloatArray:
    """Upper triangle T (w, w) for leverages: that of a row x is the squared norm of xT.

    T is the inverse of the Cholesky factor of xx + αI, with xx (w, w) the sum of the outer products
    of training rows, and α a ridge penalty above the round-off.

    >>> np.array([[2.0, 4.0]]) @ whitening(np.diag([3.0, 15.0]), 1.0)
    array([[1., 1.]])
    """
    root = cholesky(xx + alpha * np.eye(len(xx)), overwrite_a=True)
    inverse: FloatArray = dtrtri(root, overwrite_c=1)[0]
    return inverse


def default_penalty(scatter: FloatArray, rows: float) -> float:
    """Default ridge penalty, above 0, of so many rows in regions. Eq. (F13).

    It is a millionth of the mean of the diagonal of their scatter (w, w).
    """
    return SHARE_OF_COLUMN * max(float(np.trace(scatter)), EPS * rows) / len(scatter)


@dataclass(frozen=True)
class Geometry:
    """Computes leverages of features, from the statistic of training rows and a ridge penalty.

    `alpha` is the penalty; `scatter` (w, w) the matrix that it is added to, for w columns of a row.
    """

    statistic: FeatureStatistic
    alpha: float
    scatter: FloatArray  # (w, w)  S of Eq. (F13); Σ xxᵀ without regions

    @classmethod
    def of(cls, statistic: FeatureStatistic, alpha: float | None) -> Geometry:
        """Geometry at a ridge penalty; None is a small share of the scatter. Eqs. (F11), (F13)."""
        regions, scatter = statistic.regions, statistic.xx
        if regions.classes:
            scatter = scatter + regions.between()
        if alpha is None and regions.classes:
            alpha = default_penalty(scatter, statistic.rows)
        return cls(statistic, SHARE * np.trace(scatter) if alpha is None else alpha, scatter)

    def leverage(self, rows: FloatArray, norms: FloatArray, labels: IntArray) -> FloatArray:
        """Leverage (n,) of rows (n, w) in the regions `labels` (n,). Eqs. (S2), (F13).

        `norms` (n,) are those of the features; where one is 0 the leverage may be infinite.
        """
        regions = self.regions
        slots = regions.slots[labels] if regions.classes else None
        v = rows if slots is None else rows - regions.centres[slots]
        if self._whitening is None:
            leverage: FloatArray = self._complete.leverage(v + self._spectrum.center, self.alpha)
            leverage = leverage - self._spectrum.intercept_share
        else:
            mine = slots is not None  # v is no one else's and may be overwritten
            white = dtrmm(
                1.0, self._whitening, v.T, trans_a=1, overwrite_b=mine
            ).T  # half a product
            leverage = np.vecdot(white, white)
        if slots is not None:
            leverage = leverage + regions.shares[slots]
        return np.where(norms == 0, np.inf, leverage) if self._needs_direction else leverage

    def leverage_of_tensor(self, rows: Tensor, norms: Tensor, labels: Tensor) -> Tensor:
        """Leverage (n,) as by `leverage`, of tensors, with gradients and on their device."""
        constants = self._on(rows.device)
        slots = constants["slots"][labels] if self.regions.classes else None
        v = rows if slots is None else rows - constants["centres"][slots]
        if self._whitening is None:
            leverage: Tensor = self._complete.leverage(v + constants["center"], self.alpha)
            leverage = leverage - self._spectrum.intercept_share
        else:
            white = v @ constants["whitening"]
            leverage = torch.linalg.vecdot(white, white)
        if slots is not None:
            leverage = leverage + constants["shares"][slots]
        return leverage.masked_fill(norms == 0, torch.inf) if self._needs_direction else leverage

    @property
    def regions(self) -> Regions:
        """Counts and means of training rows by predicted class; no classes if not grouped."""
        return self.statistic.regions

    @property
    def typical_norm(self) -> float:
        """Root mean square of the norms of all training features."""
        return float(np.sqrt(self.statistic.energy / self.statistic.rows))

    @property
    def sample(self) -> FloatArray:
        """The sampled training rows (m, width), in the form of the statistic."""
        return self.statistic.sample.rows[:, : self.statistic.form.width]

    @property
    def sample_norms(self) -> FloatArray:
        """Norms (m,) of the features of the sampled rows."""
        return self.statistic.sample.rows[:, self.statistic.form.width]

    @property
    def sample_labels(self) -> IntArray:
        """Regions (m,) of the sampled rows, their predicted classes; zeros if not grouped."""
        rows = self.statistic.sample.rows
        labels = rows[:, -1] if self.regions.classes else np.zeros(len(rows))
        return labels.astype(np.int64)

    @cached_property
    def left_out(self) -> FloatArray:
        """Leverage (m,) of each sampled row, as if it was left out of training. Eq. (F6)."""
        rows, norms, labels = self.sample, self.sample_norms, self.sample_labels
        if self._whitening is None:
            leverage = self._left_out_by_spectrum(rows, labels)
            return np.where(self._needs_direction & (norms == 0), np.inf, leverage)
        h = self.leverage(rows, norms, labels)
        return np.divide(h, 1 - h, out=h, where=np.isfinite(h))

    def _left_out_by_spectrum(self, rows: FloatArray, labels: IntArray) -> FloatArray:
        regions, ones = self.regions, np.ones(len(rows))
        if not regions.classes:
            return left_out_leverages(self._spectrum, rows, ones, self.alpha)
        slots = regions.slots[labels]
        v = rows - regions.centres[slots] + self._spectrum.center
        return left_out_leverages(self._spectrum, v, ones, self.alpha, regions.shares[slots])

    @property
    def _needs_direction(self) -> bool:
        """Whether a row of zeros is unlike every training row, since rows are directions."""
        return self.statistic.form.needs_direction

    @cached_property
    def _spectrum(self) -> Spectrum:
        """Eigenvectors of the statistic, for penalties too small for `whitening`.

        With regions, rows come here as v + m₀, so that round-off is judged by their true size.
        """
        plain, regions = self.alpha == 0, self.regions
        if not regions.classes:
            return Spectrum.of_gram(self.statistic.gram, intercept=False, unit_columns=plain)
        gram = gram_of(self.scatter, regions.mean, max(int(regions.counts.sum()), 1))
        return Spectrum.of_gram(gram, intercept=True, unit_columns=plain)

    @cached_property
    def _complete(self) -> Spectrum:
        return self._spectrum.completed(self.alpha) if self.alpha > 0 else self._spectrum

    @cached_property
    def _whitening(self) -> FloatArray | None:
        """The matrix by `whitening`; None if the penalty is within the round-off."""
        share = _CLEAR_OF_COLUMN / len(self.scatter) if self.regions.classes else _CLEAR
        clear = self.alpha > 0 and self.alpha >= share * float(np.trace(self.scatter))
        return whitening(self.scatter, self.alpha) if clear else None

    def _on(self, device: torch.device) -> dict[str, Tensor]:
        """Constants of the leverage on a device."""
        if device not in self._copies:
            regions = self.regions
            values = {"slots": regions.slots, "centres": regions.centres, "shares": regions.shares}
            if self._whitening is None:
                values["center"] = self._spectrum.center
            else:
                values["whitening"] = self._whitening
            with torch.inference_mode(False):  # gradients flow through them later
                self._copies[device] = {
                    name: torch.tensor(value, device=device) for name, value in values.items()
                }
        return self._copies[device]

    @cached_property
    def _copies(self) -> dict[torch.device, dict[str, Tensor]]:
        return {}
