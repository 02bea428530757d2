"""Test martingale against "nothing has changed": evidence that is valid after every row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass

import numpy as np

from pnml.core.arrays import FloatArray

# Exponents of the bets: low ones win by a few extreme scores, high ones by many slightly high.
_EXPONENTS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])


class Ranking:
    """Ranking of each new score among a pool of earlier ones: conformal p-values. Eq. (W1).

    While the scores are exchangeable, the p-values are independent and uniform for any distribution
    of scores, even if a pool of `size` scores discards a random one for each new one, Eq. (W2).

    >>> ranking = Ranking(range(99), size=1000, random=np.random.default_rng(0))
    >>> bool(ranking.of([1000.0])[0] < 0.01)
    True
    """

    def __init__(self, scores: FloatArray, size: int, random: np.random.Generator) -> None:
        self.pool = sorted(float(score) for score in scores)
        self.size = size
        self.random = random

    def of(self, scores: FloatArray) -> FloatArray:
        """P-values (n,): share of the pool above each score, ties broken at random.

        Small for a high score. Each score is compared with the pool in turn, and then joins it.
        """
        draws = 1 - self.random.random((len(scores), 2))  # above 0
        return np.array([self._next(float(s), *u) for s, u in zip(scores, draws, strict=True)])

    def _next(self, score: float, tie: float, leaves: float) -> float:
        pool, n = self.pool, len(self.pool)
        low, high = bisect_left(pool, score), bisect_right(pool, score)
        insort(pool, score)
        if n >= self.size:
            del pool[min(int(leaves * (n + 1)), n)]
        return float((n - high + tie * (high - low + 1)) / (n + 1))


@dataclass(frozen=True)
class Wealth:
    """Wealth won by betting on small p-values: if it is large, the scores have become higher.

    One bettor begins at every row, as the row of the change is unknown. Logarithms are in nats.

    >>> start = Wealth.at_start()
    >>> calm = start.after(np.linspace(0.05, 0.95, 40))
    >>> high = start.after(np.full(40, 0.05))
    >>> bool(calm.log_detector[-1] < 4 < 20 < high.log_detector[-1])
    True
    """

    log_products: FloatArray  # (e,) log of one bettor's wealth since row 0, for each exponent
    log_sums: FloatArray  # (e,) log of the wealth of bettors who began at each row, together
    log_best: FloatArray  # (e,) the largest log wealth of those who began at any row
    begun: tuple[int, ...]  # (e,) the row at which that one began
    rows: int
    log_martingale: FloatArray  # (n,) of the rows added last; Eq. (W4)
    log_detector: FloatArray  # (n,) Eq. (W5)

    @classmethod
    def at_start(cls) -> Wealth:
        """The wealth before the first row: one unit, and no bettor has started."""
        width, none = len(_EXPONENTS), np.zeros(0)
        nothing = np.full(width, -np.inf)
        return cls(np.zeros(width), nothing, np.zeros(width), (0,) * width, 0, none, none)

    def after(self, ranks: FloatArray) -> Wealth:
        """The wealth after further rows, from their p-values `ranks` (n,), as of `Ranking.of`."""
        if not len(ranks):
            return self
        gains = np.log(_EXPONENTS) + (_EXPONENTS - 1) * np.log(ranks)[:, None]  # (n, e) Eq. (W3)
        log_growth = np.cumsum(gains, axis=0)
        before = np.concatenate([np.zeros_like(log_growth[:1]), log_growth[:-1]])
        joined = np.logaddexp(self.log_sums, np.logaddexp.accumulate(-before, axis=0))
        products, sums = self.log_products + log_growth, log_growth + joined
        best, begun = self._restarted(before, log_growth)
        return Wealth(
            products[-1],
            sums[-1],
            best,
            begun,
            self.rows + len(ranks),
            _mean_of_logs(products),
            _mean_of_logs(sums),
        )

    @property
    def since(self) -> int:
        """The most likely row of the change, counted from 0: bets begun there have won most."""
        return self.begun[int(np.argmax(self.log_best))]

    def _restarted(
        self, before: FloatArray, log_growth: FloatArray
    ) -> tuple[FloatArray, tuple[int, ...]]:
        """Largest log wealth over all starting rows, and that row."""
        at = np.argmin(before, axis=0)
        fresh = log_growth[-1] - before.min(axis=0)
        carried = self.log_best + log_growth[-1]
        begun = np.where(carried >= fresh, np.array(self.begun), self.rows + at)
        return np.maximum(carried, fresh), tuple(int(row) for row in begun)


def _mean_of_logs(values: FloatArray) -> FloatArray:
    """Log of the mean (n,) of exp(logs (n, e)) over the exponents."""
    total: FloatArray = np.logaddexp.reduce(values, axis=1) - np.log(values.shape[1])
    return total
