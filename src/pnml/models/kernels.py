"""Codecs of scikit-learn's kernels, which a KernelPNMLRegressor takes as parameter."""

from __future__ import annotations

from dataclasses import replace

from sklearn.gaussian_process import kernels

from pnml.learners.kernel_function import refuse_endless
from pnml.models.codec import Codec, unfitted


def _kernel(cls: type) -> Codec:
    return replace(unfitted(cls), made=refuse_endless)


KERNELS = [
    _kernel(kernels.ConstantKernel),
    _kernel(kernels.DotProduct),
    _kernel(kernels.Exponentiation),
    _kernel(kernels.ExpSineSquared),
    _kernel(kernels.Matern),
    _kernel(kernels.Product),
    _kernel(kernels.RationalQuadratic),
    _kernel(kernels.RBF),
    _kernel(kernels.Sum),
    _kernel(kernels.WhiteKernel),
]
