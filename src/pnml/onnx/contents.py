"""Inputs and outputs of an ONNX file."""

from __future__ import annotations

import os
from typing import Any

import onnx
from onnx import TensorProto


def contents(path: str | os.PathLike[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Inputs and outputs of an ONNX file: two dicts from name to type and shape in words.

    >>> import tempfile
    >>> from pnml import PNMLRegressor, export_onnx
    >>> model = PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(model, f"{folder}/model.onnx")
    ...     contents(f"{folder}/model.onnx")[1]["regret"]
    'float (rows)'
    """
    graph = onnx.load(os.fspath(path)).graph
    inputs = {value.name: _type_and_shape(value) for value in graph.input}
    return inputs, {value.name: _type_and_shape(value) for value in graph.output}


def _type_and_shape(value: Any) -> str:
    tensor = value.type.tensor_type
    axes = ", ".join(str(axis.dim_param or axis.dim_value) for axis in tensor.shape.dim)
    return f"{TensorProto.DataType.Name(tensor.elem_type).lower()} ({axes})"
