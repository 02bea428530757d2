"""Codecs of scikit-learn's kernels, which a KernelPNMLRegressor takes as parameter."""

from __future__ import annotations

from sklearn.gaussian_process import kernels

from pnml.models.codec import unfitted

KERNELS = [
    unfitted(kernels.ConstantKernel),
    unfitted(kernels.DotProduct),
    unfitted(kernels.Exponentiation),
    unfitted(kernels.ExpSineSquared),
    unfitted(kernels.Matern),
    unfitted(kernels.Product),
    unfitted(kernels.RationalQuadratic),
    unfitted(kernels.RBF),
    unfitted(kernels.Sum),
    unfitted(kernels.WhiteKernel),
]
