"""ONNX graphs of the Pipeline steps before the learner, by skl2onnx, and of its classifier."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

import onnx
from onnx import TensorProto
from pnml.errors import InputError
from pnml.learners.last_step import LastStep
from pnml.onnx.graph import ML_OPSET, OPSET, ROWS, Graph, element_of
from pnml.onnx.operations import log_softmax
from pnml.onnx.traced import FLOAT32, FLOAT64, Kind, Traced, as_traced

_OPSETS = {"": OPSET, "ai.onnx.ml": ML_OPSET}
_EXAMPLE = "pass example=, some rows of the DataFrame that it takes"


@dataclass(frozen=True)
class Column:
    """An input of the ONNX graph: one column of a DataFrame, or all columns of an array."""

    name: str
    width: int
    text: bool = False


def rows_after(
    graph: Graph, model: Any, steps: list[Any], width: int, dtype: str, example: Any
) -> Traced:
    """Traced rows (n, width) after the Pipeline's steps; declares the inputs of the graph.

    `model` is the whole Pipeline or estimator, `steps` the fitted steps before the learner, `dtype`
    that of numeric inputs, and `example` some rows for the model, or None.
    """
    columns = _columns(model, steps, example)
    fed = {}
    for column in columns:
        element = TensorProto.STRING if column.text else element_of(dtype)
        fed[column.name] = graph.input(column.name, element, [ROWS, column.width])
    if not steps:
        return as_traced(graph, fed["X"], dtype, (-1, width))
    pipeline = Pipeline([(f"step {i}", step) for i, step in enumerate(steps)])
    proto, inner = _at_best(pipeline, columns, dtype)
    for column in columns:
        if not column.text and inner != dtype:
            fed[column.name] = graph.add("Cast", fed[column.name], to=element_of(inner))
    inside = [value.name for value in proto.graph.input]  # skl2onnx has its own names for them
    (name,) = graph.absorb(proto, "steps_", dict(zip(inside, fed.values(), strict=True)))
    rows = _numbers(graph, name, proto.graph.output[0], (-1, width))
    return Traced(graph, rows.name, rows.shape, _kind_after(steps, columns, dtype, example))


def log_probabilities(classifier: Any, X: Traced) -> Traced:
    """Traced log-probabilities (n, C) of a fitted classifier with C classes, for traced rows X.

    Raises InputError for a classifier other than a multinomial LogisticRegression.
    """
    if _has_logits(classifier, X.shape[-1]):
        z = X @ classifier.coef_.T + classifier.intercept_
        return log_softmax(z * np.array([0.0, 1.0]) if z.shape[-1] == 1 else z)
    raise InputError(
        f"A PNMLClassifier around a {type(classifier).__name__} cannot be exported to ONNX, where "
        "small probabilities have other digits and strange rows may look safe; use a "
        "LogisticRegression, whose logits are exact."
    )


def _has_logits(classifier: Any, width: int) -> bool:
    nowhere = np.zeros((1, width))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that columns have no names
        return LastStep(classifier, nowhere, nowhere)._logits() is not None


def _numbers(graph: Graph, name: str, output: Any, shape: tuple[int, ...]) -> Traced:
    """An output of skl2onnx as a traced array in float64."""
    exact = output.type.tensor_type.elem_type == TensorProto.DOUBLE
    return as_traced(graph, name, "float64" if exact else "float32", shape)


def _columns(model: Any, steps: list[Any], example: Any) -> list[Column]:
    """The inputs that the graph of a model needs."""
    names = getattr(model, "feature_names_in_", None)
    by_name = names is not None and any(isinstance(s, ColumnTransformer) for s in _within(steps))
    if steps and hasattr(example, "columns"):
        if names is not None and list(example.columns) != list(names):
            raise InputError(
                f"The example has the columns {list(example.columns)[:5]}, but the model was "
                f"fitted to {list(names)[:5]}; pass rows of the same columns."
            )
        return [Column(str(name), 1, _is_text(example[name])) for name in example.columns]
    reads_text = any(c.dtype.kind in "OUS" for s in _within(steps) for c in _categories(s))
    if reads_text:
        raise InputError(
            f"A step of this Pipeline reads text, and only the rows can tell which columns are "
            f"text; {_EXAMPLE}."
        )
    if by_name and names is not None:
        return [Column(str(name), 1) for name in names]
    return [Column("X", int(model.n_features_in_))]


def _is_text(cells: Any) -> bool:
    values = np.asarray(cells)
    if values.dtype.kind in "fiub":
        return False
    if all(isinstance(value, str) for value in values):
        return True
    raise InputError(
        f"The example's column {cells.name!r} holds other cells than numbers or text, but ONNX "
        "knows nothing else and no missing text; turn them into one of these first."
    )


def _categories(step: Any) -> list[Any]:
    all_categories = getattr(step, "categories_", [])
    return [np.asarray(categories) for categories in all_categories]


def _within(steps: list[Any]) -> Iterator[Any]:
    """All steps, also inside Pipelines and ColumnTransformers."""
    for step in steps:
        yield step
        if isinstance(step, Pipeline):
            yield from _within([part for _, part in step.steps])
        elif isinstance(step, ColumnTransformer):
            yield from _within([part for _, part, _ in step.transformers_])
        elif isinstance(step, FeatureUnion):
            yield from _within([part for _, part in step.transformer_list])


def _at_best(model: Any, columns: list[Column], dtype: str) -> tuple[onnx.ModelProto, str]:
    """The ONNX model of the steps, and its dtype: float64 if all steps support it, else `dtype`."""
    try:
        return _converted(model, columns, "float64"), "float64"
    except InputError:
        if dtype == "float64":
            raise
    return _converted(model, columns, dtype), dtype


def _converted(model: Any, columns: list[Column], dtype: str) -> onnx.ModelProto:
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    from pnml.onnx.converters import CONVERTERS, SHAPES

    numbers = DoubleTensorType if dtype == "float64" else FloatTensorType
    types = [(c.name, (StringTensorType if c.text else numbers)([None, c.width])) for c in columns]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            proto: onnx.ModelProto = convert_sklearn(
                model,
                initial_types=types,
                target_opset=_OPSETS,
                custom_conversion_functions=CONVERTERS,
                custom_shape_calculators=SHAPES,
            )
            onnx.checker.check_model(proto, full_check=True)
    except Exception as error:  # converters may raise any exception
        cure = ', or pass dtype="float32"' if dtype == "float64" else ""
        raise InputError(
            f"skl2onnx cannot turn all of this model into ONNX in {dtype}: {_reason(error)}; leave "
            f"that out, or do it before the Pipeline{cure}."
        ) from error
    return proto


def _reason(error: Exception) -> str:
    """Short reason for a failed conversion."""
    unknown = re.search(r"calculator for type '<class '[\w.]*?(\w+)'>'", str(error))
    if unknown:
        return f"it does not know {unknown[1]}"
    words = " ".join(str(error).split())
    return words.partition(". ")[0].rstrip(".")[:120] or type(error).__name__


def _kind_after(steps: list[Any], columns: list[Column], dtype: str, example: Any) -> Kind:
    """Precision of the rows that reach the learner, found by transforming a few rows."""
    if dtype == "float64":
        return FLOAT64
    rows = example
    if rows is None:
        rows = np.zeros((1, sum(column.width for column in columns)), dtype=np.float32)
    elif hasattr(rows, "columns"):
        rows = rows.astype({c: np.float32 for c in rows.columns if rows[c].dtype.kind == "f"})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for step in steps:
                rows = step.transform(rows)
    except (ValueError, TypeError, KeyError):  # some steps refuse rows of zeros
        return FLOAT32
    return FLOAT32 if getattr(rows, "dtype", None) == np.float32 else FLOAT64
