"""Networks in eval mode: unwrapped, uncompiled, and afterwards as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import RLock
from weakref import WeakKeyDictionary

import torch
from torch import nn

# One lock for each network, kept outside of it: a module that holds a lock cannot be copied.
_LOCKS: WeakKeyDictionary[nn.Module, RLock] = WeakKeyDictionary()


def unwrapped(model: nn.Module) -> nn.Module:
    """The module inside the wrappers of torch.compile, DataParallel or DistributedDataParallel.

    Forward hooks do not fire through these wrappers. A model without a wrapper comes back as it is.
    """
    wrappers = (nn.DataParallel, nn.parallel.DistributedDataParallel)
    while True:
        inner = getattr(model, "_orig_mod", model.module if isinstance(model, wrappers) else None)
        if not isinstance(inner, nn.Module):
            return model
        model = inner


@contextmanager
def as_in_use(modules: list[nn.Module]) -> Iterator[None]:
    """Context in which modules are in eval mode and uncompiled; it restores their modes after.

    Modes and hooks belong to the modules, so other threads wait until the context ends.
    """
    with ExitStack() as stack:
        for module in sorted(set(modules), key=id):  # the same order in all threads: no deadlock
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
