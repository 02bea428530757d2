"""Codecs of scikit-learn's kernels, which a KernelPNMLRegressor takes as parameter."""

from __future__ import annotations

from dataclasses import replace
from types import NoneType

from sklearn.gaussian_process import kernels
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from pnml.core.conditions import MAY_BE_INFINITE, POSITIVE
from pnml.learners.kernel_function import refuse_endless
from pnml.models.codec import ANYTHING, Codec, number, numbers, unfitted
from pnml.models.schema import Anything, Either, ManyOf, OneOf, Setting, Spec, Word

_KERNEL = OneOf(
    (
        kernels.ConstantKernel,
        kernels.DotProduct,
        kernels.Exponentiation,
        kernels.ExpSineSquared,
        kernels.Matern,
        kernels.Product,
        kernels.RationalQuadratic,
        kernels.RBF,
        kernels.Sum,
        kernels.WhiteKernel,
    )
)
# What KernelPNMLRegressor takes as kernel, and its keywords for one that is a function.
KERNEL_PARAMS: dict[str, Spec] = {
    "kernel": Either((_KERNEL, Word(frozenset(PAIRWISE_KERNEL_FUNCTIONS)))),
    "kernel_params": Either((ManyOf(dict, Anything()), OneOf((NoneType,)))),
}
_NUMBER = Setting(())
_WIDTH = Either(
    (_NUMBER, ManyOf(list, _NUMBER), ManyOf(tuple, _NUMBER), *numbers("d", holds=POSITIVE))
)


def _kernel(cls: type) -> Codec:
    """Codec of a kernel, whose parameters are numbers, bounds of them, or kernels."""
    codec = unfitted(cls)
    kinds = _PARAMS if cls in _WIDTHS_BY_COLUMN else _PARAMS | {"length_scale": _NUMBER}
    params: dict[str, Spec] = {
        name: ANYTHING if name.endswith("_bounds") else kinds.get(name, _NUMBER)
        for name in codec.params
    }
    return replace(codec, params=params, made=refuse_endless, apart=True)


_PARAMS: dict[str, Spec] = {
    **dict.fromkeys(("k1", "k2", "kernel"), _KERNEL),
    "length_scale": _WIDTH,
    "nu": Either((_NUMBER, number(MAY_BE_INFINITE))),
}


# The other kernels take one length scale for all columns.
_WIDTHS_BY_COLUMN = (kernels.RBF, kernels.Matern)

KERNELS = list(map(_kernel, _KERNEL.classes))
