"""Kernel ridge regression on a kernel matrix: eigenvectors → mean and leverage of new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, eigh, qr

from pnml.core import gaussian
from pnml.core.arrays import EPS, FloatArray


@dataclass(frozen=True)
class KernelMatrix:
    """The kernel matrix of n training rows, centred where there is an intercept."""

    h2: FloatArray  # (r,)  eigenvalues above round-off, largest first
    U: FloatArray  # (n, r)
    column_means: FloatArray  # (n,)  what centres a new row; 0 without an intercept
    grand_mean: float
    intercept_share: float  # leverage of the intercept: 1/n, or 0 without one

    @classmethod
    def of(cls, G: FloatArray, *, intercept: bool) -> KernelMatrix:
        """Eigenvectors of the kernel matrix G (n, n)."""
        n = len(G)
        column_means = G.mean(axis=0) if intercept else np.zeros(n)
        grand_mean = float(G.mean()) if intercept else 0.0
        G = G - column_means - column_means[:, None] + grand_mean
        h2, U = eigh(G)
        keep = h2 > 10 * n * EPS * max(float(h2[-1]), 0.0)
        return cls(
            h2[keep][::-1].copy(),
            np.ascontiguousarray(U[:, keep][:, ::-1]),
            column_means,
            grand_mean,
            1 / n if intercept else 0.0,
        )

    def centred(self, k: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Kernels k (m, n) of rows with the training rows, and k(x, x) (m,), both centred."""
        row_means = k.mean(axis=1) if self.intercept_share else np.zeros(len(k))
        prior = prior - 2 * row_means + self.grand_mean
        return k - row_means[:, None] - self.column_means + self.grand_mean, prior

    def leverage(self, explained: FloatArray, prior: FloatArray, alpha: float) -> FloatArray:
        """Leverage of rows from the part of their k(x, x) that training rows explain. Eq. (R4)."""
        leverage: FloatArray = gaussian.kernel_leverage(prior, explained, alpha)
        return leverage + self.intercept_share

    def explained(self, c: FloatArray, alpha: float) -> FloatArray:
        """kᵀ(G + αI)⁻¹k of rows with components c = Uᵀk (m, r)."""
        explained: FloatArray = np.sum(c * c / (self.h2 + alpha), axis=1)
        return explained

    def root(self, alpha: float) -> FloatArray | None:
        """Upper triangle R (n, n) with RᵀR = U(h² + α)⁻¹Uᵀ; None where the rank is small.

        A product with a triangle costs half of one with U. It pays for thousands of rows, as
        in explanations.
        """
        n, r = self.U.shape
        if 2 * r <= n:
            return None
        (upper,) = qr((self.U / np.sqrt(self.h2 + alpha)).T, mode="r")
        R = np.zeros((n, n), order="F")
        R[:r] = upper
        return R


def explained_by_root(R: FloatArray, k: FloatArray) -> FloatArray:
    """Part kᵀRᵀRk that a kernel matrix explains of k (m, n), as `KernelMatrix.explained`."""
    product: FloatArray = blas.dtrmm(1.0, R, k.T)
    explained: FloatArray = np.einsum("ij,ij->j", product, product)
    return explained
