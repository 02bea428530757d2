"""Operations on traced arrays: the functions of the array API that `pnml.core` uses.

ONNX has no log1p and no expm1, and log(1 + x) loses the digits of a small regret; the versions
here keep them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from onnx import TensorProto
from pnml.onnx.graph import Graph
from pnml.onnx.traced import (
    FLOAT64,
    Traced,
    add_node,
    broadcast,
    graph_of,
    name_of,
    pairwise,
    shape_of,
)

# Beyond it 1 + x is x, so no correction is needed; nor for an infinite leverage.
_LARGE = 1e16


def _is(value: Any, number: float) -> bool:
    """Whether a value is one and the same given number everywhere."""
    if isinstance(value, Traced):
        return value.filled == number
    return np.ndim(value) == 0 and float(value) == number


def _add(a: Any, b: Any) -> Any:
    shape = broadcast(a, b)
    for nothing, other in ((a, b), (b, a)):
        if _is(nothing, 0.0) and shape_of(other) == shape:
            return other
    graph = graph_of(a, b)  # an array of zeros is needed in full here, for its shape
    names = [x.name if isinstance(x, Traced) else name_of(graph, x) for x in (a, b)]
    return Traced(graph, graph.add("Add", *names), shape)


def _subtract(a: Any, b: Any) -> Any:
    return a if _is(b, 0.0) else pairwise("Sub", a, b)


def _multiply(a: Any, b: Any) -> Any:
    if _is(a, 0.0) or _is(b, 0.0):
        return _nothing(graph_of(a, b), broadcast(a, b))
    if _is(a, 1.0) or _is(b, 1.0):
        return b if _is(a, 1.0) else a
    return pairwise("Mul", a, b)


def _divide(a: Any, b: Any) -> Any:
    if _is(a, 0.0):
        return a
    trivial = not isinstance(b, Traced) and bool(np.all(b == 1.0))  # columns in their own units
    return a if trivial else pairwise("Div", a, b)


def _power(a: Any, exponent: float) -> Any:
    return pairwise("Mul", a, a) if exponent == 2 else pairwise("Pow", a, exponent)


def _matmul(a: Any, b: Any) -> Any:
    shape = shape_of(a)[:-1] + shape_of(b)[1:]
    if _is(a, 0.0):
        return _nothing(a.graph, shape)
    if np.ndim(b) != 1:
        return add_node("MatMul", shape, a, b)
    last = a.graph.constant(np.array([-1]))
    if np.all(b == 1.0):
        return add_node("ReduceSum", shape, a, last, keepdims=0)
    # onnxruntime takes five times as long for a vector as for a matrix of one column
    return add_node("Squeeze", shape, add_node("MatMul", shape + (1,), a, b[:, None]), last)


def _vecdot(a: Any, b: Any) -> Any:
    shape = a.shape[:-1]
    if _is(a, 0.0) or _is(b, 0.0):
        return _nothing(a.graph, shape)
    last = a.graph.constant(np.array([-1]))
    if a is b:
        return add_node("ReduceSumSquare", shape, a, last, keepdims=0)
    return add_node("ReduceSum", shape, _multiply(a, b), last, keepdims=0)


def _elementwise(operation: str, of_numbers: Callable[..., Any]) -> Callable[..., Any]:
    def function(a: Any) -> Any:
        return add_node(operation, a.shape, a) if isinstance(a, Traced) else of_numbers(a)

    return function


def _log1p(a: Any) -> Any:
    """log(1 + x) with all digits: log u, corrected for the rounding of u = 1 + x."""
    u = _add(1.0, a)
    lost = a - (u - 1.0)
    lost = lost if a.graph.bounded else where(a < _LARGE, lost, 0.0)
    return add_node("Log", u.shape, u) + lost / u


def _expm1(a: Any) -> Any:
    """exp(x) − 1 with all digits, as tanh(x/2) (exp(x) + 1)."""
    return add_node("Tanh", a.shape, a * 0.5) * (add_node("Exp", a.shape, a) + 1.0)


def _isinf(a: Any) -> Any:
    if not isinstance(a, Traced):
        return np.isinf(a)
    return False if a.graph.bounded else add_node("IsInf", a.shape, a)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Traced array with the elements of `a` where the condition is true, else of `b`."""
    if condition is False:
        return b
    return add_node("Where", broadcast(condition, a, b), condition, a, b)


def _clip(a: Any, least: float | None = None, most: float | None = None) -> Any:
    a = a if least is None else pairwise("Max", a, least)
    return a if most is None else pairwise("Min", a, most)


def _reduction(operation: str) -> Callable[..., Traced]:
    def function(a: Traced, axis: int, keepdims: bool = False) -> Traced:
        shape = list(a.shape)
        shape[axis : axis + 1 or None] = [1] if keepdims else []
        axes = a.graph.constant(np.array([axis]))
        return add_node(operation, tuple(shape), a, axes, keepdims=int(keepdims))

    return function


def _all(a: Traced, axis: int) -> Traced:
    numbers = add_node("Cast", a.shape, a, to=TensorProto.INT32)
    least = _reduction("ReduceMin")(numbers, axis)
    return add_node("Cast", least.shape, least, to=TensorProto.BOOL)


def _reshape(a: Traced, shape: tuple[int, ...]) -> Traced:
    """Reshape; −1 in the shape is an unknown size, or a multiple of it."""
    wanted = tuple(-1 if size < 0 else size for size in shape)
    return add_node("Reshape", wanted, a, a.graph.constant(np.array(wanted)))


def _broadcast_to(a: Traced, shape: tuple[int, ...]) -> Traced:
    wanted = np.array([max(size, 1) for size in shape])
    return add_node("Expand", broadcast(a, np.empty(wanted)), a, a.graph.constant(wanted))


def _stack(values: list[Traced], axis: int) -> Traced:
    apart = [value[..., None] for value in values]
    return add_node("Concat", values[0].shape + (len(values),), *apart, axis=axis)


def _full_like(a: Traced, number: float) -> Traced:
    """A traced array like `a`, filled with one number, which nodes may use as a scalar."""
    size = a.graph.add("Shape", a.name)
    name = a.graph.add("Expand", a.graph.constant(np.float64(number)), size)
    return Traced(a.graph, name, a.shape, FLOAT64, float(number))


def _nothing(graph: Graph, shape: tuple[int, ...]) -> Traced:
    """A traced array of zeros, stored as the scalar 0."""
    return Traced(graph, graph.constant(np.float64(0.0)), shape, FLOAT64, 0.0)


def _numbers(values: npt.ArrayLike, **_: Any) -> npt.NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)


def log_softmax(logits: Traced) -> Traced:
    """Traced log-probabilities of classes from logits, over the last axis."""
    return add_node("LogSoftmax", logits.shape, logits, axis=-1)


def concatenate(values: list[Traced]) -> Traced:
    """Traced array (n, k) of the columns of all arrays, side by side."""
    width = sum(value.shape[1] for value in values)
    return add_node("Concat", (values[0].shape[0], width), *values, axis=1)


def columns(a: Traced, places: list[int]) -> Traced:
    """Traced array (n, k) of the k columns of `a` at the given positions, in that order."""
    at = a.graph.constant(np.array(places))
    return add_node("Gather", (a.shape[0], len(places)), a, at, axis=1)


def number(truth: Traced) -> Traced:
    """Traced array with 1.0 for true and 0.0 for false."""
    return add_node("Cast", truth.shape, truth, to=TensorProto.DOUBLE)


xp: Any = ModuleType("traced")  # array_api_compat asks namespaces for their names
vars(xp).update(
    float64=FLOAT64,
    abs=_elementwise("Abs", np.abs),
    absolute=_elementwise("Abs", np.abs),
    add=_add,
    all=_all,
    asarray=_numbers,
    astype=lambda a, dtype, copy=True: a,  # all numbers are float64
    broadcast_to=_broadcast_to,
    clip=_clip,
    divide=_divide,
    exp=_elementwise("Exp", np.exp),
    expm1=_expm1,
    finfo=lambda dtype: dtype,
    full_like=_full_like,
    greater=lambda a, b: pairwise("Greater", a, b),
    isinf=_isinf,
    isnan=_elementwise("IsNaN", np.isnan),
    less=lambda a, b: pairwise("Less", a, b),
    less_equal=lambda a, b: pairwise("LessOrEqual", a, b),
    linalg=SimpleNamespace(vecdot=_vecdot),
    log=_elementwise("Log", np.log),
    log1p=_log1p,
    matmul=_matmul,
    max=_reduction("ReduceMax"),
    maximum=lambda a, b: pairwise("Max", a, b),
    min=_reduction("ReduceMin"),
    multiply=_multiply,
    negative=_elementwise("Neg", np.negative),
    ones=lambda size, dtype=None, device=None: np.ones(size),
    ones_like=lambda a: _full_like(a, 1.0),
    power=_power,
    reshape=_reshape,
    sqrt=_elementwise("Sqrt", np.sqrt),
    stack=_stack,
    subtract=_subtract,
    sum=_reduction("ReduceSum"),
    vecdot=_vecdot,
    where=where,
    zeros_like=lambda a: _full_like(a, 0.0),
)
