"""Map rows encoded while an encoder was built to rows as the finished encoder writes them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.statistic.gram import Gram


class Terms:
    """Linear map x → A x + b from rows of an unfinished encoder to finished rows. Eq. (B3).

    `kept` are the old positions that keep one of their own; others are dropped, unless `add` names
    them.
    """

    def __init__(self, kept: Iterable[int]) -> None:
        self._new = {old: new for new, old in enumerate(sorted(kept))}
        self._terms: list[tuple[int, int, float]] = []  # new position, old position, factor
        self.offset: FloatArray = np.zeros(len(self._new))

    @property
    def width(self) -> int:
        """Length of a finished row."""
        return len(self._new)

    def keep(self, place: int, factor: float = 1.0, offset: float = 0.0) -> int:
        """Keep an old position, times a factor and plus an offset; returns its new position."""
        new = self._new[place]
        self._terms.append((new, place, factor))
        self.offset[new] = offset
        return new

    def add(self, new: int, place: int, factor: float) -> None:
        """Add `factor` times the old position `place` to the position `new` of a finished row."""
        self._terms.append((new, place, factor))

    def rows(self, X: FloatArray) -> FloatArray:
        """Finished rows (n, width) from rows X (n, old width); X may be overwritten."""
        in_place = self.width == X.shape[1] == len(self._terms) and not self.offset.any()
        if in_place and all(new == old for new, old, _ in self._terms):
            factors = np.ones(X.shape[1])
            for new, _, factor in self._terms:
                factors[new] = factor
            X *= factors
            return X
        out = np.zeros((len(X), self.width), order="F")
        for new, old, factor in self._terms:
            out[:, new] += X[:, old] if factor == 1.0 else factor * X[:, old]
        out += self.offset
        return out

    def gram(self, gram: Gram) -> Gram:
        """The Gram (means and moments) of the finished rows, from that of the old rows."""
        A = np.zeros((self.width, len(gram.x_mean)))
        for new, old, factor in self._terms:
            A[new, old] += factor
        if self.offset.any() or A.shape[0] != A.shape[1] or np.any(np.diag(A.diagonal()) != A):
            return gram.mapped(A, self.offset)
        return gram.scaled(A.diagonal().copy())
