"""A log axis for regrets, with extra positions for zero and infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pnml.core.arrays import FloatArray

SMALLEST = 1e-6  # nats; smaller regrets are drawn as zero
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class RegretAxis:
    """Axis of regrets: positions are log10 of the nats, with zero and infinity beyond its ends."""

    low: float  # left end of the logarithmic part, log10 of nats
    high: float  # right end of the logarithmic part
    has_zero: bool  # whether some regret is drawn at zero
    has_infinity: bool  # whether some regret is infinite

    @classmethod
    def of(cls, *regrets: FloatArray) -> RegretAxis:
        """The axis that holds all these regrets, given in nats.

        >>> axis = RegretAxis.of(np.array([0.0, 0.01, 1.0]), np.array([np.inf]))
        >>> axis.has_zero, axis.has_infinity
        (True, True)
        """
        known = np.concatenate([r[~np.isnan(r)] for r in regrets])
        logs = np.log10(known[(known >= SMALLEST) & np.isfinite(known)])
        low, high = (float(logs.min()), float(logs.max())) if logs.size else (-2.0, 0.0)
        margin = max(0.03 * (high - low), (0.5 - (high - low)) / 2)  # half a decade at least
        has_zero, has_infinity = bool(np.any(known < SMALLEST)), bool(np.any(np.isinf(known)))
        return cls(low - margin, high + margin, has_zero, has_infinity)

    @property
    def gap(self) -> float:
        """Distance of the positions of zero and of infinity from the logarithmic part."""
        return 0.09 * (self.high - self.low)

    @property
    def zero(self) -> float:
        """The position on the axis where regrets of zero are drawn."""
        return self.low - self.gap

    @property
    def infinity(self) -> float:
        """The position on the axis where infinite regrets are drawn."""
        return self.high + self.gap

    @property
    def range(self) -> list[float]:
        """Left and right end of the axis, as positions."""
        left = self.zero - self.gap if self.has_zero else self.low
        right = self.infinity + self.gap if self.has_infinity else self.high
        return [left, right]

    def place(self, regrets: FloatArray) -> FloatArray:
        """Position on the axis of each regret, in the same shape; NaN stays NaN."""
        logs = np.log10(np.maximum(regrets, SMALLEST))
        places = np.where(regrets < SMALLEST, self.zero, np.clip(logs, self.low, self.high))
        return np.asarray(np.where(np.isposinf(regrets), self.infinity, places), dtype=np.float64)

    def ticks(self) -> tuple[list[float], list[str]]:
        """Positions and texts of the ticks, from left to right."""
        before = [(self.zero, "≈ 0")] if self.has_zero else []
        after = [(self.infinity, "∞")] if self.has_infinity else []
        ticks = [*before, *log_ticks(self.low, self.high), *after]
        return [place for place, _ in ticks], [text for _, text in ticks]

    def shares(self, regrets: FloatArray, bins: int) -> FloatArray:
        """Shares (bins + 2,) of regrets: at zero, in equally wide bins of the axis, at infinity."""
        known = regrets[~np.isnan(regrets)]
        places = self.place(known)
        between = places[(known >= SMALLEST) & np.isfinite(known)]
        inside = np.histogram(between, bins=bins, range=(self.low, self.high))[0]
        counts = [np.sum(known < SMALLEST), *inside, np.sum(np.isposinf(known))]
        return np.asarray(counts, dtype=np.float64) / max(known.size, 1)


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Ticks (log10, text) between two log10 values: at 1, 2, 5 if near, powers of ten if far.

    >>> [text for _, text in log_ticks(-2.1, -0.9)], [text for _, text in log_ticks(-5, 1.5)][:2]
    (['0.01', '0.02', '0.05', '0.1'], ['10⁻⁵', '0.0001'])
    """
    span = high - low
    steps = (1, 2, 5) if span < 2.2 else (1,)
    spacing = 1 if span <= 7 else math.ceil(span / 6)
    decades = range(math.floor(low), math.ceil(high) + 1)
    marks = [(k, step) for k in decades if k % spacing == 0 for step in steps]
    ticks = [(k + math.log10(step), _tick_text(k, step)) for k, step in marks]
    return [(place, text) for place, text in ticks if low <= place <= high]


def _tick_text(decade: int, step: int) -> str:
    value = step * 10.0**decade
    if -4 <= decade <= 4:
        return f"{value:.{max(-decade, 0)}f}"
    power = "10" + str(decade).translate(_SUPERSCRIPT)
    return power if step == 1 else f"{step}·{power}"
