"""Models of tables in model files: columns, categories, and the learner behind them."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from pnml.errors import InputError
from pnml.models.codec import Entry, array
from pnml.models.schema import Either, Fitted, ManyOf, OneOf, Row, Spec
from pnml.tables.encoder import CategoryColumn, Encoder, NumberColumn, Patterns
from pnml.tables.learners import LEARNERS
from pnml.tables.model import TableModel
from pnml.tables.roles import Role
from pnml.tables.targets import Target

_TEXT = OneOf((str,))
_INT = OneOf((int,))
_PLACE = OneOf((int, NoneType))
_TEXTS = ManyOf(tuple, _TEXT)


def _check_number(values: Mapping[str, Any]) -> None:
    if not (np.isfinite(values["fill"]) and 0 < values["scale"] < np.inf):
        raise InputError(f"its column {values['name']!r} has no mean or no spread")


def _check_category(values: Mapping[str, Any]) -> None:
    levels, places = values["levels"], values["level_places"]
    if len(levels) != len(places) or len(set(levels)) != len(levels):
        raise InputError("the words of a column do not have one place each")


def _check_encoder(values: Mapping[str, Any]) -> None:
    places = [place for column in values["columns"] for place in column.places]
    right = values["width"] == len(places) + 1 and sorted(places) == [*range(1, values["width"])]
    if not right:
        raise InputError(f"its columns do not fill the {values['width']} places of a row")
    names = [column.name for column in values["columns"]]
    if len(set(names)) != len(names):
        raise InputError("two of its columns have one name")
    seen = values["patterns"].seen
    if seen is not None and seen.shape[1] != len(values["columns"]):
        raise InputError("its patterns of missing cells are not of its columns")


def _check_model(values: Mapping[str, Any]) -> None:
    learner, task = values["learner"], values["target"].task
    if learner not in LEARNERS or task != LEARNERS[learner].task:
        raise InputError(f"it names the learner {learner!r}, which is not known here for {task}")
    if type(values["estimator"]) is not type(LEARNERS[learner].make()):
        raise InputError(f"what it holds is not the learner {learner!r}")
    if learner not in dict(values["losses"]):
        raise InputError(f"it has no log-loss of its learner {learner!r}")
    if values["estimator"].n_features_in_ != values["encoder"].width:
        raise InputError("its learner was not fitted to rows as its columns make them")


_NUMBER: dict[str, Spec] = {
    "name": _TEXT,
    "is_date": OneOf((bool,)),
    "fill": OneOf((float,)),
    "scale": OneOf((float,)),
    "value": _INT,
    "missing": _PLACE,
}
_CATEGORY: dict[str, Spec] = {
    "name": _TEXT,
    "levels": _TEXTS,
    "level_places": ManyOf(tuple, _INT),
    "missing": _PLACE,
}
_MODEL: dict[str, Spec] = {
    "estimator": Fitted(),
    "encoder": OneOf((Encoder,)),
    "target": OneOf((Target,)),
    "learner": _TEXT,
    "losses": ManyOf(tuple, Row((_TEXT, OneOf((float,))))),
    "roles": ManyOf(tuple, OneOf((Role,))),
    "types": ManyOf(tuple, Row((_TEXT, _TEXT))),
    "id_columns": _TEXTS,
    "rows": _INT,
    "remarks": _TEXTS,
}

TABLE_PARTS = [
    Entry(NumberColumn, _NUMBER, check=_check_number),
    Entry(CategoryColumn, _CATEGORY, check=_check_category),
    Entry(Patterns, {"seen": Either((array("p", "c", dtype=np.bool_), OneOf((NoneType,))))}),
    Entry(
        Encoder,
        {
            "columns": ManyOf(tuple, OneOf((NumberColumn, CategoryColumn))),
            "width": _INT,
            "patterns": OneOf((Patterns,)),
        },
        check=_check_encoder,
    ),
    Entry(Target, {"name": _TEXT, "task": _TEXT, "kind": _TEXT}),
    Entry(Role, {"column": _TEXT, "kind": _TEXT, "remark": _TEXT}),
]
TABLE_MODELS = [Entry(TableModel, _MODEL, check=_check_model)]
