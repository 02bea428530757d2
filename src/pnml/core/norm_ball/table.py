"""Labels and probability along the genie's curve, panel by panel: moments, cdf and quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.polynomial import legendre

from pnml.core.arrays import FloatArray
from pnml.core.norm_ball.genie import Side
from pnml.core.norm_ball.genie_curve import NODES, WEIGHTS, Curve
from pnml.core.norm_ball.multiplier_window import FAR
from pnml.core.norm_ball.regret import density

_MIDDLE_PANELS = 10
_MAX_STEPS, _SETTLED = 80, 1e-14
_ORDERS = np.arange(len(NODES))
# Values at the nodes, times their weights, to Legendre coefficients.
_TO_LEGENDRE = (legendre.legvander(NODES, len(NODES) - 1) * (_ORDERS + 0.5)).T  # (n, n)
# The curve is smooth on a panel, but the density may vanish within one: each panel is cut
# in four, with values interpolated from its nodes.
_CUTS = 4
_CUT_NODES = ((2 * np.arange(_CUTS) + 1 - _CUTS)[:, None] + NODES).ravel() / _CUTS
_CUT = (WEIGHTS[:, None] * _TO_LEGENDRE.T) @ legendre.legvander(_CUT_NODES, len(NODES) - 1).T

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Table:
    """Unnormalised pNML densities of T rows, at n nodes in each of P panels. Eq. (N12).

    A panel is an interval of labels.
    """

    deviation: FloatArray  # (T, P, n)  label minus the prediction of the constrained fit
    mass: FloatArray  # (T, P, n)  density times quadrature weight

    @classmethod
    def of(cls, curve: Curve, sigma: float) -> Table:
        """The table of the rows of a curve of genies, under noise of standard deviation sigma."""
        low, middle, high = (
            _side_nodes(curve.lower, sigma),
            _middle_nodes(curve.middle_s, curve.middle_deviation, sigma),
            _side_nodes(curve.upper, sigma),
        )
        low = low[0][:, ::-1, ::-1], low[1][:, ::-1, ::-1]
        deviation, mass = zip(low, middle, high, strict=True)
        return cls(np.concatenate(deviation, axis=1), np.concatenate(mass, axis=1))

    @classmethod
    def of_noise(cls, rows: int, sigma: float) -> Table:
        """The table of rows whose prediction is the same for every model: the noise itself."""
        ends = np.tile([-FAR * sigma, FAR * sigma], (rows, 1))
        return cls(*_middle_nodes(ends, ends, sigma))

    @cached_property
    def total(self) -> FloatArray:
        """Integral (T,) of each unnormalised density, its normaliser K."""
        out: FloatArray = np.sum(self.mass, axis=(1, 2))
        return out

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (T,) of label minus prediction.

        The prediction is that of the least-squares fit within the ball.
        """
        mean = np.sum(self.mass * self.deviation, axis=(1, 2)) / self.total
        centred = self.deviation - mean[:, None, None]
        return mean, np.sqrt(np.sum(self.mass * centred**2, axis=(1, 2)) / self.total)

    def cdf(self, deviations: FloatArray) -> FloatArray:
        """Probability (T, m) that label minus prediction is at most `deviations` (T, m)."""
        panel = _locate(self._edges, deviations)
        labels = _gather(self._labels, panel)
        xi = _invert(labels, deviations)
        below = np.take_along_axis(self._cumulative, panel, axis=1)
        inside = _value(_gather(self._integral, panel), xi)
        out = np.clip((below + inside) / self.total[:, None], 0.0, 1.0)
        low, high = self._edges[:, :1], self._edges[:, -1:]
        return np.where(deviations <= low, 0.0, np.where(deviations >= high, 1.0, out))

    def ppf(self, q: FloatArray) -> FloatArray:
        """Values (T, m) of label minus prediction below which the probability is q (T, m)."""
        target = q * self._cumulative[:, -1:]
        panel = _locate(self._cumulative, target)
        below = np.take_along_axis(self._cumulative, panel, axis=1)
        integral = _gather(self._integral, panel)
        xi = _invert(integral, target - below)
        out = _value(_gather(self._labels, panel), xi)
        return np.where(q <= 0, -np.inf, np.where(q >= 1, np.inf, out))

    @cached_property
    def _labels(self) -> FloatArray:
        """Legendre coefficients (n, T, P) of the deviation on each panel."""
        return np.moveaxis((self.deviation * WEIGHTS) @ _TO_LEGENDRE.T, -1, 0)

    @cached_property
    def _integral(self) -> FloatArray:
        """Legendre coefficients (n+1, T, P) of the mass from the left end of each panel."""
        density = np.moveaxis(self.mass @ _TO_LEGENDRE.T, -1, 0)
        return np.asarray(legendre.legint(density, lbnd=-1), dtype=float)

    @cached_property
    def _edges(self) -> FloatArray:
        """Deviations (T, P+1) where panels meet."""
        signs = (-1.0) ** _ORDERS  # P_k(−1); P_k(1) = 1
        left = np.tensordot(signs, self._labels, axes=1)
        last = np.sum(self._labels[:, :, -1:], axis=0)
        return np.maximum.accumulate(np.concatenate([left, last], axis=1), axis=1)

    @cached_property
    def _cumulative(self) -> FloatArray:
        """Mass (T, P+1) below each place where panels meet."""
        mass = np.sum(self.mass, axis=2)
        return np.concatenate([np.zeros((len(mass), 1)), np.cumsum(mass, axis=1)], axis=1)


def _side_nodes(side: Side, sigma: float) -> tuple[FloatArray, FloatArray]:
    speed = _cut((side.ds + side.dp) / WEIGHTS) * (WEIGHTS / _CUTS)
    return _cut(side.deviation), density(_cut(side.s), sigma) * speed


def _cut(values: FloatArray) -> FloatArray:
    """Values (T, P, n) at the nodes of panels, interpolated to panels cut in four: (T, 4P, n)."""
    return (values @ _CUT).reshape(len(values), -1, len(NODES))


def _middle_nodes(
    ends_s: FloatArray, ends: FloatArray, sigma: float
) -> tuple[FloatArray, FloatArray]:
    """Nodes on the middle piece, where s and y move together, as far as the noise reaches."""
    rise, run = np.diff(ends_s, axis=1), np.diff(ends, axis=1)  # (T, 1)
    slope = run / np.where(rise > 0, rise, 1.0)
    low, high = (np.clip(z * sigma, ends_s[:, :1], ends_s[:, 1:]) for z in (-FAR, FAR))
    shares = ((2 * np.arange(_MIDDLE_PANELS) + 1)[:, None] + NODES) / (2 * _MIDDLE_PANELS)
    s = low[..., None] + (high - low)[..., None] * shares
    # far beyond the noise the ends have lost the digits of the middle, which passes through 0
    through = (ends_s[:, :1] < -sigma) & (ends_s[:, 1:] > sigma)
    first = np.where(through, slope * low, ends[:, :1] + slope * (low - ends_s[:, :1]))
    length = np.where(rise > 0, slope * (high - low), run)[..., None]
    mass = density(s, sigma) * length * (WEIGHTS / (2 * _MIDDLE_PANELS))
    return first[..., None] + length * shares, mass


def _locate(edges: FloatArray, values: FloatArray) -> IntArray:
    """Panel (T, m) that holds each value."""
    cells = np.empty(values.shape, dtype=np.intp)
    for row, (ends, wanted) in enumerate(zip(edges, values, strict=True)):
        cells[row] = np.searchsorted(ends[1:-1], wanted, side="right")
    return cells


def _gather(coefficients: FloatArray, panel: IntArray) -> FloatArray:
    return np.take_along_axis(coefficients, panel[None], axis=2)


def _value(coefficients: FloatArray, xi: FloatArray) -> FloatArray:
    """Legendre series (n, T, m), one for each point (T, m)."""
    return np.asarray(legendre.legval(xi, coefficients, tensor=False), dtype=float)


def _invert(series: FloatArray, target: FloatArray) -> FloatArray:
    """Where in [−1, 1] increasing series reach their targets: Newton inside a bracket."""
    slope = np.asarray(legendre.legder(series), dtype=float)
    low, high = np.full(target.shape, -1.0), np.ones(target.shape)
    xi = np.zeros(target.shape)
    for _ in range(_MAX_STEPS):
        miss, rate = _value(series, xi) - target, _value(slope, xi)
        low, high = np.where(miss < 0, xi, low), np.where(miss < 0, high, xi)
        new = xi - miss / np.where(rate > 0, rate, np.inf)
        new = np.where((new >= low) & (new <= high), new, (low + high) / 2)
        settled = np.abs(new - xi) <= _SETTLED
        xi = new
        if bool(np.all(settled)):
            break
    return xi
