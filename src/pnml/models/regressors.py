"""Codecs of regressors, which convert their fitted values to and from the fields of a file."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from pnml.core.conditions import ANY_NUMBER, IN_ORDER, NOT_NEGATIVE, POSITIVE
from pnml.core.conformal import GroupedScores, RidgeFolds
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.kernel import KernelMatrix
from pnml.core.later import Later
from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.norm_ball.ball import Ball
from pnml.core.selection import Choice
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram
from pnml.core.statistic.row_sample import RowSample
from pnml.errors import InputError
from pnml.estimators.calibration_rows import RowGroups
from pnml.estimators.conformal import ConformalRegressor
from pnml.estimators.difficulty import RegretDifficulty
from pnml.estimators.kernel import KernelPNMLRegressor
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.norm_ball import NormBallRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml.estimators.universal import UniversalRegressor
from pnml.learners.kernel import KernelRidge
from pnml.learners.lasso import Lasso
from pnml.learners.least_squares import LeastSquares
from pnml.learners.many_targets import ManyTargets
from pnml.learners.norm_ball import NormBall
from pnml.learners.union import Union
from pnml.models.codec import Conversion, array, estimator, number, value
from pnml.models.kernels import KERNEL_PARAMS
from pnml.models.relations import RELATIONS, relations_in
from pnml.models.schema import Either, Fitted, ManyOf, Number, OneOf, Row, Spec, Texts

_FLOAT, _NOT_NEGATIVE = number(), number(NOT_NEGATIVE)
_BOOL = OneOf((bool,))
_CHOSEN = Either(
    (Number((float,), NOT_NEGATIVE), OneOf((NoneType,)))
)  # null: leave-one-out chooses

_LOO: dict[str, Spec] = {"_loo": OneOf((LeaveOneOut,))}
_LEAST_SQUARES: dict[str, Spec] = {
    "_asked": Row((_CHOSEN, _CHOSEN, _BOOL)),
    "_statistic": OneOf((Factor, Gram)),
    "_sample": OneOf((RowSample,)),
    "_solution": OneOf((LeastSquares, Lasso, ManyTargets, NoneType)),
}
_NORM_BALL: dict[str, Spec] = _LOO | {
    "spectrum_": OneOf((Spectrum,)),
    "_ball": OneOf((Ball,)),
    "radius_": _NOT_NEGATIVE,
    "coef_": array("d"),
    "intercept_": _FLOAT,
    "noise_variance_": _NOT_NEGATIVE,
    "_relations": RELATIONS,
}
_KERNEL: dict[str, Spec] = _LOO | {
    "X_fit_": array("n", "d"),
    "gamma_": number(POSITIVE),
    "alpha_": number(POSITIVE),
    "noise_variance_": _NOT_NEGATIVE,
    "_h2": array("r", holds=NOT_NEGATIVE),
    "_U": array("n", "r"),
    "_z": array("r"),
    "_column_means": array("n"),
    "_grand_mean": _FLOAT,
    "_y_mean": _FLOAT,
    "_intercept_share": _NOT_NEGATIVE,
    "_relations": RELATIONS,
}
_UNIVERSAL: dict[str, Spec] = _LOO | {
    "estimators_": ManyOf(list, Fitted()),
    "named_estimators_": ManyOf(dict, Fitted()),
}
_CONFORMAL: dict[str, Spec] = {
    "estimator_": Fitted(),
    "_calibration": Either((array("n", holds=IN_ORDER), OneOf((RidgeFolds, GroupedScores)))),
    "_groups": OneOf((RowGroups,)),
}

_GROUP_NAMES = Either(
    (
        Texts("g"),
        array("g", dtype=np.int64),
        array("g"),
        array("g", dtype=np.bool_, holds=ANY_NUMBER),
    )
)

_VALUE = frozenset({"learner_"})


def _check_groups(values: Mapping[str, Any]) -> None:
    scores, groups = values.get("_calibration"), values.get("_groups")
    names = 0 if groups is None else len(groups.names)
    if (len(scores.sizes) if isinstance(scores, GroupedScores) else 0) != names:
        raise InputError("the scores of a ConformalRegressor are not those of its groups")


def _stream_state(model: Any) -> dict[str, Any]:
    held = vars(model)
    names = ("_asked", "_statistic", "_sample")
    state = {name: held[name] for name in names if name in held}
    if isinstance(state.get("_sample"), Later):
        state["_sample"] = state["_sample"].value
    return state | {"_solution": held["_learner"]}


def _check_stream(values: Mapping[str, Any]) -> None:
    statistic = values.get("_statistic")
    if isinstance(statistic, Factor) and values.get("_solution") is None:
        raise InputError("what it has learnt of rows in memory is not solved")
    if isinstance(statistic, Gram) and (statistic.xy.shape[1] != 1 or not statistic.rows):
        raise InputError("what it has learnt is of no rows, or of other than one target")


def _stream(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    names = ("_asked", "_statistic", "_sample")
    held = {name: state[name] for name in names if name in state}
    return held | {"_learner": state["_solution"]}


_STREAM = Conversion(
    frozenset({"_asked", "_statistic", "_sample", "_learner"}), _stream_state, _stream
)


def _ball_state(model: NormBallRegressor) -> dict[str, Any]:
    value = model.learner_
    return {
        "_loo": value.loo,
        "spectrum_": value.spectrum,
        "_ball": value.ball,
        "radius_": value.ball.radius,
        "coef_": value.slopes,
        "intercept_": value.intercept,
        "noise_variance_": value.noise_variance,
        "_relations": value.relations,
    }


def _ball(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    noise, relations = state["noise_variance_"], relations_in(state)
    ball = NormBall(state["spectrum_"], state["_ball"], noise, state["_loo"], relations)
    return {"learner_": ball}


def _kernel_state(model: KernelPNMLRegressor) -> dict[str, Any]:
    value = model.learner_
    return {
        "_loo": value.loo,
        "X_fit_": value.X,
        "gamma_": value.kernel.gamma,
        "alpha_": value.choice.alpha,
        "noise_variance_": value.choice.noise_variance,
        "_h2": value.matrix.h2,
        "_U": value.matrix.U,
        "_z": value.z,
        "_column_means": value.matrix.column_means,
        "_grand_mean": value.matrix.grand_mean,
        "_y_mean": value.y_mean,
        "_intercept_share": value.matrix.intercept_share,
        "_relations": value.relations,
    }


def _kernel(made: KernelPNMLRegressor, state: Mapping[str, Any]) -> dict[str, Any]:
    matrix = KernelMatrix(
        state["_h2"],
        state["_U"],
        state["_column_means"],
        state["_grand_mean"],
        state["_intercept_share"],
    )
    choice = Choice(state["alpha_"], state["noise_variance_"], state["_loo"])
    kernel = made.kernel_function(state["gamma_"])
    parts = kernel, state["X_fit_"], matrix, state["_z"], state["_y_mean"], choice
    return {"learner_": KernelRidge(*parts, relations_in(state))}


def _union_state(model: UniversalRegressor) -> dict[str, Any]:
    return {
        "_loo": model.loo_,
        "estimators_": model.estimators_,
        "named_estimators_": model.named_estimators_,
    }


def _union(made: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    members = [getattr(member, "learner_", None) for member in state["estimators_"]]
    learners = tuple(member for member in members if member is not None)
    if not learners or len(learners) < len(members):
        raise InputError("the classes of a UniversalRegressor are not fitted learners")
    value = Union(learners, state["_loo"])
    names = ("estimators_", "named_estimators_")
    return {"learner_": value} | {name: state[name] for name in names}


_UNION = Conversion(_VALUE | {"estimators_", "named_estimators_"}, _union_state, _union)


REGRESSORS = [
    estimator(PNMLRegressor, _LEAST_SQUARES, _check_stream, _STREAM),
    estimator(LpNMLRegressor, _LEAST_SQUARES, _check_stream, _STREAM),
    estimator(NormBallRegressor, _NORM_BALL, convert=Conversion(_VALUE, _ball_state, _ball)),
    estimator(
        KernelPNMLRegressor,
        _KERNEL,
        convert=Conversion(_VALUE, _kernel_state, _kernel),
        params=KERNEL_PARAMS,
    ),
    estimator(UniversalRegressor, _UNIVERSAL, convert=_UNION),
    value(RowGroups, names=_GROUP_NAMES),
    estimator(ConformalRegressor, _CONFORMAL, _check_groups),
    estimator(RegretDifficulty, {"estimator_": Fitted()}),
]
