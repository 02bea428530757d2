"""Graphs of estimators and Pipelines: skl2onnx converts the steps, this package the learner."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import onnx
from pnml.learners.last_step import unfrozen
from pnml.onnx import learners
from pnml.onnx.graph import ROWS, Dimensions, Graph, element_of
from pnml.onnx.steps import log_probabilities, rows_after
from pnml.onnx.traced import as_output


def pipeline_graph(model: Any, dtype: str, example: Any) -> onnx.ModelProto:
    """The ONNX model of an estimator of this library, or of a Pipeline that ends in one.

    `dtype` is that of inputs and outputs, and `example` some rows, or None; see `export_onnx`.
    """
    before, estimator = _split(model)
    learner = learners.learner_in(estimator)
    graph = Graph()
    inside = getattr(estimator, "estimator_", None)
    steps, last = ([], None) if inside is None else _split(inside)
    width = len(estimator.spectrum_.center)  # number of features of the learner
    X = rows_after(graph, model, [*before, *steps], width, dtype, example)
    if last is None:
        return finished(graph, learners.outputs(learner, X, None), dtype, {})
    outputs = learners.outputs(learner, X, log_probabilities(last, X))
    return finished(graph, outputs, dtype, {"classes": classes_json(estimator.classes_)})


def finished(
    graph: Graph, outputs: learners.Outputs, dtype: str, about: dict[str, str]
) -> onnx.ModelProto:
    """The ONNX model of a graph: its outputs, cast to `dtype`, and `about`, its metadata."""
    ends = {}
    for name, value in outputs.items():
        shape: Dimensions = [ROWS if size < 0 else size for size in value.shape]
        ends[name] = (as_output(value, dtype), element_of(dtype), shape)
    return graph.model(ends, about | {"regret": "nats"})


def classes_json(classes: Any) -> str:
    """Class labels as a JSON list, for the metadata of an ONNX file."""
    return json.dumps(np.asarray(classes).tolist(), ensure_ascii=False)


def _split(model: Any) -> tuple[list[Any], Any]:
    """All steps before the last one, with nested Pipelines flattened, and the last step."""
    steps: list[Any] = []
    last = unfrozen(model)
    while isinstance(last, Pipeline):
        check_is_fitted(last)
        steps += _flat([step for _, step in last.steps[:-1]])
        last = unfrozen(last.steps[-1][1])
    return steps, last


def _flat(steps: list[Any]) -> list[Any]:
    """Steps with nested Pipelines flattened and without "passthrough"."""
    flat: list[Any] = []
    for step in map(unfrozen, steps):
        inner = [part for _, part in step.steps] if isinstance(step, Pipeline) else []
        flat += _flat(inner) if inner else [] if step in (None, "passthrough") else [step]
    return flat
