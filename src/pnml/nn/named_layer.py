"""A layer of a model by its name: whether it can be the head, and the model split there."""

from __future__ import annotations

from torch import nn

from pnml.errors import InputError
from pnml.nn.features_and_logits import HookedNetwork
from pnml.nn.head import LinearHead, MergedHead

REMEDY = 'pass layer="name", a module, or two functions layer=(features, head)'


def is_head(module: nn.Module) -> bool:
    """Whether a module can be the head: a linear layer, or a convolution of one pixel.

    >>> is_head(nn.Linear(2, 3)), is_head(nn.Conv2d(2, 3, 1)), is_head(nn.Conv2d(2, 3, 3))
    (True, True, False)
    """
    if not isinstance(module, nn.Conv2d):
        return isinstance(module, nn.Linear)
    steps = {*module.kernel_size, *module.stride, module.groups}
    return steps == {1} and module.padding in ((0, 0), "valid", "same")


def holds_head(module: nn.Module) -> bool:
    """Whether a module is no head itself but has a layer inside that could be one."""
    return not is_head(module) and any(is_head(part) for part in module.modules())


def hooked(model: nn.Module, name: str, scale: float = 1.0) -> HookedNetwork:
    """The model split at the layer of this name; raises if that layer cannot be the head.

    `scale` is the factor from the layer's outputs to the logits of the network. A module of several
    layers is accepted here: whether it is linear as a whole shows when it runs.
    """
    try:
        module = model.get_submodule(name)
    except AttributeError as error:
        raise InputError(f'The model has no layer "{name}"; {known_layers(model)}.') from error
    if is_head(module):
        return HookedNetwork(model, LinearHead(module, scale), name)  # type: ignore[arg-type]
    if module is model or not holds_head(module):
        raise InputError(
            f'The layer "{name}" is {brief(module)}, but the last layer must be linear; '
            f"{known_layers(model)}."
        )
    return HookedNetwork(model, MergedHead(module, scale), name)


def brief(module: nn.Module) -> str:
    """The class of a layer with its article, for an error message: "a ReLU"."""
    return f"a {type(module).__name__}"


def known_layers(model: nn.Module) -> str:
    """Half a sentence for an error message that names the last four linear layers of a model."""
    names = [name for name, part in model.named_modules() if isinstance(part, nn.Linear) and name]
    if not names:
        return "it has no linear layers, so " + REMEDY
    shown = ", ".join(f'"{name}"' for name in names[-4:])
    more = "among its linear layers are" if len(names) > 4 else "its linear layers are"
    return f"{more} {shown}"
