"""ONNX graphs of networks with pNML: torch.onnx exports the network, our own nodes the regret."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

import onnx
from pnml.errors import InputError
from pnml.nn.last_layer import LastLayerPNML
from pnml.nn.tasks import MULTILABEL, Task
from pnml.onnx.graph import OPSET, ROWS, Dimensions, Graph, element_of
from pnml.onnx.learners import Outputs
from pnml.onnx.traced import Traced, as_output, as_traced

# torch.onnx traces up to logits and leverage only: its log1p and expm1 lose digits.
_LOGITS = Task("logits", lambda logits, leverage: logits, None)


class _Traceable(nn.Module):
    """Module for torch.onnx: logits, logits for the regret, and leverage of a batch of inputs."""

    def __init__(self, module: LastLayerPNML) -> None:
        super().__init__()
        self.networks = nn.ModuleList(module._split.modules)
        self._run = module._split.run
        self._scorer = replace(module._scorer(), task=_LOGITS)
        scale = module.scale_  # as a tensor: Python numbers are exported as float32
        self._scale: Any = None if scale is None else torch.tensor(scale, dtype=torch.float64)

    def forward(self, given: Any) -> tuple[Tensor, ...]:
        """Logits, logits for the regret, and leverage of a batch, all in float64."""
        features, logits = self._run(given)
        shape = features.shape[:-1]
        flat, own = features.flatten(0, -2), logits.flatten(0, -2)
        own, leverage, scaled = self._scorer.as_graph(flat, own, self._scale)
        outputs = (own.double(), scaled.double(), leverage)
        if len(shape) == 1:
            return outputs
        return tuple(part.reshape(*shape, *part.shape[1:]) for part in outputs)


def network_graph(module: LastLayerPNML, dtype: str, example: Any) -> onnx.ModelProto:
    """The ONNX model of a fitted LastLayerPNML and its network.

    `dtype` is that of the outputs; `example` is a batch as the network's forward takes it.
    """
    proto = _exported(module, _batch(module, example))
    graph, fed = Graph(), {}
    for value in proto.graph.input:
        element = value.type.tensor_type.elem_type
        fed[value.name] = graph.input(value.name, element, _axes(value))
    names = graph.absorb(proto, "network_", fed)
    axes = [_axes(value) for value in proto.graph.output]
    parts = [
        as_traced(graph, name, "float64", tuple(a if isinstance(a, int) else -1 for a in sizes))
        for name, sizes in zip(names, axes, strict=True)
    ]
    ends = {}
    for name, value in _outputs(module, *parts).items():
        shape = axes[2] if value.ndim == len(axes[2]) else axes[0]
        ends[name] = (as_output(value, dtype), element_of(dtype), shape)
    return graph.model(ends, {"regret": "nats"})


def _outputs(module: LastLayerPNML, logits: Traced, scaled: Traced, leverage: Traced) -> Outputs:
    task = module._scorer().task
    if task is MULTILABEL and logits.ndim > 2:
        raise InputError(
            "This network has yes-or-no labels at every position of its inputs, which cannot be "
            "exported to ONNX; export one with a single row of labels for each input."
        )
    regret: Any = task.regret(scaled, leverage)
    if task.log_prob is None:
        return {"prediction": logits, "regret": regret}
    log_prob: Any = task.log_prob(logits, leverage)
    return {"log_prob": log_prob, "regret": regret}


def _batch(module: LastLayerPNML, example: Any) -> Any:
    """An input of at least two rows: from one row torch.onnx would fix the number of rows."""
    module._check_fitted()
    if example is None and type(module.model) is nn.Linear:
        weight = module.model.weight
        example = weight.new_zeros(2, weight.shape[1])
    if example is None:
        raise InputError(
            "A network is exported by running it, but there is nothing to run it on; pass "
            "example=, a batch as it takes it."
        )
    batch = module._split.input_of(example)
    if isinstance(batch, Mapping):
        return {name: _several(value) for name, value in batch.items()}
    return _several(batch)


def _several(value: Any) -> Any:
    single = isinstance(value, Tensor) and value.ndim > 0 and len(value) == 1
    return torch.cat([value, value]) if single else value


def _exported(module: LastLayerPNML, batch: Any) -> onnx.ModelProto:
    """The ONNX graph, by torch.onnx, from inputs to the outputs of `_Traceable`."""
    keyed = isinstance(batch, Mapping)
    names = list(batch) if keyed else ["input"]
    with torch.no_grad():
        module(batch)  # finds the last layer, and raises if the batch is wrong
        traceable = _Traceable(module).eval()
        traceable(batch)  # fills caches with numbers, before tracing
        try:
            with _quiet():
                program = torch.onnx.export(
                    traceable,
                    (batch, {}),
                    dynamo=True,
                    opset_version=OPSET,
                    input_names=names,
                    dynamic_shapes=({name: {0: ROWS} for name in names} if keyed else {0: ROWS},),
                    verbose=False,
                )
        except ModuleNotFoundError:
            raise
        except Exception as error:  # a network is a program, and may raise anything
            raise InputError(
                f"PyTorch cannot turn this network into ONNX: {_root(error)}; see what "
                "torch.onnx.export(..., dynamo=True) takes."
            ) from error
    proto: Any = program
    return proto.model_proto  # type: ignore[no-any-return]


@contextmanager
def _quiet() -> Iterator[None]:
    """torch.onnx with its missing-package warnings silenced."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _root(error: BaseException) -> str:
    """First line of the message of the innermost cause of an error."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200]


def _axes(value: Any) -> Dimensions:
    return [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
