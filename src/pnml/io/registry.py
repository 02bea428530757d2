"""Every class that a model file may hold, field by field. Nothing else is ever made from a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels

from pnml.core.arrays import FloatArray
from pnml.core.conformal import RidgeFolds
from pnml.core.errors import InputError
from pnml.core.factor import Factor
from pnml.core.gram import Gram
from pnml.core.lasso_active import ActiveSet
from pnml.core.lasso_path import Start
from pnml.core.leave_one_out import LeaveOneOut, Path
from pnml.core.luckiness_l1 import L1Fit
from pnml.core.norm_ball.ball import Ball
from pnml.core.sample import RowSample
from pnml.core.span import Span
from pnml.core.spectrum import Spectrum
from pnml.estimators.conformal import ConformalRegressor
from pnml.estimators.difficulty import RegretDifficulty
from pnml.estimators.kernel import KernelPNMLRegressor
from pnml.estimators.lasso import LassoSolution
from pnml.estimators.least_squares import LUCKY, ORDINARY, Solution
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.norm_ball import NormBallRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.selection import Choice
from pnml.estimators.universal import UniversalRegressor
from pnml.io.schema import (
    Anything,
    Array,
    Count,
    Either,
    Fitted,
    ManyOf,
    Names,
    OneOf,
    Row,
    Same,
    Spec,
)

# Sizes that an object shares with the one it is part of: features, targets, directions, and the
# width of sampled rows. Other letters mean nothing outside the object that uses them.
SHARED_SIZES = frozenset("dkrw")

# Attributes that fitted estimators may lack: rows without names, streams from the first row on.
_SOMETIMES = frozenset({"feature_names_in_", "_sample"})


@dataclass(frozen=True)
class Entry:
    """How objects of one class are taken apart and put together."""

    cls: type
    params: Mapping[str, Spec]  # what the constructor takes
    state: Mapping[str, Spec] = field(default_factory=dict)  # what fitting adds
    sums: tuple[tuple[str, str], ...] = ()  # sizes that must be equal where both are known
    build: Callable[..., Any] | None = None  # in place of the constructor

    @property
    def name(self) -> str:
        """The name that stands in the file."""
        return self.cls.__name__

    @cached_property
    def required(self) -> frozenset[str]:
        """Constructor parameters without a default."""
        given = inspect.signature(self.build or self.cls).parameters.values()
        return frozenset(p.name for p in given if p.default is inspect.Parameter.empty)

    @property
    def needs(self) -> set[str]:
        """Attributes that every fitted object has."""
        return set(self.state) - _SOMETIMES

    def make(self, params: dict[str, Any]) -> Any:
        """The object, before fitted attributes are set."""
        return (self.build or self.cls)(**params)


def _array(*axes: str, dtype: type[np.generic] = np.float64) -> Array:
    return Array(axes, dtype)


def _start(
    active: ActiveSet,
    moment: FloatArray,
    penalty: float,
    coef: FloatArray,
    residual: float,
    dependent: list[int],
) -> Start:
    if not all(0 <= column < len(coef) for column in dependent):
        raise InputError(f"columns that depend on others are not among the {len(coef)} there are")
    return Start(active, moment, penalty, coef, residual, dependent)


def _active_set(
    gram: FloatArray, magnitude: FloatArray, index: FloatArray, inverse: FloatArray
) -> ActiveSet:
    """An active set with its inverse as it was, not computed anew."""
    columns = index.astype(np.intp)
    if not np.all((columns >= 0) & (columns < len(gram))) or not np.all(magnitude >= 0):
        raise InputError(f"the columns in use are not among the {len(gram)} of the model")
    active = ActiveSet(gram, magnitude)
    active.index, active.inverse, active.rows = columns, inverse, gram[columns]
    return active


_FLOAT = OneOf((float, np.float64))
_INT = OneOf((int,))
_BOOL = OneOf((bool,))
_CHOSEN = OneOf((float, NoneType))  # None where leave-one-out is to choose
_ANY = Anything()

_VALUES = [
    Entry(
        RowSample,
        {"keys": _array("m"), "rows": _array("m", "w"), "size": _INT, "bound": _FLOAT},
    ),
    Entry(
        Gram,
        {
            "rows": _INT,
            "weight": _FLOAT,
            "x_mean": _array("d"),
            "y_mean": _array("k"),
            "rounding": _FLOAT,
            "whole": _BOOL,
            "xx": _array("d", "d"),
            "xy": _array("d", "k"),
            "yy": _array("k", "k"),
            "sample": OneOf((RowSample,)),
        },
        sums=(("w", "d+k+1"),),
    ),
    Entry(
        Factor,
        {
            "rows": _INT,
            "weight": _FLOAT,
            "x_mean": _array("d"),
            "y_mean": _array("k"),
            "rounding": _FLOAT,
            "whole": _BOOL,
            "R": _array("q", "d+k"),
        },
    ),
    Entry(
        Span,
        {
            "scale": _array("d"),
            "V": _array("d", "r"),
            "tolerance": _FLOAT,
            "absent": _array("d"),
        },
    ),
    Entry(
        Spectrum,
        {
            "center": _array("d"),
            "scale": _array("d"),
            "V": _array("d", "r"),
            "h2": _array("r"),
            "z": _array("r", "k"),
            "y_mean": _array("k"),
            "unexplained": _array("k"),
            "weight": _FLOAT,
            "intercept_share": _FLOAT,
            "span": OneOf((Span,)),
            "squared_condition": _FLOAT,
        },
    ),
    Entry(Path, {"alphas": _array("p"), "noise_variance": _array("p"), "log_loss": _array("p")}),
    Entry(
        LeaveOneOut,
        {
            "residuals": _array("n"),
            "sds": _array("n"),
            "regrets": _array("n"),
            "log_losses": _array("n"),
            "weights": _array("n"),
            "path": OneOf((Path, NoneType)),
        },
    ),
    Entry(Choice, {"alpha": _FLOAT, "noise_variance": _FLOAT, "loo": OneOf((LeaveOneOut,))}),
    Entry(
        Solution,
        {
            "method": Same((ORDINARY, LUCKY)),
            "spectrum": OneOf((Spectrum,)),
            "choice": OneOf((Choice,)),
        },
    ),
    Entry(
        ActiveSet,
        {
            "gram": _array("d", "d"),
            "magnitude": _array("d"),
            "index": _array("a", dtype=np.int64),
            "inverse": _array("a", "a"),
        },
        build=_active_set,
    ),
    Entry(
        Start,
        {
            "active": OneOf((ActiveSet,)),
            "moment": _array("d"),
            "penalty": _FLOAT,
            "coef": _array("d"),
            "residual": _FLOAT,
            "dependent": ManyOf(list, _INT),
        },
        build=_start,
    ),
    Entry(
        L1Fit,
        {
            "start": OneOf((Start,)),
            "x_mean": _array("d"),
            "y_mean": _FLOAT,
            "weight": _FLOAT,
        },
    ),
    Entry(
        LassoSolution,
        {"spectrum": OneOf((Spectrum,)), "fit": OneOf((L1Fit,)), "choice": OneOf((Choice,))},
    ),
    Entry(
        Ball,
        {
            "h2": _array("r"),
            "t": _array("r"),
            "radius": _FLOAT,
            "omega": _FLOAT,
            "target_mean": _FLOAT,
        },
    ),
    Entry(
        RidgeFolds,
        {
            "spectrum": OneOf((Spectrum,)),
            "alpha": _FLOAT,
            "U": _array("n", "r"),
            "residuals": _array("n"),
            "slack": _array("n"),
        },
    ),
]


def _estimator(cls: type, state: dict[str, Spec]) -> Entry:
    """An estimator: any parameters, these attributes and scikit-learn's own."""
    params: dict[str, Spec] = dict.fromkeys(inspect.signature(cls).parameters, _ANY)
    columns: dict[str, Spec] = {"n_features_in_": Count("d"), "feature_names_in_": Names("d")}
    return Entry(cls, params, columns | state, sums=(("w", "d+2"),))


_LOO: dict[str, Spec] = {"_loo": OneOf((LeaveOneOut,))}
_LEAST_SQUARES: dict[str, Spec] = {
    "_asked": Row((_CHOSEN, _CHOSEN, _BOOL)),
    "_statistic": OneOf((Factor, Gram)),
    "_sample": OneOf((RowSample,)),
    "_solution": OneOf((Solution, LassoSolution, NoneType)),
}
_NORM_BALL: dict[str, Spec] = _LOO | {
    "spectrum_": OneOf((Spectrum,)),
    "_ball": OneOf((Ball,)),
    "radius_": _FLOAT,
    "coef_": _array("d"),
    "intercept_": _FLOAT,
    "noise_variance_": _FLOAT,
}
_KERNEL: dict[str, Spec] = _LOO | {
    "X_fit_": _array("n", "d"),
    "gamma_": _FLOAT,
    "alpha_": _FLOAT,
    "noise_variance_": _FLOAT,
    "_h2": _array("r"),
    "_U": _array("n", "r"),
    "_z": _array("r"),
    "_column_means": _array("n"),
    "_grand_mean": _FLOAT,
    "_y_mean": _FLOAT,
    "_intercept_share": _FLOAT,
}
_UNIVERSAL: dict[str, Spec] = _LOO | {
    "estimators_": ManyOf(list, Fitted()),
    "named_estimators_": ManyOf(dict, Fitted()),
}
_CONFORMAL: dict[str, Spec] = {
    "estimator_": Fitted(),
    "_calibration": Either((_array("n"), OneOf((RidgeFolds,)))),
}

_ESTIMATORS = [
    _estimator(PNMLRegressor, _LEAST_SQUARES),
    _estimator(LpNMLRegressor, _LEAST_SQUARES),
    _estimator(NormBallRegressor, _NORM_BALL),
    _estimator(KernelPNMLRegressor, _KERNEL),
    _estimator(UniversalRegressor, _UNIVERSAL),
    _estimator(ConformalRegressor, _CONFORMAL),
    _estimator(RegretDifficulty, {"estimator_": Fitted()}),
]

_KERNEL_CLASSES = [
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
]
_KERNELS = [
    Entry(cls, dict.fromkeys(inspect.signature(cls).parameters, _ANY)) for cls in _KERNEL_CLASSES
]

ENTRIES: dict[str, Entry] = {e.name: e for e in [*_VALUES, *_ESTIMATORS, *_KERNELS]}
ENTRY_OF: dict[type, Entry] = {e.cls: e for e in ENTRIES.values()}
MODEL_CLASSES: tuple[type, ...] = tuple(e.cls for e in _ESTIMATORS)

# Objects that hold functions are part of the library; a file only names them.
NAMED: dict[str, Any] = {"ordinary": ORDINARY, "lucky": LUCKY}

_USE_KERNELS = (
    "pass the name of a kernel, or an object made of "
    + ", ".join(cls.__name__ for cls in _KERNEL_CLASSES)
    + ", and fit again"
)
_USE_MODELS = "use " + ", ".join(cls.__name__ for cls in MODEL_CLASSES)

# What to do about an argument that no file can hold, by the name of the parameter.
ADVICE: dict[str, str] = {
    "kernel": _USE_KERNELS,
    "k1": _USE_KERNELS,
    "k2": _USE_KERNELS,
    "estimator": _USE_MODELS,
    "estimators": _USE_MODELS,
    "random_state": "pass an integer and fit again",
}
