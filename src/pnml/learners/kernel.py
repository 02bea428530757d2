"""Kernel ridge regression with a regret for every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.find_relations import relations_of
from pnml.core.geometry import attribution
from pnml.core.kernel import KernelMatrix, explained_by_root
from pnml.core.leave_one_out import NOISE_FLOOR, PNML, Folds
from pnml.core.relations import Relations, broken_by
from pnml.core.selection import Choice, select
from pnml.core.trust import Evidence
from pnml.learners.chosen import Chosen
from pnml.learners.kernel_function import KernelFunction
from pnml.learners.protocol import Inputs

_BLOCK_NUMBERS = 2**22
# Up to this ratio of k(x, x) to the penalty, the order of sums changes no leverage by 1e-12.
_TAME = 100.0


@dataclass(frozen=True)
class KernelRidge(Chosen):
    """Fitted kernel ridge regression: pNML of least squares on the features of a kernel."""

    kernel: KernelFunction
    X: FloatArray  # (n, d)  training rows
    matrix: KernelMatrix
    z: FloatArray  # (r,)  Uᵀ(y − ȳ)
    y_mean: float
    choice: Choice
    relations: Relations | None = None  # of the columns; None in a file of an older version

    inputs: ClassVar[Inputs] = Inputs()  # a kernel may map an infinite value to a finite number

    def predictive(self, X: FloatArray) -> Normal:
        """Normal distribution of the label of each row."""
        mean, leverage = self._solved(X)
        std = np.sqrt(self.choice.noise_variance) * gaussian.spread(leverage)
        return Normal(mean, std, gaussian.regret(leverage))

    def mean(self, X: FloatArray) -> FloatArray:
        """Predicted labels (n,) of rows: those of kernel ridge regression."""
        return self._solved(X)[0]

    def leverage(self, X: FloatArray) -> FloatArray:
        """Leverage (n,) of rows, ≥ 0. Eq. (R4)."""
        return self._solved(X)[1]

    def regret(self, X: FloatArray) -> FloatArray:
        """Regret (n,) of rows, in nats: log(1 + leverage)."""
        regret: FloatArray = gaussian.regret(self.leverage(X))
        return regret

    def evidence(self, X: FloatArray, regret: FloatArray | None = None) -> Evidence:
        """Regret, and which rows break linear relations between columns (`Relations.broken`).

        Pass the `regret` (n,) if it is already known.
        """
        broken = broken_by(self.relations, X)
        return Evidence(self.regret(X) if regret is None else regret, broken=broken)

    def explain(self, X: FloatArray) -> FloatArray:
        """Part (n, d) of each row's leverage that each feature causes, ≥ 0. Eq. (A5).

        The leverage without the intercept's part is split in proportion to what the feature adds to
        it, first alone and then after all others. An absent feature has its training mean.
        """
        return self.explain_groups(X, [(j,) for j in range(self.X.shape[1])])

    def explain_groups(self, X: FloatArray, groups: Sequence[tuple[int, ...]]) -> FloatArray:
        """Part (n, groups) of the leverage that each group of features causes, ≥ 0. Eq. (A5).

        A group is a tuple of feature positions, such as the one-hot columns of one category.
        """
        rows, means = np.asarray(X, dtype=float), self.X.mean(axis=0)
        n, d = len(rows), len(groups)
        root = self._root if 2 * d * n >= len(self.X) else None
        leverage = self.leverage(rows)
        at_mean = self.leverage(means[None])
        without, by_itself = np.empty((n, d)), np.empty((n, d))
        for g, group in enumerate(map(list, groups)):
            if not group:
                without[:, g], by_itself[:, g] = leverage, at_mean
                continue
            others = rows.copy()
            others[:, group] = means[group]
            # few in columns of words
            values, inverse = np.unique(rows[:, group], axis=0, return_inverse=True)
            alone = np.tile(means, (len(values), 1))
            alone[:, group] = values
            without[:, g] = self._leverage(others, root)
            by_itself[:, g] = self._leverage(alone, root)[inverse.ravel()]
        drops = attribution.replacement_drops(leverage, without, by_itself, float(at_mean[0]))
        return attribution.shares(drops, leverage - self.matrix.intercept_share)

    @cached_property
    def _root(self) -> FloatArray | None:
        """The root of the kernel matrix; None if its round-off would affect the leverage."""
        largest = float(self.kernel.diagonal(self.X).max())
        return self.matrix.root(self.choice.alpha) if largest <= _TAME * self.choice.alpha else None

    def _leverage(self, X: FloatArray, root: FloatArray | None) -> FloatArray:
        """Leverage (n,) of rows; with `root`, by half as many operations."""
        if root is None:
            return self.leverage(X)
        parts = [
            self.matrix.leverage(explained_by_root(root, k), prior, self.choice.alpha)
            for _, k, prior in self._blocks(X)
        ]
        return np.concatenate(parts)

    def _solved(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (n,) and leverage (n,) of rows."""
        mean, leverage = np.empty(len(X)), np.empty(len(X))
        alpha = self.choice.alpha
        for part, k, prior in self._blocks(X):
            c = k @ self.matrix.U
            mean[part] = self.y_mean + c @ (self.z / (self.matrix.h2 + alpha))
            explained = self.matrix.explained(c, alpha)
            leverage[part] = self.matrix.leverage(explained, prior, alpha)
        return mean, leverage

    def _blocks(self, X: FloatArray) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Parts of rows of bounded size, with their centred kernels and k(x, x)."""
        step = max(1, _BLOCK_NUMBERS // len(self.X))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            rows = np.asarray(X[part], dtype=float)
            k, prior = self.kernel(rows, self.X), self.kernel.diagonal(rows)
            yield part, *self.matrix.centred(k, prior)


def solve_kernel(
    kernel: KernelFunction,
    X: FloatArray,
    y: FloatArray,
    alpha: float | None,
    noise_variance: float | None,
    *,
    intercept: bool,
) -> KernelRidge:
    """Fit kernel ridge regression to rows X (n, d) and targets y (n,).

    Leave-one-out chooses `alpha`, the ridge penalty, and `noise_variance` where they are None.
    """
    matrix = KernelMatrix.of(kernel(X, X), intercept=intercept)
    y_mean = float(y.mean()) if intercept else 0.0
    z = matrix.U.T @ (y - y_mean)
    rest = y - y_mean - matrix.U @ z

    def folds(alphas: FloatArray) -> list[Folds]:
        ones, share = np.ones(len(y)), matrix.intercept_share
        return [Folds(matrix.U, z, rest, matrix.h2, alphas, ones, share)]

    choice = select(
        folds,
        PNML,
        alpha,
        noise_variance,
        h2=matrix.h2,
        interpolates=True,  # or nearly so: a rich kernel has directions down to round-off
        floor=NOISE_FLOOR * float(np.var(y)),
    )
    return KernelRidge(kernel, X, matrix, z, y_mean, choice, relations_of(X))
