"""Functions of one number that files may name, with the logarithms of their slopes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from pnml.core.arrays import FloatArray


@dataclass(frozen=True)
class Elementwise:
    """A function of one number, and its log |derivative| as a function, or None if not listed."""

    function: Callable[..., Any]
    log_slope: Callable[[FloatArray], FloatArray] | None = None


def _log_cosh(y: FloatArray) -> FloatArray:
    size = np.abs(y)
    out: FloatArray = size + np.log1p(np.exp(-2 * size)) - np.log(2)
    return out


# By name in a file. Slopes follow from the derivatives that every table of integrals gives.
ELEMENTWISE: dict[str, Elementwise] = {
    "numpy.absolute": Elementwise(np.absolute),
    "numpy.arcsinh": Elementwise(np.arcsinh, lambda y: -np.log(np.hypot(1, y))),
    "numpy.arctan": Elementwise(np.arctan, lambda y: -2 * np.log(np.hypot(1, y))),
    "numpy.arctanh": Elementwise(np.arctanh, lambda y: -np.log1p(-y) - np.log1p(y)),
    "numpy.cbrt": Elementwise(np.cbrt, lambda y: -np.log(3) - 2 / 3 * np.log(np.abs(y))),
    "numpy.cos": Elementwise(np.cos),
    "numpy.exp": Elementwise(np.exp, lambda y: +y),
    "numpy.exp2": Elementwise(np.exp2, lambda y: y * np.log(2) + np.log(np.log(2))),
    "numpy.expm1": Elementwise(np.expm1, lambda y: +y),
    "numpy.log": Elementwise(np.log, lambda y: -np.log(y)),
    "numpy.log10": Elementwise(np.log10, lambda y: -np.log(y) - np.log(np.log(10))),
    "numpy.log1p": Elementwise(np.log1p, lambda y: -np.log1p(y)),
    "numpy.log2": Elementwise(np.log2, lambda y: -np.log(y) - np.log(np.log(2))),
    "numpy.negative": Elementwise(np.negative, np.zeros_like),
    "numpy.positive": Elementwise(np.positive, np.zeros_like),
    "numpy.reciprocal": Elementwise(np.reciprocal, lambda y: -2 * np.log(np.abs(y))),
    "numpy.sign": Elementwise(np.sign),
    "numpy.sin": Elementwise(np.sin),
    "numpy.sinh": Elementwise(np.sinh, _log_cosh),
    "numpy.sqrt": Elementwise(np.sqrt, lambda y: -np.log(2) - 0.5 * np.log(y)),
    "numpy.square": Elementwise(np.square, lambda y: np.log(2) + np.log(np.abs(y))),
    "numpy.tan": Elementwise(np.tan, lambda y: -2 * np.log(np.abs(np.cos(y)))),
    "numpy.tanh": Elementwise(np.tanh, lambda y: -2 * _log_cosh(y)),
    "scipy.special.expit": Elementwise(expit, lambda y: -np.logaddexp(0, y) - np.logaddexp(0, -y)),
    "scipy.special.logit": Elementwise(logit, lambda y: -np.log(y) - np.log1p(-y)),
}


def log_slope_of(function: Any) -> Callable[[FloatArray], FloatArray] | None:
    """Function y → log |f′(y)| for a function f of the table `ELEMENTWISE`.

    None if the table has no f, or no derivative for it.

    >>> log_slope_of(np.log)(np.array([1.0, np.e])).tolist()
    [-0.0, -1.0]
    """
    for known in ELEMENTWISE.values():
        if known.function is function:
            return known.log_slope
    return None
