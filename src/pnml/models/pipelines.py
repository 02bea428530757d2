"""Codecs of Pipeline, ColumnTransformer and TransformedTargetRegressor."""

from __future__ import annotations

from collections import UserList
from collections.abc import Mapping
from types import NoneType
from typing import Any

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import Pipeline as ScikitLearnPipeline

from pnml.errors import InputError, shorten
from pnml.estimators.label_scale import LabelRange
from pnml.estimators.pipeline import Pipeline
from pnml.estimators.transformed_target import TransformedTargetRegressor
from pnml.estimators.word_codes import WordCodes
from pnml.models.codec import ANYTHING, Codec, value
from pnml.models.columns import COLUMN_PARTS
from pnml.models.preprocessing import PREPROCESSING
from pnml.models.schema import Either, Fitted, ManyOf, Names, OneOf, Row, Same, Sizeless, Spec
from pnml.models.step_widths import (
    SKIPPED,
    check_chain,
    is_fitted_step,
    resolved,
    width_in,
    width_out,
)
from pnml.models.steps import Jobs, Plain, checked_params, plain_params, transformer
from pnml.models.values import FUNCTIONS_BY_NAME

_PIPELINES = (Pipeline, ScikitLearnPipeline)
_INSIDE = ("MissingIndicator",)  # part of a step, no step itself
STEPS: tuple[type, ...] = (
    *(codec.cls for codec in PREPROCESSING if codec.name not in _INSIDE),
    ColumnTransformer,
    *_PIPELINES,
    WordCodes,
)
_STEP_NAMES = ", ".join(dict.fromkeys(cls.__name__ for cls in STEPS if cls is not WordCodes))
_NONE, _TEXT, _BOOL = OneOf((NoneType,)), OneOf((str,)), OneOf((bool,))


class Step(Sizeless):
    """Spec: a step of a Pipeline, a transformer or one of the words "passthrough" and "drop"."""

    @property
    def text(self) -> str:
        """The word "step", which describes the field in ``docs/model-file.md``."""
        return "step"

    def accepts(self, value: Any) -> bool:
        """Whether a value is a transformer of a listed class, or "passthrough" or "drop"."""
        return type(value) in STEPS or (type(value) is str and value in SKIPPED)


class LastStep(Sizeless):
    """Spec: the last step of a Pipeline, a transformer, an estimator or None."""

    @property
    def text(self) -> str:
        """The words "step or estimator", which describe the field in ``docs/model-file.md``."""
        return "step or estimator"

    def accepts(self, value: Any) -> bool:
        """Whether a value is None, a step, or an object with a method ``predict``."""
        return value is None or Step().accepts(value) or hasattr(value, "predict")


def last_of(model: Any) -> Any:
    """The last step of a Pipeline, also of a nested one; any other object is returned itself."""
    while type(model) in _PIPELINES and model.steps:
        model = model.steps[-1][1]
    return model


def refuse_other_steps(model: Any) -> None:
    """Raise InputError if a Pipeline caches its steps or has a step that a file cannot hold."""
    if model.memory is not None:
        raise InputError(
            "This Pipeline caches its steps in memory, which a model file cannot hold; call "
            "set_params(memory=None) before saving."
        )
    for name, step in model.steps[:-1]:
        _refuse_other(name, step)


def _refuse_other_columns(model: ColumnTransformer) -> None:
    for name, step, _ in model.transformers:
        _refuse_other(name, step)


def _refuse_other(name: Any, step: Any) -> None:
    if step is not None and not Step().accepts(step):
        raise InputError(
            f"The step {shorten(name)!r} is a {shorten(type(step).__name__)}, which a model file "
            f"cannot hold; use {_STEP_NAMES}, or save the last step alone."
        )


def _check_steps(values: Mapping[str, Any]) -> None:
    steps = values["steps"]
    names = [name for name, _ in steps]
    if not steps or len(set(names)) != len(names) or any("__" in name for name in names):
        raise InputError("the steps of a Pipeline have no names of their own")
    before = [step for _, step in steps[:-1]]
    taken = all(step is None or Step().accepts(step) for step in before)
    if not taken or any(isinstance(step, str) and step == "drop" for _, step in steps):
        raise InputError("a step of a Pipeline does not transform rows")
    if is_fitted_step(steps[-1][1]):
        check_chain([step for _, step in steps])


def _fitted(model: Any) -> bool:
    return is_fitted_step(last_of(model))


def _columns_state(model: ColumnTransformer) -> dict[str, Any]:
    indices = {
        name: [int(at) for at in places]
        for name, places in model._transformer_to_input_indices.items()
    }
    # scikit-learn before 1.8 has a list of its own for the columns of the remainder
    parts = [(n, s, c.data if isinstance(c, UserList) else c) for n, s, c in model.transformers_]
    return {
        "transformers_": parts,
        "sparse_output_": bool(model.sparse_output_),
        "_transformer_to_input_indices": indices,
    }


def _columns(made: ColumnTransformer, state: Mapping[str, Any]) -> dict[str, Any]:
    parts, indices = state["transformers_"], state["_transformer_to_input_indices"]
    asked = [name for name, _, _ in made.transformers]
    named = [name for name, _, _ in parts]
    if named not in (asked, [*asked, "remainder"]) or set(indices) != {*asked, "remainder"}:
        raise InputError("the parts of a ColumnTransformer are not those it was made of")
    start, outputs = 0, {}
    for name, step, columns in parts:
        places = indices[name]
        if not all(type(at) is int and 0 <= at < state["n_features_in_"] for at in places):
            raise InputError("a ColumnTransformer takes columns that the rows do not have")
        if places != resolved(columns, state["n_features_in_"], state.get("feature_names_in_")):
            raise InputError(f"the part {shorten(name)!r} names other columns than it takes")
        if step in SKIPPED or not places:
            continue
        if not is_fitted_step(step) or width_in(step) not in (None, len(places)):
            raise InputError(f"the part {shorten(name)!r} was not fitted to its columns")
        outputs[name] = slice(start, start + width_out(step))
        start = outputs[name].stop
    empty = {name: slice(0, 0) for name in [*named, "remainder"] if name not in outputs}
    rest = parts[-1][2] if len(parts) > len(asked) else []
    return dict(state) | {
        "_columns": [columns for _, _, columns in parts[: len(asked)]],
        "_remainder": ("remainder", made.remainder, rest),
        "output_indices_": outputs | empty,
    }


def _check_range(values: Mapping[str, Any]) -> None:
    if not values["low"] < values["high"] or not values["z_low"] < values["z_high"]:
        raise InputError("the labels that a transform reaches are none")


def _check_target(values: Mapping[str, Any]) -> None:
    if "transformer_" not in values:
        return  # not fitted
    step = values["transformer_"]
    if not is_fitted_step(step) or not hasattr(step, "inverse_transform"):
        raise InputError("the transformer of a target has no inverse, or is not fitted")
    if not hasattr(values["regressor_"], "predict"):
        raise InputError("the regressor of a transformed target predicts nothing")
    if width_in(step) not in (None, 1) and values["_labels"] is not None:
        raise InputError("the transformer of a target takes more than one column")


def _pipeline(cls: type, stored_as: str = "") -> Codec:
    params = plain_params(cls)
    params |= {"steps": ManyOf(list, Row((_TEXT, LastStep()))), "memory": _NONE}
    params |= {"transform_input": Either((_NONE, ManyOf(list, _TEXT))), "verbose": _BOOL}
    return Codec(
        cls,
        params,
        check=_check_steps,
        stored_as=stored_as,
        made=checked_params,
        savable=refuse_other_steps,
        fitted=_fitted,
    )


_FUNCTION = Same((*FUNCTIONS_BY_NAME.values(), None))
_COLUMN_CHOICE = Either((Plain(), OneOf((make_column_selector,))))
_PARTS: dict[str, Spec] = {
    "transformers_": ManyOf(list, Row((_TEXT, Step(), Plain()))),
    "sparse_output_": _BOOL,
    "_transformer_to_input_indices": ManyOf(dict, Plain()),
}
_SET_BY_TRANSFORM = "_transformers_feature_names_out"  # of data frames, and set again by the next
_COLUMN_PARTS = transformer(
    ColumnTransformer,
    _PARTS,
    attributes=frozenset({"_columns", "_remainder", "output_indices_", _SET_BY_TRANSFORM}),
    store=_columns_state,
    restore=_columns,
    savable=_refuse_other_columns,
    transformers=ManyOf(list, Row((_TEXT, Step(), _COLUMN_CHOICE))),
    remainder=Step(),
    n_jobs=Jobs(),
    verbose_feature_names_out=OneOf((bool, str)),
)
PIPELINE_PARTS = [
    *PREPROCESSING,
    *COLUMN_PARTS,
    Codec(make_column_selector, plain_params(make_column_selector)),
    _COLUMN_PARTS,
    _pipeline(ScikitLearnPipeline, "ScikitLearnPipeline"),
    value(LabelRange, check=_check_range),
]
PIPELINES = [
    _pipeline(Pipeline),
    Codec(
        TransformedTargetRegressor,
        {
            "regressor": ANYTHING,
            "transformer": Either((_NONE, Step())),
            "func": _FUNCTION,
            "inverse_func": _FUNCTION,
            "check_inverse": _BOOL,
        },
        {
            "regressor_": Fitted(),
            "transformer_": Step(),
            "_training_dim": OneOf((int,)),
            "_labels": OneOf((LabelRange, NoneType)),
            "feature_names_in_": Names("d"),
        },
        check=_check_target,
        made=checked_params,
        fitted=lambda model: "regressor_" in vars(model),
    ),
]
