"""Traced arrays: operations on them become nodes of an ONNX graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from onnx import TensorProto
from pnml.core.arrays import EPS
from pnml.onnx.graph import Graph, element_of


@dataclass(frozen=True)
class Kind:
    """The dtype of a traced array: float64, where `eps` is the relative precision of the input."""

    eps: float = EPS


FLOAT64 = Kind()
FLOAT32 = Kind(float(np.finfo(np.float32).eps))


@dataclass(frozen=True, eq=False)
class Traced(NDArrayOperatorsMixin):
    """An array in an ONNX graph; operations on it add nodes to the graph instead of computing.

    It supports the parts of the array API and of numpy that `pnml.core` uses, so that the functions
    that compute regrets of arrays also write the graph. All values are float64 or truth values. A
    dimension in `shape` that is not known before the graph runs is −1.
    """

    graph: Graph
    name: str
    shape: tuple[int, ...]
    dtype: Kind = FLOAT64
    filled: float | None = None  # the number that fills the array, if any
    device: str = "cpu"

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        from pnml.onnx.operations import xp

        return xp

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(self.__array_namespace__(), ufunc.__name__)(*inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return getattr(self.__array_namespace__(), function.__name__)(*args, **options)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __getitem__(self, place: Any) -> Traced:
        """The array with a new last axis, x[..., None], or one entry of the last, x[..., k]."""
        *_, last = place
        if last is None:
            axis = self.graph.constant(np.array([-1]))
            return add_node("Unsqueeze", self.shape + (1,), self, axis)
        at = self.graph.constant(np.array(last))
        return add_node("Gather", self.shape[:-1], self, at, axis=-1)


def as_traced(graph: Graph, name: str, dtype: str, shape: tuple[int, ...]) -> Traced:
    """A named float value of a graph, such as an input, as a traced array in float64.

    `dtype` is that of the value: "float32", which is cast, or "float64".
    """
    if dtype == "float64":
        return Traced(graph, name, shape, FLOAT64)
    return Traced(graph, graph.add("Cast", name, to=TensorProto.DOUBLE), shape, FLOAT32)


def as_output(value: Traced, dtype: str) -> str:
    """The name of a traced array in the graph, after a cast from float64 to `dtype`."""
    if dtype == "float64":
        return value.name
    return value.graph.add("Cast", value.name, to=element_of(dtype))


def add_node(operation: str, shape: tuple[int, ...], *inputs: Any, **attributes: Any) -> Traced:
    """The traced output, of the given shape, of a new node; inputs are traced arrays or numbers.

    `operation` is the name of an ONNX operator, and `attributes` are its attributes.
    """
    graph = graph_of(*inputs)
    names = [name_of(graph, value) for value in inputs]
    return Traced(graph, graph.add(operation, *names, **attributes), shape)


def graph_of(*values: Any) -> Graph:
    """The graph of the first traced array among some values."""
    graph: Graph = next(value.graph for value in values if isinstance(value, Traced))
    return graph


def name_of(graph: Graph, value: Any) -> str:
    """The name of a value in the graph; numbers become a constant of the graph first.

    A traced array filled with one number gives the name of that number as a scalar constant.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, Traced):
        return graph.constant(np.asarray(value, dtype=np.float64))
    return value.name if value.filled is None else graph.constant(np.float64(value.filled))


def shape_of(value: Any) -> tuple[int, ...]:
    """Shape of a traced array or of numbers."""
    return value.shape if isinstance(value, Traced) else np.shape(value)


def broadcast(*values: Any) -> tuple[int, ...]:
    """Shape of traced arrays or numbers after broadcasting; −1, an unknown size, stays −1."""
    shapes = [shape_of(value) for value in values]
    longest = max(map(len, shapes))
    padded = [(1,) * (longest - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(-1 if -1 in axis else max(axis) for axis in zip(*padded, strict=True))


def pairwise(operation: str, a: Any, b: Any) -> Traced:
    """The traced output of a new elementwise node, such as "Mul", of two arrays or numbers."""
    return add_node(operation, broadcast(a, b), a, b)
