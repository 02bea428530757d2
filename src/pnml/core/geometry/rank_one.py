"""Leverages after further rows, without labels and without refits: rank-one updates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import EPS, FloatArray
from pnml.core.gaussian import regret
from pnml.core.geometry.span import SAFETY
from pnml.core.geometry.spectrum import Spectrum

# Numbers in one block of a product.
_BLOCK_NUMBERS = 2**20
# Rows whose parts outside the span have at least this squared cosine are parallel there.
_PARALLEL = 1 - 1e-12


@dataclass(frozen=True)
class Whitened:
    """Rows in coordinates w in which the product of two rows x and z is xᵀPz. Eq. (I6).

    P = (XᵀX + alpha·I)⁻¹ over the labelled rows X. Leverages are then sums of squares, and one more
    labelled row changes them by a rank-one update, without a refit.

    >>> from pnml.core.statistic.factor import Factor
    >>> seen = Factor.of(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]))
    >>> spectrum = Spectrum.of_factor(seen, intercept=False, unit_columns=True)
    >>> rows = Whitened.of(spectrum, np.array([[9.0, 1.0], [1.0, 1.0]]), 0.0)
    >>> rows.leverage.round(3), rows.with_row(0).leverage.round(3)
    (array([32.333,  0.333]), array([0.97, 0.33]))
    """

    w: FloatArray  # (n, q)
    outside: FloatArray  # (n, d)  part outside the span at penalty 0; (n, 0) if there is none
    noise: FloatArray  # (n,)  norms below which what is left of `outside` is round-off

    @classmethod
    def of(cls, spectrum: Spectrum, rows: FloatArray, alpha: float) -> Whitened:
        """Rows (n, d) whitened by the labelled rows in `spectrum`, at the ridge penalty `alpha`."""
        a, outside = spectrum.coordinates(rows)
        n = len(rows)
        parts = [a / np.sqrt(spectrum.h2 + alpha)]
        if spectrum.intercept_share > 0:
            parts.append(np.full((n, 1), np.sqrt(spectrum.intercept_share)))
        if spectrum.spans_everything:
            outside = np.zeros((n, 0))
        elif alpha > 0:
            parts.append(outside / np.sqrt(alpha))
            outside = np.zeros((n, 0))
        size = np.linalg.norm(outside, axis=1)
        return cls(np.hstack(parts), outside, SAFETY * max(rows.shape) * EPS * size)

    @property
    def leverage(self) -> FloatArray:
        """Leverage (n,) of each row; infinite outside the span. Eq. (S2)."""
        kappa: FloatArray = np.vecdot(self.w, self.w)
        return np.where(self._is_out, np.inf, kappa)

    @property
    def _is_out(self) -> npt.NDArray[np.bool_]:
        is_outside: npt.NDArray[np.bool_] = np.any(self.outside != 0, axis=1)
        return is_outside

    def without(self, row: int) -> Whitened:
        """The whitened rows without the one at index `row`."""
        kept = np.arange(len(self.w)) != row
        return Whitened(self.w[kept], self.outside[kept], self.noise[kept])

    def with_row(self, row: int) -> Whitened:
        """All rows, whitened anew once the row at this index is labelled. Eqs. (I6), (I8)."""
        w, o = self.w, self.outside
        if not self._is_out[row]:
            kappa = float(w[row] @ w[row])
            if kappa == 0:
                return self
            shrink = (1 - 1 / np.sqrt(1 + kappa)) / kappa
            return replace(self, w=w - np.outer(shrink * (w @ w[row]), w[row]))
        share = o @ o[row] / float(o[row] @ o[row])
        left = o - np.outer(share, o[row])
        left = left - np.outer(left @ o[row] / float(o[row] @ o[row]), o[row])
        inside_span = np.linalg.norm(left, axis=1) <= self.noise
        inside_span[row] = True
        w = np.hstack([w - np.outer(share, w[row]), share[:, None]])
        return replace(self, w=w, outside=np.where(inside_span[:, None], 0.0, left))

    def after_each(self, new: int, wanted: int) -> tuple[FloatArray, FloatArray]:
        """Regret of the last `wanted` rows if one of the first `new` is labelled. Eqs. (I7), (I9).

        Two arrays (new,), for each of the first rows. The first is how many wanted rows would stay
        outside the span of the labelled rows, where the regret is infinite. The second is the mean
        regret in nats, in which a row that stays outside counts with twice the log of its distance
        from the span.
        """
        step = max(1, _BLOCK_NUMBERS // wanted)
        missing, after = np.zeros(new), np.zeros(new)
        for start in range(0, new, step):
            part = slice(start, min(start + step, new))
            rows = slice(len(self.w) - wanted, None)
            missing[part], after[part] = self._after(part, rows)
        return missing, after

    def _after(self, new: slice, wanted: slice) -> tuple[FloatArray, FloatArray]:
        w, z = self.w[wanted], self.w[new]
        cross = z @ w.T  # (N, T)
        own, theirs = np.vecdot(z, z)[:, None], np.vecdot(w, w)
        # of a sum of squares; round-off must not make it negative
        inside = np.maximum(theirs - cross**2 / (1 + own), 0.0)
        if not self._is_out[wanted].any():
            # rows outside the span take nothing from targets inside it
            kappa = np.where(self._is_out[new][:, None], theirs, inside)
            return np.zeros(len(z)), regret(kappa).mean(axis=1)
        return self._after_outside(new, wanted, inside, cross)

    def _after_outside(
        self, new: slice, wanted: slice, inside: FloatArray, cross: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        o, oz = self.outside[wanted], self.outside[new]
        w, z = self.w[wanted], self.w[new]
        out, out_z = self._is_out[wanted], self._is_out[new][:, None]
        b2, b2z = np.vecdot(o, o), np.where(out_z, np.vecdot(oz, oz)[:, None], 1.0)
        share = oz @ o.T / b2z  # (N, T)
        theirs, own = np.vecdot(w, w), np.vecdot(z, z)[:, None]
        met = out_z & out & (share**2 * b2z >= _PARALLEL * b2)
        reached = np.maximum(theirs - 2 * share * cross + share**2 * (own + 1), 0.0)
        kappa = np.where(met, reached, np.where(out_z, theirs, inside))
        stays = out & ~met
        far2 = np.where(stays, np.maximum(b2 - np.where(out_z, share**2 * b2z, 0.0), 0.0), 1.0)
        with np.errstate(divide="ignore"):
            total = np.where(stays, np.log(far2), regret(kappa))
        return stays.sum(axis=1).astype(float), total.mean(axis=1)
