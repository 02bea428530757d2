"""How often training has seen each word, which tells how many new words to expect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import betabinom

from pnml.tables.word_hashes import Hashes, are_known

MOST = 3  # times that are told apart: once, twice, more

Times = npt.NDArray[np.uint8]


def none_seen() -> Times:
    """An empty array of counts, for a column of which no word has been seen yet."""
    return np.zeros(0, dtype=np.uint8)


def capped(counts: npt.ArrayLike) -> Times:
    """Counts capped at 3, which stands for three times or more."""
    return np.minimum(counts, MOST).astype(np.uint8)


def seen_again(
    known: Hashes, times: Times, hashes: Hashes, more: npt.ArrayLike
) -> tuple[Hashes, Times]:
    """Sorted hashes of all words and their capped counts, after `hashes` came `more` times each.

    `known` are the sorted hashes of the words before, `times` their counts; `hashes` are distinct.

    >>> known, times = np.array([2, 5]), capped([1, 3])
    >>> seen_again(known, times, np.array([7, 2]), [1, 1])
    (array([2, 5, 7]), array([2, 3, 1], dtype=uint8))
    """
    more = np.asarray(more, dtype=np.int64)
    old = are_known(hashes, known)
    times = times.astype(np.int64)
    times[np.searchsorted(known, hashes[old])] += more[old]
    every = np.concatenate([known, hashes[~old]])
    order = np.argsort(every)
    return every[order], capped(np.concatenate([times, more[~old]])[order])


class RareWords(NamedTuple):
    """Numbers of words of a column seen exactly once and exactly twice in `rows` training rows."""

    once: int
    twice: int
    rows: int

    @classmethod
    def of(cls, times: Sequence[int] | Times, rows: int) -> RareWords:
        """Rare words of a column; `times` says how often each word was seen in so many rows."""
        times = np.asarray(times)
        return cls(int(np.sum(times == 1)), int(np.sum(times == 2)), rows)

    @property
    def expected(self) -> float:
        """Share of training rows whose word no other training row has. Eq. (W6).

        About the same share of new rows is expected to have a word never seen.
        """
        return self.once / max(self.rows, 1)

    def chance(self, new: int, of: int) -> float:
        """Probability that at least `new` out of `of` new rows have a word never seen. Eq. (W6).

        >>> rare = RareWords(once=200, twice=50, rows=1000)
        >>> rare.chance(25, 100) > 0.05, rare.chance(50, 100) < 1e-6
        (True, True)
        """
        p = (self.once + 1) / (self.rows + 2)
        variance = ((self.once + 1) * (1 - p) + 2 * self.twice) / max(self.rows, 1) ** 2
        size = max(p * (1 - p) / variance - 1, 1e-3)
        return float(betabinom.sf(new - 1, of, p * size, (1 - p) * size))
