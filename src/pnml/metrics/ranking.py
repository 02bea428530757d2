"""Two sets of scores ranked together, and the metrics of every threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.metrics.bootstrap import redrawn_counts
from pnml.metrics.checks import numbers


@dataclass(frozen=True)
class Ranking:
    """Ranking of two sets of scores: how many rows of each set have each of k distinct scores.

    Columns are the k scores, highest first. Each of the r rows of the arrays is one count: of the
    rows as they are (r = 1), or of one bootstrap draw of them. The totals are those of the first.

    >>> ranking = Ranking.of([4.0, 3.0, 2.0, 1.0], [2.5, 1.0, 0.5, 0.0])
    >>> ranking.area().tolist()
    [0.84375]
    """

    ins: FloatArray  # (r, k)  counts of in-distribution rows
    outs: FloatArray  # (r, k)  counts of out-of-distribution rows

    @classmethod
    def of(cls, scores_in: npt.ArrayLike, scores_out: npt.ArrayLike) -> Ranking:
        """The Ranking, with r = 1, of scores (n,) and (m,); high means in-distribution."""
        s_in = numbers(scores_in, "scores_in")
        s_out = numbers(scores_out, "scores_out")
        levels, place = np.unique(np.concatenate([s_in, s_out]), return_inverse=True)
        place = len(levels) - 1 - place
        ins = np.bincount(place[: len(s_in)], minlength=len(levels))
        outs = np.bincount(place[len(s_in) :], minlength=len(levels))
        return cls(ins[None].astype(float), outs[None].astype(float))

    @property
    def totals(self) -> tuple[int, int]:
        """Numbers of in-distribution and of out-of-distribution rows."""
        return int(self.ins[0].sum()), int(self.outs[0].sum())

    @cached_property
    def passed(self) -> tuple[FloatArray, FloatArray]:
        """Numbers of in- and of out-of-distribution rows that reach each score, each (r, k)."""
        return np.cumsum(self.ins, axis=1), np.cumsum(self.outs, axis=1)

    def redrawn(self, times: int, rng: np.random.Generator) -> Ranking:
        """The Ranking of `times` bootstrap draws, each with as many rows of either set."""
        return Ranking(_redraw(self.ins[0], times, rng), _redraw(self.outs[0], times, rng))

    def area(self) -> FloatArray:
        """AUROC (r,): chance that an ordinary row outscores an outlier, half for ties."""
        n, m = self.totals
        below = m - self.passed[1] + self.outs / 2
        return np.asarray(np.sum(self.ins * below, axis=1) / (n * m))

    def precision_area(self) -> FloatArray:
        """AUPR (r,) with ordinary rows as positives: mean precision at their own thresholds."""
        return _average_precision(self.ins, *self.passed)

    def precision_area_of_outliers(self) -> FloatArray:
        """AUPR (r,) with outliers as positives, found from the lowest score up."""
        n, m = self.totals
        return _average_precision(
            self.outs, m - self.passed[1] + self.outs, n - self.passed[0] + self.ins
        )

    def false_positives(self, tpr: float) -> FloatArray:
        """Share (r,) of outliers that pass where `tpr` of the ordinary rows pass. Eq. (M2)."""
        n, m = self.totals
        # The smallest count with count / n >= tpr; the product alone may round to either side.
        count = int(np.floor(tpr * n))
        count += count / n < tpr
        at = np.argmax(self.passed[0] >= count, axis=1)
        return np.asarray(self.passed[1][np.arange(len(at)), at] / m)

    def best_accuracy(self) -> FloatArray:
        """Balanced accuracy (r,) of the best threshold. Eq. (M3)."""
        n, m = self.totals
        gained = np.max(self.passed[0] / n - self.passed[1] / m, axis=1)
        return np.asarray(np.maximum(0.5, (1 + gained) / 2))


def _redraw(counts: FloatArray, times: int, rng: np.random.Generator) -> FloatArray:
    place = np.repeat(np.arange(len(counts)), counts.astype(int))  # (n,)  score of each row
    return redrawn_counts(place, len(counts), times, rng)


def _average_precision(hits: FloatArray, right: FloatArray, wrong: FloatArray) -> FloatArray:
    """Mean over the hits of the precision at their own score: right / (right + wrong)."""
    everything = np.maximum(right + wrong, 1.0)  # a draw may have no row up to here
    return np.asarray(np.sum(hits * right / everything, axis=1) / hits.sum(axis=1))
