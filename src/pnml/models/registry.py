"""Every class that a model file may hold, field by field. Nothing else is ever made from a file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import NoneType
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels

from pnml.core.arrays import FloatArray
from pnml.core.conformal import RidgeFolds
from pnml.core.geometry.span import Span
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.lasso.active_set import ActiveSet
from pnml.core.lasso.luckiness import L1Fit
from pnml.core.lasso.path import Start
from pnml.core.leave_one_out import LeaveOneOut, Path
from pnml.core.norm_ball.ball import Ball
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram
from pnml.core.statistic.row_sample import RowSample
from pnml.errors import InputError
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
from pnml.models.classifiers import CLASSIFIER_PARTS, CLASSIFIERS
from pnml.models.codec import ANYTHING, Entry, array, estimator
from pnml.models.schema import (
    Either,
    Fitted,
    ManyOf,
    OneOf,
    Row,
    Same,
    Spec,
)
from pnml.models.trees import GROWN_BY, TREE_PARTS, TREES

# Sizes that an object shares with the one it is part of: features, targets, directions, and the
# width of sampled rows. Other letters mean nothing outside the object that uses them.
SHARED_SIZES = frozenset("dkrw")


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

_VALUES = [
    Entry(
        RowSample,
        {"keys": array("m"), "rows": array("m", "w"), "size": _INT, "bound": _FLOAT},
    ),
    Entry(
        Gram,
        {
            "rows": _INT,
            "weight": _FLOAT,
            "x_mean": array("d"),
            "y_mean": array("k"),
            "rounding": _FLOAT,
            "whole": _BOOL,
            "xx": array("d", "d"),
            "xy": array("d", "k"),
            "yy": array("k", "k"),
            "sample": OneOf((RowSample,)),
            "lost": Either((array("d"), OneOf((NoneType,)))),
        },
        sums=(("w", "d+k+1"),),
    ),
    Entry(
        Factor,
        {
            "rows": _INT,
            "weight": _FLOAT,
            "x_mean": array("d"),
            "y_mean": array("k"),
            "rounding": _FLOAT,
            "whole": _BOOL,
            "R": array("q", "d+k"),
        },
    ),
    Entry(
        Span,
        {
            "scale": array("d"),
            "V": array("d", "r"),
            "tolerance": _FLOAT,
            "absent": array("d"),
        },
    ),
    Entry(
        Spectrum,
        {
            "center": array("d"),
            "scale": array("d"),
            "V": array("d", "r"),
            "h2": array("r"),
            "z": array("r", "k"),
            "y_mean": array("k"),
            "unexplained": array("k"),
            "weight": _FLOAT,
            "intercept_share": _FLOAT,
            "span": OneOf((Span,)),
            "squared_condition": _FLOAT,
        },
    ),
    Entry(Path, {"alphas": array("p"), "noise_variance": array("p"), "log_loss": array("p")}),
    Entry(
        LeaveOneOut,
        {
            "residuals": array("n"),
            "sds": array("n"),
            "regrets": array("n"),
            "log_losses": array("n"),
            "weights": array("n"),
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
            "gram": array("d", "d"),
            "magnitude": array("d"),
            "index": array("a", dtype=np.int64),
            "inverse": array("a", "a"),
        },
        build=_active_set,
    ),
    Entry(
        Start,
        {
            "active": OneOf((ActiveSet,)),
            "moment": array("d"),
            "penalty": _FLOAT,
            "coef": array("d"),
            "residual": _FLOAT,
            "dependent": ManyOf(list, _INT),
        },
        build=_start,
    ),
    Entry(
        L1Fit,
        {
            "start": OneOf((Start,)),
            "x_mean": array("d"),
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
            "h2": array("r"),
            "t": array("r"),
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
            "U": array("n", "r"),
            "residuals": array("n"),
            "slack": array("n"),
        },
    ),
]


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
    "coef_": array("d"),
    "intercept_": _FLOAT,
    "noise_variance_": _FLOAT,
}
_KERNEL: dict[str, Spec] = _LOO | {
    "X_fit_": array("n", "d"),
    "gamma_": _FLOAT,
    "alpha_": _FLOAT,
    "noise_variance_": _FLOAT,
    "_h2": array("r"),
    "_U": array("n", "r"),
    "_z": array("r"),
    "_column_means": array("n"),
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
    "_calibration": Either((array("n"), OneOf((RidgeFolds,)))),
}
_ESTIMATORS = [
    estimator(PNMLRegressor, _LEAST_SQUARES),
    estimator(LpNMLRegressor, _LEAST_SQUARES),
    estimator(NormBallRegressor, _NORM_BALL),
    estimator(KernelPNMLRegressor, _KERNEL),
    estimator(UniversalRegressor, _UNIVERSAL),
    estimator(ConformalRegressor, _CONFORMAL),
    estimator(RegretDifficulty, {"estimator_": Fitted()}),
    *CLASSIFIERS,
    *TREES,
]
# Models of tables need pyarrow, which the rest does without.
_TABLES = import_module("pnml.models.table_models") if find_spec("pyarrow") else None
_TABLE_NAMES = {"NumberColumn", "CategoryColumn", "Encoder", "TableModel"}
_TABLE_PARTS: list[Entry] = _TABLES.TABLE_PARTS if _TABLES else []
_TABLE_MODELS: list[Entry] = _TABLES.TABLE_MODELS if _TABLES else []

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
    Entry(cls, dict.fromkeys(inspect.signature(cls).parameters, ANYTHING))
    for cls in _KERNEL_CLASSES
]

ENTRIES: dict[str, Entry] = {
    e.name: e
    for e in [
        *_VALUES,
        *CLASSIFIER_PARTS,
        *TREE_PARTS,
        *_ESTIMATORS,
        *_KERNELS,
        *_TABLE_PARTS,
        *_TABLE_MODELS,
    ]
}


def refuse_lacking(described: Mapping[str, Any]) -> None:
    """Raise where a model is one of a table and pyarrow, which it needs, is not installed."""
    objects = described.get("objects")
    for item in objects if isinstance(objects, list) else ():
        name = item.get("class") if isinstance(item, dict) else None
        if isinstance(name, str) and name in _TABLE_NAMES - set(ENTRIES):
            raise InputError(
                "it is a model of a table, which needs pyarrow; run "
                'pip install "pnml[cli]" and load it again.'
            )


ENTRY_OF: dict[type, Entry] = {e.cls: e for e in ENTRIES.values()}
MODEL_CLASSES: tuple[type, ...] = tuple(e.cls for e in [*_ESTIMATORS, *_TABLE_MODELS])
# What a file can hold at its top; the last of them has a layout of its own.
MODEL_NAMES = (*(cls.__name__ for cls in MODEL_CLASSES), "LastLayerPNML")

# Objects that hold functions are part of the library; a file only names them.
NAMED: dict[str, Any] = {"ordinary": ORDINARY, "lucky": LUCKY}

_USE_KERNELS = (
    "pass the name of a kernel, or an object made of "
    + ", ".join(cls.__name__ for cls in _KERNEL_CLASSES)
    + ", and fit again"
)
_USE_MODELS = (
    "use "
    + ", ".join(cls.__name__ for cls in MODEL_CLASSES)
    + ", or a LogisticRegression inside a PNMLClassifier, or "
    + ", ".join(cls.__name__ for cls in GROWN_BY)
    + ", not frozen, inside the estimators of trees"
)

# What to do about an argument that no file can hold, by the name of the parameter.
ADVICE: dict[str, str] = {
    "kernel": _USE_KERNELS,
    "k1": _USE_KERNELS,
    "k2": _USE_KERNELS,
    "estimator": _USE_MODELS,
    "estimators": _USE_MODELS,
    "classes_": "turn the labels into int64, float64, bool or text and fit again",
    "random_state": "pass an integer and fit again",
}
