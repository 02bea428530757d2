"""Own converters for scikit-learn steps that skl2onnx converts inexactly or in float32 only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    StringTensorType,
    guess_proto_type,
)
from skl2onnx.operator_converters.common import concatenate_variables
from skl2onnx.operator_converters.imputer_op import convert_sklearn_imputer
from skl2onnx.operator_converters.one_hot_encoder import convert_sklearn_one_hot_encoder
from skl2onnx.shape_calculators.imputer import calculate_sklearn_imputer_output_shapes
from skl2onnx.shape_calculators.one_hot_encoder import (
    calculate_sklearn_one_hot_encoder_output_shapes,
)
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from onnx import numpy_helper


class _Step:
    """Adds the ONNX nodes of one scikit-learn step to skl2onnx's container."""

    def __init__(self, scope: Any, operator: Any, container: Any) -> None:
        self.scope, self.container = scope, container
        self.model = operator.raw_operator
        self.element = guess_proto_type(operator.inputs[0].type)
        self.dtype = np.float32 if self.element == 1 else np.float64
        self.rows = concatenate_variables(scope, operator.inputs, container)
        self.output = operator.outputs[0].full_name

    def constant(self, values: npt.ArrayLike, dtype: Any = None) -> str:
        name: str = self.scope.get_unique_variable_name("constant")
        tensor = numpy_helper.from_array(np.asarray(values, dtype=dtype or self.dtype), name)
        self.container.initializers.append(tensor)
        return name

    def node(self, operation: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name: str = output or self.scope.get_unique_variable_name(operation.lower())
        self.container.add_node(operation, list(inputs), name, **attributes)
        return name

    def columns(self, places: npt.ArrayLike) -> str:
        return self.node("Gather", self.rows, self.constant(places, np.int64), axis=1)

    def end(self, parts: list[str]) -> None:
        self.node("Concat", *parts, output=self.output, axis=1)


def impute(scope: Any, operator: Any, container: Any) -> None:
    """Add the ONNX nodes of a SimpleImputer: fill missing numbers, and add indicator columns.

    The signature is that of skl2onnx's converters, which calls this function.
    """
    model = operator.raw_operator
    if isinstance(operator.inputs[0].type, StringTensorType):
        convert_sklearn_imputer(scope, operator, container)
        return
    step = _Step(scope, operator, container)
    kept = np.flatnonzero(~np.isnan(model.statistics_.astype(float)))
    values = step.columns(kept)
    fill = step.constant(model.statistics_[kept])
    parts = [step.node("Where", _missing(step, values), fill, values)]
    if model.indicator_ is not None:
        indicated = step.columns(model.indicator_.features_)
        parts.append(step.node("Cast", _missing(step, indicated), to=step.element))
    step.end(parts)


def _missing(step: _Step, values: str) -> str:
    sign = step.model.missing_values
    if sign is None or np.isnan(sign):
        return step.node("IsNaN", values)
    return step.node("Equal", values, step.constant(sign))


def _impute_shape(operator: Any) -> None:
    if isinstance(operator.inputs[0].type, StringTensorType):
        calculate_sklearn_imputer_output_shapes(operator)
        return
    model = operator.raw_operator
    width = int(np.sum(~np.isnan(model.statistics_.astype(float))))
    width += 0 if model.indicator_ is None else len(model.indicator_.features_)
    _set_shape(operator, width)


def one_hot(scope: Any, operator: Any, container: Any) -> None:
    """Add the ONNX nodes of a OneHotEncoder; numbers are compared exactly, so 1.5 does not match 1.

    The signature is that of skl2onnx's converters, which calls this function.
    """
    if not _of_numbers(operator):
        convert_sklearn_one_hot_encoder(scope, operator, container)
        return
    step = _Step(scope, operator, container)
    parts = []
    for j, categories in enumerate(_categories(operator.raw_operator)):
        same = step.node("Equal", step.columns([j]), step.constant(categories))
        parts.append(step.node("Cast", same, to=step.element))
    step.end(parts)


def _one_hot_shape(operator: Any) -> None:
    if _of_numbers(operator):
        _set_shape(operator, sum(map(len, _categories(operator.raw_operator))))
    else:
        calculate_sklearn_one_hot_encoder_output_shapes(operator)


def _categories(encoder: Any) -> list[npt.NDArray[Any]]:
    """The categories of each column that have their own output column."""
    dropped = [None] * len(encoder.categories_) if encoder.drop_idx_ is None else encoder.drop_idx_
    pairs = zip(encoder.categories_, dropped, strict=True)
    return [c if at is None else np.delete(c, int(at)) for c, at in pairs]


def _of_numbers(operator: Any) -> bool:
    numbers = all(isinstance(i.type, FloatTensorType | DoubleTensorType) for i in operator.inputs)
    encoder = operator.raw_operator
    nan = any(c.dtype.kind == "f" and np.isnan(c).any() for c in encoder.categories_)
    return numbers and not nan and not encoder._infrequent_enabled


def _set_shape(operator: Any, width: int) -> None:
    kind = type(operator.inputs[0].type)
    operator.outputs[0].type = kind([operator.inputs[0].get_first_dimension(), width])


CONVERTERS = {SimpleImputer: impute, OneHotEncoder: one_hot}
SHAPES = {SimpleImputer: _impute_shape, OneHotEncoder: _one_hot_shape}
