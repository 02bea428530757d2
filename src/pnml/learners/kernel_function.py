"""Kernels of scikit-learn between rows, by name, function or object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.metrics.pairwise import pairwise_kernels

from pnml.core.arrays import FloatArray
from pnml.errors import InputError

MOST_KERNELS = 200  # in one sum or product; each is computed, and printed, as often as it is used


@dataclass(frozen=True)
class KernelFunction:
    """Kernel function k(x, x') between rows, with the parameters of scikit-learn's kernels."""

    kernel: Any  # a name, a function of two rows, or a kernel of Gaussian processes
    gamma: float
    degree: float
    coef0: float
    params: Mapping[str, Any] | None  # for a function

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Kernels (m, n) between rows A (m, d) and B (n, d)."""
        if isinstance(self.kernel, Kernel):
            values = self.kernel(A, B)
        elif callable(self.kernel):
            values = pairwise_kernels(A, B, metric=self.kernel, **(self.params or {}))
        else:
            values = pairwise_kernels(
                A,
                B,
                metric=self.kernel,
                filter_params=True,
                gamma=self.gamma,
                degree=self.degree,
                coef0=self.coef0,
            )
        return np.asarray(values, dtype=float)

    def diagonal(self, X: FloatArray) -> FloatArray:
        """k(x, x) of each row x of X, (n,)."""
        if isinstance(self.kernel, Kernel):
            return np.asarray(self.kernel.diag(X), dtype=float)
        if isinstance(self.kernel, str):
            return self._named_diagonal(np.einsum("ij,ij->i", X, X))
        return np.array([self(row[None], row[None])[0, 0] for row in X])

    def _named_diagonal(self, squares: FloatArray) -> FloatArray:
        """k(x, x) of rows with squared norms (n,), for the kernels that scikit-learn names."""
        inner = self.gamma * squares + self.coef0
        values: dict[str, FloatArray] = {
            "additive_chi2": np.zeros(len(squares)),
            "cosine": (squares > 0).astype(float),
            "linear": squares,
            "poly": inner**self.degree,
            "polynomial": inner**self.degree,
            "sigmoid": np.tanh(inner),
        }
        return values.get(self.kernel, np.ones(len(squares)))  # rbf, laplacian and chi2


def refuse_endless(kernel: Any) -> None:
    """Raise InputError if a kernel is a sum or product of more than `MOST_KERNELS` kernels.

    A kernel that is used twice counts twice.

    >>> from sklearn.gaussian_process.kernels import RBF
    >>> refuse_endless(RBF() + RBF())
    """
    pending, count = [kernel], 0
    while pending:
        part, count = pending.pop(), count + 1
        if count > MOST_KERNELS:
            raise InputError(
                f"The kernel is made of more than {MOST_KERNELS} kernels, those used twice counted "
                "twice; pass a smaller sum or product."
            )
        held = vars(part) if isinstance(part, Kernel) else {}
        inside = [*held.values(), *held.get("kernels", ())]
        pending += [inner for inner in inside if isinstance(inner, Kernel)]
