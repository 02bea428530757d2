"""Cut a network before its last layers with weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from pnml.errors import InputError
from pnml.nn.batches import call
from pnml.nn.eval_mode import as_in_use


@dataclass(frozen=True)
class Cut:
    """A model cut in two: a front that stays fixed, and a tail with weights to train.

    `front` leads from inputs to inputs of `tail`; `tunable` holds the weights to train, by name.
    """

    front: Callable[..., Any]  # input → input of the tail
    tail: nn.Module
    tunable: dict[str, nn.Parameter]  # by their names in the tail


def cut_model(model: nn.Module, layers: int | str, given: Any) -> Cut:
    """A model cut before its last layers with weights, those to refit.

    `layers` is their number or "all"; the input `given` runs to see their order. A chain of modules
    (nn.Sequential) is cut where they begin, so that the front runs only once. Any other model is
    tail as a whole, and only its last layers are trained.
    """
    weights = _last_weights(model, layers, given)
    links = list(_links(model))
    first = next((i for i, link in enumerate(links) if _holds(link, weights)), 0)
    front, tail = nn.Sequential(*links[:first]), nn.Sequential(*links[first:])
    if len(links) == 1:
        return Cut(_unchanged, model, _by_name(model, weights))
    return Cut(front, tail, _by_name(tail, weights))


def cut_pair(front: Callable[..., Any], tail: Any, layers: int | str, tail_input: Any) -> Cut:
    """A model cut as the user gave it: `front`, a function, and `tail`, a module.

    `layers`, a number or "all", are the last layers of the tail to train; the tail is run with
    `tail_input` to see their order.
    """
    if not isinstance(tail, nn.Module):
        raise InputError(
            f"The second of layer=(front, tail) is a {type(tail).__name__}, but its weights are "
            "to be trained; pass a torch module."
        )
    return Cut(front, tail, _by_name(tail, _last_weights(tail, layers, tail_input)))


def _last_weights(module: nn.Module, layers: int | str, given: Any) -> list[nn.Parameter]:
    """The weights of the last layers in the order in which they run."""
    if layers == "all":
        everything = [weight for part in module.modules() for weight in _own(part)]
        if not everything:
            raise InputError("The network has no layer with weights, so none can be trained.")
        return everything
    ran = _in_order(module, given)
    if int(layers) > len(ran):
        raise InputError(
            f"layers is {layers}, but only {len(ran)} layers with weights ran; pass at most that, "
            'or layers="all".'
        )
    last = ran[len(ran) - int(layers) :]
    return [weight for part in last for weight in _with_silent_parts(part, set(ran))]


def _in_order(module: nn.Module, given: Any) -> list[nn.Module]:
    """Modules with weights of their own, in the order in which they first begin to run."""
    ran: dict[nn.Module, None] = {}

    def note(part: nn.Module, _: Any) -> None:
        ran.setdefault(part)

    handles = [part.register_forward_pre_hook(note) for part in module.modules() if _own(part)]
    try:
        with as_in_use([module]), torch.no_grad():
            call(module, given)
    finally:
        for handle in handles:
            handle.remove()
    return list(ran)


def _own(part: nn.Module) -> list[nn.Parameter]:
    """Trainable weights of the module itself; batch normalisation is frozen."""
    own = [] if isinstance(part, _BatchNorm) else part.parameters(recurse=False)
    return [weight for weight in own if weight.is_floating_point()]


def _with_silent_parts(part: nn.Module, ran: set[nn.Module]) -> Iterator[nn.Parameter]:
    """Weights of a module, and of modules inside it that never run themselves."""
    yield from _own(part)
    for inner in part.children():
        if inner not in ran and not any(deep in ran for deep in inner.modules()):
            yield from (weight for deep in inner.modules() for weight in _own(deep))


def _links(model: nn.Module) -> Iterator[nn.Module]:
    """The modules of a chain; any other model is a chain of one."""
    if type(model) is not nn.Sequential:
        yield model
        return
    for part in model:
        yield from _links(part)


def _holds(module: nn.Module, weights: list[nn.Parameter]) -> bool:
    wanted = {id(weight) for weight in weights}
    return any(id(weight) in wanted for weight in module.parameters())


def _by_name(tail: nn.Module, weights: list[nn.Parameter]) -> dict[str, nn.Parameter]:
    wanted = {id(weight) for weight in weights}
    return {name: weight for name, weight in tail.named_parameters() if id(weight) in wanted}


def _unchanged(given: Any) -> Tensor:
    if isinstance(given, Tensor):
        return given
    raise InputError(
        f"The inputs are a {type(given).__name__}, but layers of such a model are fine-tuned on "
        "inputs that are one tensor; pass layer=(front, tail), two modules that do it in two steps."
    )
