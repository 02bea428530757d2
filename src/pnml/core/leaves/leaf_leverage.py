"""Leverage of rows in the cells of frozen trees: linear columns, leaves, and cells left empty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import BoolArray, IntArray, compiled
from pnml.core.leaves.leaf_gram import LeafGram, chunks, mirror, one_hot, within_trees
from pnml.errors import InputError


@dataclass(frozen=True)
class LeafGeometry:
    """Inverse of the penalised moments of rows [one-hot leaves, columns], for leverages. Eq. (T15).

    D leaves of T trees, then p columns. Leaf indicators are divided by √T, so that the leaves of a
    row have norm 1 in all. The penalty is `alpha` on the leaves and 1 on the columns; the intercept
    has none.
    """

    ends: IntArray  # (T + 1,)
    alpha: float
    weight: float  # of all training rows
    inverse: FloatArray  # (D + p, D + p)
    pulled: FloatArray  # (D + p,)  inverse · mean row
    offset: float  # mean row · inverse · mean row

    @classmethod
    def of(cls, gram: LeafGram, alpha: float) -> LeafGeometry:
        """Geometry of the rows in `gram`; `alpha` > 0 is the penalty on the leaves."""
        D, trees = int(gram.ends[-1]), len(gram.ends) - 1
        scale = np.ones(len(gram.sums))
        scale[:D] = 1 / np.sqrt(trees)
        mean = gram.sums * scale / gram.weight
        A = gram.products * scale[:, None] * scale
        A -= gram.weight * np.outer(mean, mean)
        A[np.diag_indices(len(A))] += np.where(np.arange(len(A)) < D, alpha, 1.0)
        inverse = _inverse(A)
        pulled = inverse @ mean
        return cls(gram.ends, alpha, gram.weight, inverse, pulled, float(mean @ pulled))

    @property
    def trees(self) -> int:
        """Number T of trees."""
        return len(self.ends) - 1

    def leverage(
        self, leaf: IntArray, inside: BoolArray, Z: FloatArray, out: FloatArray | None = None
    ) -> FloatArray:
        """Leverage κ (n,) of new rows: 1/N + (u − ū)ᵀA⁻¹(u − ū) + out/α. Eq. (T15).

        u = [leaves, columns] of the row, ū its mean over the training rows, N their weight, A their
        penalised moments. `leaf` and `inside` are (n, T): the leaf of each tree, and whether the
        row is in its cell; Z (n, p) are the columns. `out` is the share of trees whose cell does
        not hold the row, where there are more trees than the geometry has.
        """
        share = np.mean(~inside, axis=1) if out is None else out
        kappa = np.empty(len(leaf))
        for rows in chunks(len(leaf)):
            kappa[rows] = self._inner(leaf[rows], inside[rows], Z[rows])
        return kappa + share / self.alpha

    def left_out(
        self,
        leaf: IntArray,
        inside: BoolArray,
        Z: FloatArray,
        weights: FloatArray,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Leave-one-out leverage (n,) of training rows. Eq. (T16).

        A row of weight 1 or more loses one copy, a lighter row all of itself, as in Eq. (V1).
        `leaf` and `inside` are (n, T): the leaf of each tree, and whether its cell without the row
        holds the row; Z (n, p) are the columns. `out` is the share of trees whose cell does not
        hold the row, where there are more trees than the geometry has.
        """
        share = np.mean(~inside, axis=1) if out is None else out
        kappa = np.empty(len(leaf))
        for rows in chunks(len(leaf)):
            c = np.minimum(weights[rows], 1.0)
            forms = self._forms(leaf[rows], inside[rows], Z[rows])
            kappa[rows] = forms.inner + c * forms.mixed**2 / (1 - c * forms.full)
        return kappa + share / self.alpha

    def pulls(
        self, leaf: IntArray, inside: BoolArray, Z: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Quadratic form (u − ū)ᵀA⁻¹(u − ū) (n,), and A⁻¹(u − ū) at the columns (n, p).

        u = [leaves whose cell holds the row, columns Z] of a row, ū its mean over the training
        rows, and A their penalised moments. `leaf` and `inside` are (n, T): the leaf of each tree,
        and whether its cell holds the row.
        """
        D = int(self.ends[-1])
        hot = one_hot(leaf, D)
        hot.data = np.ascontiguousarray(inside, dtype=float).ravel()
        pull = hot @ self.inverse[:D, D:] / np.sqrt(self.trees)
        pull += Z @ self.inverse[D:, D:] - self.pulled[D:]
        return self._inner(leaf, inside, Z) - 1 / self.weight, pull

    def _inner(self, leaf: IntArray, inside: BoolArray, Z: FloatArray) -> FloatArray:
        """Quadratic form (n,) of rows with their filled cells alone, and 1/N."""
        fast = compiled()
        if fast is None:
            return self._forms(leaf, inside, Z).inner
        total = np.zeros(len(leaf))
        filled = np.ascontiguousarray(inside.T, dtype=float)
        fast.add_inner(total, self.inverse, self.ends, within_trees(leaf, self.ends), filled)
        cross, pull = self._across(leaf, inside, Z)
        out: FloatArray = total / self.trees + self._base(Z) + 2 * (cross - pull)
        return out

    def _forms(self, leaf: IntArray, inside: BoolArray, Z: FloatArray) -> _Forms:
        """Quadratic forms of the rows with their filled cells, with all leaves, and of both."""
        total = np.zeros((3, len(leaf)))
        filled = np.ascontiguousarray(inside.T, dtype=float)
        fast = compiled()
        if fast is not None:
            fast.add_forms(total, self.inverse, self.ends, within_trees(leaf, self.ends), filled)
        else:
            self._add_forms(total, np.ascontiguousarray(leaf.T), filled)
        total /= self.trees
        base = self._base(Z)
        crossed = [self._across(leaf, cells, Z) for cells in (inside, np.ones_like(inside))]
        (some, pull_some), (every, pull_all) = crossed
        return _Forms(
            inner=total[0] + base + 2 * (some - pull_some),
            mixed=total[1] + base + some + every - pull_some - pull_all,
            full=total[2] + base + 2 * (every - pull_all),
        )

    def _add_forms(self, total: FloatArray, leaf: IntArray, inside_rows: FloatArray) -> None:
        for s in range(self.trees):
            for t in range(s + 1):
                entry = self.inverse[leaf[s], leaf[t]]
                if t < s:
                    entry *= 2
                total[0] += entry * inside_rows[s] * inside_rows[t]
                total[1] += entry * (inside_rows[s] + inside_rows[t]) / 2
                total[2] += entry

    def _base(self, Z: FloatArray) -> FloatArray:
        """The part (n,) of all forms that has no leaves: columns, centring and 1/N."""
        D = int(self.ends[-1])
        slopes = np.einsum("ij,ij->i", Z @ self.inverse[D:, D:], Z)
        base: FloatArray = slopes + self.offset - 2 * (Z @ self.pulled[D:]) + 1 / self.weight
        return base

    def _across(
        self, leaf: IntArray, inside: BoolArray, Z: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Products (n,) of the filled cells with the columns, and with the mean row."""
        hot = one_hot(leaf, int(self.ends[-1]))
        hot.data = np.ascontiguousarray(inside, dtype=float).ravel()
        part = hot @ self._beside / np.sqrt(self.trees)
        return np.einsum("ij,ij->i", part[:, :-1], Z), part[:, -1]

    @cached_property
    def _beside(self) -> FloatArray:
        """Entries (D, p + 1) of the leaves with the columns and with the mean row."""
        D = int(self.ends[-1])
        return np.column_stack([self.inverse[:D, D:], self.pulled[:D]])


@dataclass(frozen=True)
class _Forms:
    inner: FloatArray  # (n,)  of the rows with their filled cells alone
    mixed: FloatArray  # (n,)  of these with the rows as training counts them
    full: FloatArray  # (n,)  of the rows as training counts them


def _inverse(A: FloatArray) -> FloatArray:
    """Inverse of a symmetric positive definite matrix."""
    factor, failed = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise InputError(
            "The penalised moments of the leaves are not positive definite; pass a larger alpha."
        )
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    mirror(inverse.T)  # of which the lower triangle is known
    filled: FloatArray = inverse
    return filled
