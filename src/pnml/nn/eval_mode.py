"""A trained network taken apart at its last layer: input → features → logits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from pnml.errors import InputError
from pnml.nn.batches import call
from pnml.nn.head import CallableHead, Head, LinearHead

# One for each network, and not in it: locks cannot be copied.
_LOCKS: WeakKeyDictionary[nn.Module, RLock] = WeakKeyDictionary()


class Network(Protocol):
    """What makes features and logits of inputs."""

    @property
    def head(self) -> Head:
        """The last layer."""
        ...

    @property
    def modules(self) -> list[nn.Module]:
        """All that has a mode of training and a device."""
        ...

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) of an input."""
        ...


@dataclass(frozen=True)
class HookedNetwork:
    """A module of which one layer is watched as it runs."""

    model: nn.Module
    head: LinearHead
    name: str

    @property
    def modules(self) -> list[nn.Module]:
        """The model."""
        return [self.model]

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """What the watched layer took and gave when the model ran."""
        seen: list[tuple[Tensor, Tensor]] = []

        def watch(_: nn.Module, args: Any, kwargs: Any, output: Tensor) -> None:
            seen.append((args[0] if args else kwargs["input"], output))

        handle = self.head.module.register_forward_hook(watch, with_kwargs=True)
        try:
            call(self.model, given)
        finally:
            handle.remove()
        if len(seen) != 1:
            raise InputError(
                f'The layer "{self.name}" ran {len(seen)} times in one forward pass, but it must '
                "run once; pass layer=(features, head), two functions that do it in two steps."
            )
        features, logits = seen[0]
        return self.head.classes_last(features), self.head.classes_last(logits)


@dataclass(frozen=True)
class PairNetwork:
    """Two functions: input → features, and features → logits."""

    features: Callable[..., Tensor]
    head: LinearHead | CallableHead
    modules: list[nn.Module]  # that the two are, or are parts of

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """What the first function gives, and what the second makes of it."""
        features = call(self.features, given)
        return features, self.head.own_logits(features)


def unwrapped(model: nn.Module) -> nn.Module:
    """The module itself inside what compiles or spreads it: hooks do not fire through those."""
    wrappers = (nn.DataParallel, nn.parallel.DistributedDataParallel)
    while True:
        inner = getattr(model, "_orig_mod", model.module if isinstance(model, wrappers) else None)
        if not isinstance(inner, nn.Module):
            return model
        model = inner


@contextmanager
def as_in_use(modules: list[nn.Module]) -> Iterator[None]:
    """Modules in eval mode and uncompiled; every mode is as before when this ends.

    Modes and hooks are of the modules themselves, so other threads wait.
    """
    with ExitStack() as stack:
        for module in sorted(set(modules), key=id):  # in one order, or two threads wait for ever
            stack.enter_context(_LOCKS.setdefault(module, RLock()))
        everything = [part for module in modules for part in module.modules()]
        training = [part for part in everything if part.training]
        compiled = any(part._compiled_call_impl is not None for part in everything)
        compiled = compiled or any(hasattr(part, "_orig_mod") for part in everything)
        if compiled and hasattr(torch.compiler, "set_stance"):  # PyTorch 2.6
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        for part in training:
            part.training = False
        try:
            yield
        finally:
            for part in training:
                part.training = True
