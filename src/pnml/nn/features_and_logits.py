"""Features and logits of inputs: from a hook on the last layer, or from two functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor, nn

from pnml.errors import InputError
from pnml.nn.batches import call
from pnml.nn.head import CallableHead, Head, LinearHead


class Network(Protocol):
    """What computes features and logits of inputs."""

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
class HookedNetwork:
    """Features and logits from a module with a hook on its last layer."""

    model: nn.Module
    head: LinearHead
    name: str  # of the last layer in the model

    @property
    def modules(self) -> list[nn.Module]:
        """The model."""
        return [self.model]

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Input and output of the last layer in one forward pass of the model."""
        runs: list[tuple[Tensor, Tensor]] = []

        def record(_: nn.Module, args: Any, kwargs: Any, output: Tensor) -> None:
            runs.append((args[0] if args else kwargs["input"], output))

        handle = self.head.module.register_forward_hook(record, with_kwargs=True)
        try:
            call(self.model, given)
        finally:
            handle.remove()
        if len(runs) != 1:
            raise InputError(
                f'The layer "{self.name}" ran {len(runs)} times in one forward pass, but it must '
                "run once; pass layer=(features, head), two functions that do it in two steps."
            )
        features, logits = runs[0]
        return self.head.classes_last(features), self.head.classes_last(logits)


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
