"""Registry of the codecs: a model file holds objects of these classes and no others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import NoneType
from typing import Any

import numpy as np

from pnml.core.conformal import RidgeFolds
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.norm_ball.ball import Ball
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram
from pnml.core.statistic.row_sample import RowSample
from pnml.errors import InputError
from pnml.estimators.conformal import ConformalRegressor
from pnml.estimators.difficulty import RegretDifficulty
from pnml.estimators.kernel import KernelPNMLRegressor
from pnml.estimators.lasso import LassoSolution
from pnml.estimators.least_squares import Solution
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.norm_ball import NormBallRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.universal import UniversalRegressor
from pnml.models.classifiers import CLASSIFIER_PARTS, CLASSIFIERS
from pnml.models.codec import Codec, array, estimator
from pnml.models.kernels import KERNELS
from pnml.models.schema import Either, Fitted, ManyOf, OneOf, Row, Spec
from pnml.models.trees import GROWN_BY, TREE_PARTS, TREES
from pnml.models.values import VALUES

# Sizes that an object shares with the one it is part of: features, targets, directions, and the
# width of sampled rows. Other letters mean nothing outside the object that uses them.
SHARED_SIZES = frozenset("dkrw")

_FLOAT = OneOf((float, np.float64))
_BOOL = OneOf((bool,))
_CHOSEN = OneOf((float, NoneType))  # None where leave-one-out is to choose

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
# Table models need pyarrow; the other models work without it.
_TABLES = import_module("pnml.models.table_models") if find_spec("pyarrow") else None
_TABLE_NAMES = {"NumberColumn", "CategoryColumn", "Encoder", "TableModel"}
_TABLE_PARTS: list[Codec] = _TABLES.TABLE_PARTS if _TABLES else []
_TABLE_MODELS: list[Codec] = _TABLES.TABLE_MODELS if _TABLES else []

CODECS: dict[str, Codec] = {
    codec.name: codec
    for codec in [
        *VALUES,
        *CLASSIFIER_PARTS,
        *TREE_PARTS,
        *_ESTIMATORS,
        *KERNELS,
        *_TABLE_PARTS,
        *_TABLE_MODELS,
    ]
}


def refuse_without_pyarrow(described: Mapping[str, Any]) -> None:
    """Raise where the model is one of a table and pyarrow is not installed."""
    objects = described.get("objects")
    for item in objects if isinstance(objects, list) else ():
        name = item.get("class") if isinstance(item, dict) else None
        if isinstance(name, str) and name in _TABLE_NAMES - set(CODECS):
            raise InputError(
                "it is a model of a table, which needs pyarrow; run "
                'pip install "pnml[cli]" and load it again.'
            )


CODEC_OF: dict[type, Codec] = {codec.cls: codec for codec in CODECS.values()}
MODEL_CLASSES: tuple[type, ...] = tuple(codec.cls for codec in [*_ESTIMATORS, *_TABLE_MODELS])
# Classes that a file can hold as its model; the last one has a layout of its own.
MODEL_NAMES = (*(cls.__name__ for cls in MODEL_CLASSES), "LastLayerPNML")

_USE_KERNELS = (
    "pass the name of a kernel, or an object made of "
    + ", ".join(codec.name for codec in KERNELS)
    + ", and fit again"
)
_USE_MODELS = (
    "use "
    + ", ".join(cls.__name__ for cls in MODEL_CLASSES)
    + ", or a LogisticRegression inside a PNMLClassifier, or "
    + ", ".join(cls.__name__ for cls in GROWN_BY)
    + ", not frozen, inside the estimators of trees"
)

# Advice for an argument that no file can hold, by the name of the parameter.
ADVICE: dict[str, str] = {
    "kernel": _USE_KERNELS,
    "k1": _USE_KERNELS,
    "k2": _USE_KERNELS,
    "estimator": _USE_MODELS,
    "estimators": _USE_MODELS,
    "classes_": "turn the labels into int64, float64, bool or text and fit again",
    "random_state": "pass an integer and fit again",
}
