"""Candidates with all their labels: rows of weights that the models get. Eqs. (I1), (I5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.active.checks import LogProbabilities
from pnml.core.arrays import FloatArray

IntArray = npt.NDArray[np.intp]

_BLOCK_NUMBERS = 2**20


@dataclass(frozen=True)
class Candidates:
    """Log-probabilities of candidates, and what the models weigh after earlier picks.

    A variant of a candidate is one of its labels after one of the label paths of earlier picks:
    variant v is label v % C after path v // C.
    """

    logp: LogProbabilities  # (M, N, C)
    paths: FloatArray  # (P, M)  log-probabilities of the labels given to earlier picks; 0 if none

    @classmethod
    def alone(cls, logp: LogProbabilities) -> Candidates:
        """Candidates before anything was picked."""
        return cls(logp, np.zeros((1, len(logp))))

    @property
    def count(self) -> int:
        """How many candidates there are."""
        return int(self.logp.shape[1])

    @property
    def variants(self) -> int:
        """How many rows of weights each of them has."""
        return int(self.logp.shape[2]) * len(self.paths)

    def rows(self, index: IntArray, variant: IntArray) -> FloatArray:
        """Weights (R, M) of one variant each of some candidates."""
        classes = self.logp.shape[2]
        own: FloatArray = self.logp[:, index, variant % classes].T.astype(np.float64)
        told: FloatArray = own + self.paths[variant // classes]
        return told

    def all_rows(self, index: IntArray) -> FloatArray:
        """Weights (n, V, M) of all variants of some candidates."""
        own = self.logp[:, index].transpose(1, 2, 0).astype(np.float64)  # (n, C, M)
        both = own[:, None] + self.paths[:, None]  # (n, P, C, M)
        return both.reshape(len(index), self.variants, len(self.logp))

    def blocks(self, most_rows: int) -> Iterator[IntArray]:
        """All candidates in groups whose variants are at most so many rows, or one candidate."""
        step = max(1, most_rows // self.variants)
        return (
            np.arange(start, min(start + step, self.count)) for start in range(0, self.count, step)
        )

    def by_flatness(self, most_rows: int) -> IntArray:
        """Variants (N, V) of every candidate, the one that tells the models apart least first.

        What tells nothing apart leaves every target its own best model, so it has the largest
        score. The measure is how far the mean weight is below the largest. Eq. (I4).
        """
        order = np.empty((self.count, self.variants), dtype=np.intp)
        for index in self.blocks(most_rows):
            own = self.logp[:, index[0] : index[-1] + 1].astype(np.float64, copy=False)
            falls = [_fall(own + w[:, None, None] if w.any() else own) for w in self.paths]
            order[index] = np.argsort(np.hstack(falls), axis=-1, kind="stable")  # NaN comes last
        return order


def _fall(a: FloatArray) -> FloatArray:
    """How far the mean of weights (M, n, C) over the models is below the largest, (n, C)."""
    with np.errstate(invalid="ignore"):  # labels that no model allows
        fall: FloatArray = a.max(axis=0) - a.mean(axis=0)
    return fall
