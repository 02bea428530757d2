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
    """Input and output of one run of a layer.

    `changes` is the output's count of in-place changes when it was new, to notice later ones.
    """

    features: Tensor
    output: Tensor
    changes: int  # in place, to the output when it was new

    @classmethod
    def of(cls, features: Tensor, output: Tensor) -> Run:
        """The record of a run that has just made this output of these features."""
        output = output.clone() if output.is_inference() else output  # which counts no changes
        return cls(features, output, _changes(output))

    @property
    def intact(self) -> bool:
        """Whether the output is still as the layer gave it, not changed in place since."""
        return _changes(self.output) == self.changes


def _changes(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


@dataclass(frozen=True)
class Pass:
    """One forward pass: each run of some layers, and the tensors that the network returned."""

    runs: dict[str, list[Run]]  # by the name of the layer
    returned: list[Tensor]


def watched(model: nn.Module, layers: dict[str, nn.Module], given: Any) -> Pass:
    """The record of a forward pass: each run of these layers, and the tensors returned.

    `layers` are modules of the model by name, `given` is the input.
    """
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
    """Raised if a layer that took one position of each input now takes several of them."""


@dataclass(frozen=True)
class HookedNetwork:
    """Computes features and logits of inputs by a model with a hook on its last layer.

    `name` is that of the layer in the model. `single` says that the layer takes one position of
    each input, on an axis that the model then drops.
    """

    model: nn.Module
    head: LinearHead | MergedHead
    name: str  # of the last layer in the model
    single: bool = False  # whether the layer had one position, which the model then left out

    @property
    def modules(self) -> list[nn.Module]:
        """The model."""
        return [self.model]

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) of an input, by one forward pass of the model."""
        return self.of_pass(watched(self.model, {self.name: self.head.module}, given))

    def of_pass(self, done: Pass) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) from a recorded pass; raises if not one run."""
        runs = done.runs[self.name]
        if len(runs) != 1:
            raise InputError(
                f'The layer "{self.name}" ran {len(runs)} times in one forward pass, but it must '
                "run once; pass layer=(features, head), two functions that do it in two steps."
            )
        return self.of_run(runs[0])

    def of_run(self, run: Run) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) from a recorded run of the last layer."""
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
    """Computes features and logits of inputs by two functions.

    `features` leads from inputs to features, `head` from features to logits.
    """

    features: Callable[..., Tensor]
    head: LinearHead | CallableHead
    modules: list[nn.Module]  # the two functions themselves, or the modules they belong to

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) of an input, by the two functions in turn."""
        features = call(self.features, given)
        return features, self.head.own_logits(features)
