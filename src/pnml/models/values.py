"""Codecs of the frozen values that regressors are made of, such as Gram and Spectrum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NEGATIVE
from pnml.core.conformal import GroupedScores, RidgeFolds
from pnml.core.elementwise import ELEMENTWISE
from pnml.core.geometry.span import Span
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.lasso.active_set import ActiveSet
from pnml.core.lasso.luckiness import L1Fit
from pnml.core.lasso.path import Start
from pnml.core.leave_one_out import LeaveOneOut, Path
from pnml.core.norm_ball.ball import Ball
from pnml.core.selection import Choice
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram
from pnml.core.statistic.row_sample import RowSample
from pnml.errors import InputError
from pnml.learners.lasso import Lasso
from pnml.learners.least_squares import LUCKY, ORDINARY, LeastSquares
from pnml.learners.many_targets import ManyTargets
from pnml.models.codec import value
from pnml.models.relations import RELATION_PARTS, check_own
from pnml.models.schema import Same


def _active_set(
    gram: Annotated[FloatArray, "d d"],
    magnitude: Annotated[FloatArray, "d", NOT_NEGATIVE],
    index: Annotated[npt.NDArray[np.int64], "a"],
    inverse: Annotated[FloatArray, "a a"],
) -> ActiveSet:
    """The active set with the stored inverse; computing it again would change the last bits."""
    columns = index.astype(np.intp)
    if not np.all((columns >= 0) & (columns < len(gram))):
        raise InputError(f"the columns in use are not among the {len(gram)} of the model")
    active = ActiveSet(gram, magnitude)
    active.index, active.inverse, active.rows = columns, inverse, gram[columns]
    return active


def _check_start(values: Mapping[str, Any]) -> None:
    n_columns = len(values["coef"])
    if not all(0 <= column < n_columns for column in values["dependent"]):
        raise InputError(f"columns that depend on others are not among the {n_columns} there are")


def _check_targets(values: Mapping[str, Any]) -> None:
    targets = values["targets"]
    if not targets or any(target.spectrum.z.shape[1] != 1 for target in targets):
        raise InputError("the targets of a model are none, or not one by one")
    if len({(target.choice.alpha, target.spectrum.V.shape) for target in targets}) != 1:
        raise InputError("the targets of a model have not one penalty and one geometry")


def _check_sizes(values: Mapping[str, Any]) -> None:
    scores, ends = values["scores"], np.cumsum(values["sizes"])
    if not len(ends) or int(ends[-1]) != len(scores):
        raise InputError("the conformal scores of groups are not as many as their rows")
    if not all(bool(np.all(np.diff(part) >= 0)) for part in np.split(scores, ends[:-1])):
        raise InputError("the conformal scores of a group are not in order")


# Functions of one number and dtypes, which steps of a Pipeline take as parameters.
FUNCTIONS_BY_NAME: dict[str, Any] = {name: known.function for name, known in ELEMENTWISE.items()}
DTYPES_BY_NAME: dict[str, Any] = {
    **{cls.__name__: cls for cls in (bool, float, int, object, str)},
    **{f"numpy.{cls.__name__}": cls for cls in (np.number, np.integer, np.floating, np.object_)},
    **{f"numpy.{name}": getattr(np, name) for name in ("bool_", "str_", "float16", "float32")},
    **{f"numpy.{name}": getattr(np, name) for name in ("float64", "int8", "int16", "int32")},
    **{f"numpy.{name}": getattr(np, name) for name in ("int64", "uint8")},
}
# Objects that hold functions are part of the library; a file only names them.
NAMED: dict[str, Any] = {
    "ordinary": ORDINARY,
    "lucky": LUCKY,
    **FUNCTIONS_BY_NAME,
    **DTYPES_BY_NAME,
}

VALUES = [
    value(RowSample),
    value(Gram),
    value(Factor),
    value(Span),
    value(Spectrum),
    value(Path),
    value(LeaveOneOut),
    value(Choice),
    *RELATION_PARTS,
    value(LeastSquares, check=check_own, stored_as="Solution", method=Same((ORDINARY, LUCKY))),
    replace(value(ManyTargets, check=_check_targets), apart=True),
    value(ActiveSet, build=_active_set),
    value(Start, check=_check_start),
    value(L1Fit),
    value(Lasso, check=check_own, stored_as="LassoSolution"),
    value(Ball),
    value(RidgeFolds),
    value(GroupedScores, check=_check_sizes),
]
