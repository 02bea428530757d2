"""Builder of an ONNX graph: inputs, constants, nodes, copies of other graphs, and the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import onnx
from onnx import TensorProto, helper, numpy_helper
from pnml.errors import InputError
from pnml.version import __version__

OPSET = 18  # the first in which all axes of reductions are inputs
ML_OPSET = 3
_IR_VERSION = 8
ROWS = "rows"  # name of the axis whose length is not known
_MOST_BYTES = 2**31 - 1  # of one protobuf message

Dimensions = list[int | str | None]


class Graph:
    """Builder of an ONNX graph: nodes in the order in which they run, equal nodes stored once."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._known: dict[Any, str] = {}
        self._opsets = {"": OPSET}
        self._ir_version = _IR_VERSION
        self.bounded = False  # whether all numbers are finite where those of the inputs are

    def input(self, name: str, element: int, shape: Dimensions) -> str:
        """Declare an input of an ONNX element type and shape; returns its name."""
        self._inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def constant(self, value: npt.ArrayLike) -> str:
        """The name of a constant with this value; equal constants are stored once."""
        array = np.ascontiguousarray(value).reshape(np.shape(value))  # 0-d stays 0-d
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            name = f"pnml_constant_{len(self._constants)}"
            self._constants[name] = numpy_helper.from_array(array, name)
            self._known[key] = name
        return self._known[key]

    def add(self, operation: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """The name of the output of a node with this operator, inputs (names) and attributes."""
        key = (operation, inputs, repr(sorted(attributes.items())))
        if key not in self._known:
            name = f"pnml_{len(self._nodes)}"
            node = helper.make_node(operation, list(inputs), [name], domain=domain, **attributes)
            self._nodes.append(node)
            self._known[key] = name
            if domain:
                self._opsets.setdefault(domain, ML_OPSET)
        return self._known[key]

    def absorb(self, model: onnx.ModelProto, prefix: str, fed: Mapping[str, str]) -> list[str]:
        """Copy the nodes of another ONNX model into this graph; returns the names of its outputs.

        `fed` maps each input of that model to the value here that takes its place; all other names
        get `prefix`.
        """
        known = dict(fed)

        def renamed(name: str) -> str:
            return known.setdefault(name, prefix + name) if name else name

        for tensor in model.graph.initializer:
            copy = onnx.TensorProto()
            copy.CopyFrom(tensor)
            copy.name = renamed(tensor.name)
            self._constants[copy.name] = copy
        for node in model.graph.node:
            if any(a.type in (a.GRAPH, a.GRAPHS) for a in node.attribute):
                raise InputError(
                    f"One of its steps becomes the ONNX operator {node.op_type}, which holds a "
                    "graph of its own; leave that step out and do it before."
                )
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            del copy.metadata_props[:]  # paths of the machine of the export
            copy.name = prefix + node.name if node.name else ""
            copy.input[:] = map(renamed, node.input)
            copy.output[:] = map(renamed, node.output)
            self._nodes.append(copy)
        for opset in model.opset_import:
            self._opsets[opset.domain] = max(opset.version, self._opsets.get(opset.domain, 1))
        self._ir_version = max(self._ir_version, min(model.ir_version, 10))
        return [renamed(output.name) for output in model.graph.output]

    def model(
        self, outputs: Mapping[str, tuple[str, int, Dimensions]], about: Mapping[str, str]
    ) -> onnx.ModelProto:
        """The finished ONNX model, checked, without nodes that no output needs.

        `outputs` maps each name to a value of the graph, its ONNX element type and its shape;
        `about` is the metadata of the file.
        """
        clashes = sorted({value.name for value in self._inputs} & set(outputs))
        if clashes:
            raise InputError(
                f"A column is called {clashes[0]!r}, which is what an output of the graph is "
                "called; rename it and fit again."
            )
        nodes = self._needed(self._ending({n: value for n, (value, _, _) in outputs.items()}))
        nodes = _kept_apart(nodes, self._numbers())
        used = {name for node in nodes for name in node.input}
        constants = [c for name, c in self._constants.items() if name in used]
        self._refuse_large(constants)
        declared = [
            helper.make_tensor_value_info(name, element, shape)
            for name, (_, element, shape) in outputs.items()
        ]
        inputs = [value for value in self._inputs if value.name in used]
        graph = helper.make_graph(nodes, "pnml", inputs, declared, constants)
        domains = {node.domain for node in nodes} | {""}
        proto = helper.make_model(
            graph,
            producer_name="pnml",
            producer_version=__version__,
            ir_version=self._ir_version,
            opset_imports=[helper.make_opsetid(d, self._opsets[d]) for d in sorted(domains)],
        )
        helper.set_model_props(proto, dict(about))
        onnx.checker.check_model(proto, full_check=True)
        return proto

    def _ending(self, outputs: Mapping[str, str]) -> tuple[list[onnx.NodeProto], set[str]]:
        """The nodes, with output values renamed to the names of the outputs.

        A separate node to name each output would cost a microsecond per call.
        """
        produced = {name for node in self._nodes for name in node.output}
        named = {value: name for name, value in outputs.items() if value in produced}
        nodes = []
        for node in self._nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.input[:] = [named.get(name, name) for name in node.input]
            copy.output[:] = [named.get(name, name) for name in node.output]
            nodes.append(copy)
        for name, value in outputs.items():
            if named.get(value) != name:  # an input, or one value twice
                nodes.append(helper.make_node("Identity", [named.get(value, value)], [name]))
        return nodes, set(outputs)

    @staticmethod
    def _needed(ending: tuple[list[onnx.NodeProto], set[str]]) -> list[onnx.NodeProto]:
        """The nodes that the wanted values depend on."""
        nodes, wanted = ending
        kept = []
        for node in reversed(nodes):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                kept.append(node)
        return kept[::-1]

    def _numbers(self) -> set[str]:
        """Constants that are one float64 each."""
        return {
            name
            for name, tensor in self._constants.items()
            if tensor.data_type == TensorProto.DOUBLE and np.prod(tensor.dims) == 1
        }

    @staticmethod
    def _refuse_large(constants: list[onnx.TensorProto]) -> None:
        size = sum(constant.ByteSize() for constant in constants)
        if size >= _MOST_BYTES:
            raise InputError(
                f"The numbers of this model take {size / 1e9:.1f} GB, but one ONNX file holds at "
                "most 2 GB; use fewer features, or project them first."
            )


def _kept_apart(nodes: list[onnx.NodeProto], numbers: set[str]) -> list[onnx.NodeProto]:
    """The nodes, with a Max node of one input, which changes nothing, between factor and product.

    onnxruntime would fuse a factor with a matrix product, and round the factor to float32.
    """
    scaled = {n.output[0] for n in nodes if n.op_type in ("Mul", "Div") and numbers & {*n.input}}
    products = {n.output[0] for n in nodes if n.op_type == "MatMul"}
    apart: list[onnx.NodeProto] = []
    for node in nodes:
        is_scaling = bool(scaled & {*node.output})
        near = products if is_scaling else scaled if node.op_type == "MatMul" else set()
        for place, name in enumerate(node.input):
            if name in near:
                between = f"{name}_apart_{len(apart)}"
                apart.append(helper.make_node("Max", [name], [between]))
                node.input[place] = between
        apart.append(node)
    return apart


def element_of(dtype: str) -> int:
    """The ONNX element type (an int) of "float32" or "float64"."""
    return int({"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}[dtype])
