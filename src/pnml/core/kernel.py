"""Kernel ridge regression on a kernel matrix: eigenvectors → mean and leverage of new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, eigh, qr

from pnml.core import gaussian
from pnml.core.arrays import EPS, FloatArray


@dataclass(frozen=True)
class KernelMatrix:
    """Eigenvectors of the kernel matrix of n training rows, centred if there is an intercept."""

    h2: FloatArray  # (r,)  eigenvalues above round-off, largest first
    U: FloatArray  # (n, r)  their eigenvectors
    column_means: FloatArray  # (n,)  what centres a new row; 0 without an intercept
    grand_mean: float
    intercept_share: float  # leverage of the intercept: 1/n, or 0 without one

    @classmethod
    def of(cls, G: FloatArray, *, intercept: bool) -> KernelMatrix:
        """KernelMatrix of the kernel values G (n, n) of the training rows with one another."""
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
        """Kernel values k (m, n) of new rows with training rows, and k(x, x) (m,), both centred.

        `prior` are the k(x, x). Without an intercept both are returned as they are.
        """
        row_means = k.mean(axis=1) if self.intercept_share else np.zeros(len(k))
        prior = prior - 2 * row_means + self.grand_mean
        return k - row_means[:, None] - self.column_means + self.grand_mean, prior

    def leverage(self, explained: FloatArray, prior: FloatArray, alpha: float) -> FloatArray:
        """Leverage (m,) of new rows from the part of k(x, x) that training explains. Eq. (R4).

        `prior` (m,) are the centred k(x, x), `explained` (m,) their explained parts, and `alpha`
        is the ridge penalty.
        """
        leverage: FloatArray = gaussian.kernel_leverage(prior, explained, alpha)
        return leverage + self.intercept_share

    def explained(self, c: FloatArray, alpha: float) -> FloatArray:
        """Part kᵀ(G + αI)⁻¹k (m,) of k(x, x) that the training rows explain, for m new rows.

        k are the centred kernel values of a new row with the training rows, G the kernel matrix, α
        the ridge penalty; the components c (m, r) are kᵀU, with the eigenvectors U.
        """
        explained: FloatArray = np.sum(c * c / (self.h2 + alpha), axis=1)
        return explained

    def root(self, alpha: float) -> FloatArray | None:
        """Upper triangle R (n, n) with RᵀR = U(h² + α)⁻¹Uᵀ; None if the rank is at most n/2.

        U are the eigenvectors, h² the eigenvalues. `explained_by_root` takes R: a product with a
        triangle costs half of one with U. It pays for thousands of rows, as in explanations.
        """
        n, r = self.U.shape
        if 2 * r <= n:
            return None
        (upper,) = qr((self.U / np.sqrt(self.h2 + alpha)).T, mode="r")
        R = np.zeros((n, n), order="F")
        R[:r] = upper
        return R


def explained_by_root(R: FloatArray, k: FloatArray) -> FloatArray:
    """The same numbers (m,) as `KernelMatrix.explained`, computed as ‖Rk‖² with fewer operations.

    R (n, n) is `KernelMatrix.root`, k (m, n) the centred kernel values of new and training rows.
    """
    product: FloatArray = blas.dtrmm(1.0, R, k.T)
    explained: FloatArray = np.einsum("ij,ij->j", product, product)
    return explained
