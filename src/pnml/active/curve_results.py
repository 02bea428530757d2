"""Results of learning curves: accuracy against the number of labels, by strategy and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from pnml.active.checks import IntArray
from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.metrics import Estimate

_CONFIDENCE = 0.95


class Band(NamedTuple):
    """Means over seeds of a learning curve after each of R rounds, with intervals, all (R,)."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class LearningCurves:
    """Results of learning curves: accuracy of every strategy, after every round, by seed.

    Arrays are over S seeds and R rounds. Intervals are Student's at 95 % over seeds; a single seed
    has none (NaN).

    Attributes
    ----------
    seeds : tuple of int
    labels : ndarray (R,)
        Number of labels paid for by each round, including those at the start.
    accuracy : dict of ndarray (S, R)
        Strategy → share of test rows that are classified correctly.
    strange : dict of ndarray (S, R)
        Strategy → number of picks so far that were out of distribution.

    Examples
    --------
    >>> accuracy = {"DIAL": np.array([[0.5, 0.8], [0.6, 0.9]]), "random": np.full((2, 2), 0.5)}
    >>> none = dict.fromkeys(accuracy, np.zeros((2, 2), int))
    >>> curves = LearningCurves((0, 1), np.array([10, 20]), accuracy, none)
    >>> curves.labels_to_reach([0.55, 0.7])["DIAL"][1].value
    20.0
    """

    seeds: tuple[int, ...]
    labels: IntArray
    accuracy: Mapping[str, FloatArray]
    strange: Mapping[str, IntArray]

    def band(self, strategy: str) -> Band:
        """Mean accuracy (R,) of a strategy over seeds, after each of R rounds, with intervals."""
        return band_of(self.accuracy[self._known(strategy)])

    def strange_share(self, strategy: str) -> Band:
        """Share (R,) of a strategy's picks so far that were out of distribution, mean over seeds.

        With intervals; 0 before the first pick.
        """
        picks = np.maximum(self.labels - self.labels[0], 1)
        return band_of(self.strange[self._known(strategy)] / picks)

    def labels_to_reach(self, levels: Sequence[float]) -> dict[str, list[Estimate]]:
        """Number of labels at which mean accuracy reaches each level, by strategy. Eq. (I25).

        The number is that of the first round whose mean accuracy over seeds is at least the level.
        The ends of the interval are where the ends of the accuracy's interval reach the level. A
        level that is not reached gives infinity.
        """
        return {name: [self._reached(name, level) for level in levels] for name in self.accuracy}

    def mean_accuracy(self) -> dict[str, Estimate]:
        """Mean accuracy over all rounds, by strategy, with its interval over seeds."""
        return {name: _estimate(values.mean(axis=1)) for name, values in self.accuracy.items()}

    def gain_over(self, strategy: str) -> dict[str, Estimate]:
        """Mean accuracy over rounds of every other strategy minus that of `strategy`, by name.

        Differences are paired by seed, and have intervals over seeds.
        """
        base = self.accuracy[self._known(strategy)].mean(axis=1)
        return {
            name: _estimate(values.mean(axis=1) - base)
            for name, values in self.accuracy.items()
            if name != strategy
        }

    def _reached(self, name: str, level: float) -> Estimate:
        band = self.band(name)
        parts = (band.mean, band.high, band.low)
        return Estimate(*(self._first(values, level) for values in parts))

    def _first(self, values: FloatArray, level: float) -> float:
        if np.isnan(values).any():
            return float("nan")
        rounds = np.flatnonzero(values >= level)
        return float(self.labels[rounds[0]]) if len(rounds) else float("inf")

    def _known(self, strategy: str) -> str:
        if strategy not in self.accuracy:
            raise InputError(
                f"There is no curve of {strategy!r}; pass one of {', '.join(self.accuracy)}."
            )
        return strategy


def band_of(values: FloatArray) -> Band:
    """Means (R,) over seeds of values (S, R) by seed and round, with Student's interval at 95 %.

    >>> band_of(np.array([[1.0], [3.0]])).high.round(2)
    array([14.71])
    """
    S = len(values)
    mean = values.mean(axis=0)
    if S < 2:
        return Band(mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan))
    half_width = stdtrit(S - 1, (1 + _CONFIDENCE) / 2) * values.std(axis=0, ddof=1) / np.sqrt(S)
    return Band(mean, mean - half_width, mean + half_width)


def _estimate(values: FloatArray) -> Estimate:
    """Mean over seeds of one number for each seed, with its interval."""
    return Estimate(*(float(part[0]) for part in band_of(values[:, None])))
