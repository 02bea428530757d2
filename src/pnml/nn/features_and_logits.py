"""Features and logits of inputs: from a hook on the last layer, or from two functions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor, nn

from pnml.errors import InputError
from pnml.nn.batches import call, tensors_in
from pnml.nn.head import CallableHead, Head, LinearHead, MergedHead


class Network(Protocol):
    """Computes features and logits of inputs."""

    @property
    def head(self) -> Head:
        """The last layer."""
        ...

    @property
    def modules(self) -> list[nn.Module]:
        """Every module that has a training mode and a device."""
        ...

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) of an input."""
        ...


@dataclass(frozen=True)
class Run:
    """Input and output of one run of a layer."""

    features: Tensor
    output: Tensor
    changes: int  # in place, to the output when it was new

    @classmethod
    def of(cls, features: Tensor, output: Tensor) -> Run:
        """The run that just gave an output."""
        output = output.clone() if output.is_inference() else output  # which counts no changes
        return cls(features, output, _changes(output))

    @property
    def intact(self) -> bool:
        """Whether the network has left the output as the layer gave it."""
        return _changes(self.output) == self.changes


def _changes(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


@dataclass(frozen=True)
class Pass:
    """One forward pass: each run of some layers, and the tensors that the network returned."""

    runs: dict[str, list[Run]]  # by the name of the layer
    returned: list[Tensor]


def watched(model: nn.Module, layers: dict[str, nn.Module], given: Any) -> Pass:
    """A forward pass of a model, with a hook on some of its layers."""
    runs: dict[str, list[Run]] = {name: [] for name in layers}

    def recording(name: str) -> Callable[..., None]:
        def record(_: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            features = args[0] if args else kwargs.get("input")
            if isinstance(features, Tensor) and isinstance(output, Tensor):
                runs[name].append(Run.of(features, output))

        return record

    with ExitStack() as stack:
        for name, layer in layers.items():
            handle = layer.register_forward_hook(recording(name), with_kwargs=True)
            stack.callback(handle.remove)
        returned = list(tensors_in(call(model, given)))
    return Pass(runs, returned)


class ManyPositionsError(Exception):
    """Several positions of an input reached a layer that had one before, and may be pooled."""


@dataclass(frozen=True)
class HookedNetwork:
    """Features and logits from a module with a hook on its last layer."""

    model: nn.Module
    head: LinearHead | MergedHead
    name: str  # of the last layer in the model
    single: bool = False  # whether the layer had one position, which the model then left out

    @property
    def modules(self) -> list[nn.Module]:
        """The model."""
        return [self.model]

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Input and output of the last layer in one forward pass of the model."""
        return self.of_pass(watched(self.model, {self.name: self.head.module}, given))

    def of_pass(self, done: Pass) -> tuple[Tensor, Tensor]:
        """Input and output of the last layer in a forward pass that was watched."""
        runs = done.runs[self.name]
        if len(runs) != 1:
            raise InputError(
                f'The layer "{self.name}" ran {len(runs)} times in one forward pass, but it must '
                "run once; pass layer=(features, head), two functions that do it in two steps."
            )
        return self.of_run(runs[0])

    def of_run(self, run: Run) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) of a run of the last layer."""
        features, logits = map(self.head.classes_last, (run.features, run.output))
        if self.single:
            if features.shape[1:-1].numel() != 1:
                raise ManyPositionsError
            features, logits = features.flatten(0, -2), logits.flatten(0, -2)
        if not run.intact:
            return features, self.head.own_logits(features)
        return features, logits if self.head.scale == 1 else self.head.scale * logits


@dataclass(frozen=True)
class PairNetwork:
    """Features and logits from two functions: input → features, and features → logits."""

    features: Callable[..., Tensor]
    head: LinearHead | CallableHead
    modules: list[nn.Module]  # the two functions themselves, or the modules they belong to

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Output of the first function, and of the second one on it."""
        features = call(self.features, given)
        return features, self.head.own_logits(features)
