"""Leverage of rows in the cells of frozen trees: linear columns, leaves, and cells left empty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from pnml.core.arrays import FloatArray
from pnml.core.leaves.cells import BoolArray, IntArray, compiled
from pnml.core.leaves.leaf_gram import LeafGram, chunks, one_hot
from pnml.errors import InputError


@dataclass(frozen=True)
class LeafGeometry:
    """Inverse of the centred, penalised moments of the training rows. Eq. (T15).

    Leaf indicators are divided by √T, so that the leaves of a row have norm 1 in all. The penalty
    is `alpha` on the leaves and 1 on the columns; the intercept has none.
    """

    ends: IntArray  # (T + 1,)
    alpha: float
    weight: float  # of all training rows
    inverse: FloatArray  # (D + p, D + p)
    pulled: FloatArray  # (D + p,)  inverse · mean row
    offset: float  # mean row · inverse · mean row

    @classmethod
    def of(cls, gram: LeafGram, alpha: float) -> LeafGeometry:
        """Geometry of rows with these moments."""
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

        `leaf` and `inside` are (n, T): the leaf of each tree, and whether the row is in its cell.
        `out` is the share of trees whose cell does not hold the row, where there are more trees
        than the geometry has.
        """
        share = np.mean(~inside, axis=1) if out is None else out
        kappa = np.empty(len(leaf))
        for rows in chunks(len(leaf)):
            kappa[rows] = self._forms(leaf[rows], inside[rows], Z[rows]).inner
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

        `inside` says which cells of the other rows hold the row; `out` is as in `leverage`.
        """
        share = np.mean(~inside, axis=1) if out is None else out
        kappa = np.empty(len(leaf))
        for rows in chunks(len(leaf)):
            w = weights[rows]
            forms = self._forms(leaf[rows], inside[rows], Z[rows])
            kappa[rows] = forms.inner + w * forms.mixed**2 / (1 - w * forms.full)
        return kappa + share / self.alpha

    def pulls(
        self, leaf: IntArray, inside: BoolArray, Z: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(u − ū)ᵀA⁻¹(u − ū) (n,), and the columns' part of A⁻¹(u − ū): (n, p)."""
        D = int(self.ends[-1])
        hot = one_hot(leaf, D)
        hot.data = np.ascontiguousarray(inside, dtype=float).ravel()
        pull = hot @ self.inverse[:D, D:] / np.sqrt(self.trees)
        pull += Z @ self.inverse[D:, D:] - self.pulled[D:]
        return self._forms(leaf, inside, Z).inner - 1 / self.weight, pull

    def _forms(self, leaf: IntArray, inside: BoolArray, Z: FloatArray) -> _Forms:
        """Quadratic forms of the rows with their filled cells, with all leaves, and of both."""
        D, n = int(self.ends[-1]), len(leaf)
        total = np.zeros((3, n))
        local = np.ascontiguousarray(leaf.T)
        inside_rows = np.ascontiguousarray(inside.T).astype(float)
        fast = compiled()
        if fast is not None:
            fast.add_forms(total, self.inverse, local, inside_rows)
        else:
            self._add_forms(total, local, inside_rows)
        total /= self.trees
        return self._with_columns(total, leaf, inside_rows, Z, D)

    def _add_forms(self, total: FloatArray, leaf: IntArray, inside_rows: FloatArray) -> None:
        for s in range(self.trees):
            for t in range(s + 1):
                entry = self.inverse[leaf[s], leaf[t]]
                if t < s:
                    entry *= 2
                total[0] += entry * inside_rows[s] * inside_rows[t]
                total[1] += entry * (inside_rows[s] + inside_rows[t]) / 2
                total[2] += entry

    def _with_columns(
        self, total: FloatArray, leaf: IntArray, inside_rows: FloatArray, Z: FloatArray, D: int
    ) -> _Forms:
        """Add the columns, the cross terms with them, and the centring."""
        across = np.column_stack([self.inverse[:D, D:], self.pulled[:D]])  # (D, p + 1)
        hot = one_hot(leaf, D)
        in_all = hot @ across / np.sqrt(self.trees)
        hot.data = np.ascontiguousarray(inside_rows.T).ravel()
        filled = hot @ across / np.sqrt(self.trees)
        slopes = np.einsum("ij,jk,ik->i", Z, self.inverse[D:, D:], Z, optimize=True)
        base = slopes + self.offset - 2 * (Z @ self.pulled[D:]) + 1 / self.weight
        cross = [np.einsum("ij,ij->i", part[:, :-1], Z) for part in (filled, in_all)]
        pull = [part[:, -1] for part in (filled, in_all)]
        return _Forms(
            inner=total[0] + base + 2 * (cross[0] - pull[0]),
            mixed=total[1] + base + cross[0] + cross[1] - pull[0] - pull[1],
            full=total[2] + base + 2 * (cross[1] - pull[1]),
        )


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
    lower = np.tril(inverse)
    filled: FloatArray = lower + np.tril(inverse, -1).T
    return filled
