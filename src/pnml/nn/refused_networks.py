"""Networks in which no last layer can be seen: one sentence for each kind, with what to do."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from pnml.errors import InputError
from pnml.nn.named_layer import REMEDY, brief

_QUANTISED = ("torch.ao.nn.quantized", "torch.ao.nn.intrinsic", "torch.nn.quantized", "torchao.")
_PAIR = "pass two functions layer=(features, head)"


def refuse_unseen_layers(model: Any) -> None:
    """Raise if the layers of a model cannot be seen: it is scripted, exported, or no module.

    A GraphModule of torch.fx passes if it calls layers, as after symbolic tracing.
    """
    if isinstance(model, torch.jit.ScriptModule):
        raise InputError(
            "The model is scripted by torch.jit, which hides its layers; pass the module it was "
            "scripted from, or two functions layer=(features, head), of which the first may be "
            "scripted."
        )
    exported = isinstance(model, torch.export.ExportedProgram)
    if exported or (isinstance(model, torch.fx.GraphModule) and not _calls_layers(model)):
        raise InputError(
            "The model is exported by torch.export, which turns its layers into operations; pass "
            "the module it was exported from, or two functions layer=(features, head)."
        )
    if not isinstance(model, nn.Module):
        raise InputError(
            f"The model is a {type(model).__name__}, not a torch module, so its layers cannot be "
            "seen; pass two functions layer=(features, head)."
        )


def refuse_last_layer(name: str, module: nn.Module) -> None:
    """Raise if a module that gives the output of a network is quantised or a convolution.

    Call it for modules that cannot be the head; `name` is for the error message.
    """
    if is_quantised(module):
        raise InputError(
            f'The last layer "{name}" is a quantised {type(module).__name__}, which rounds its '
            "features to integers and is not linear; pass the network as it was before "
            "quantisation, or layer=(features, head) with a head in floating point."
        )
    if isinstance(module, nn.Conv2d):
        size = "×".join(map(str, module.kernel_size))
        raise InputError(
            f'The last layer "{name}" is a convolution of {size} pixels, but one row of features '
            "for each output is needed; pass layer=(features, head), where features cuts the "
            "patches with torch.nn.functional.unfold and puts them last, and head is linear."
        )
    if isinstance(module, nn.modules.conv._ConvNd):
        raise InputError(
            f'The last layer "{name}" is {brief(module)}, but linear layers and convolutions of '
            f"one pixel are split at; {_PAIR}."
        )


def refuse_quantised(model: nn.Module) -> None:
    """Raise if a model has a quantised layer; to call when no linear layer ran in it."""
    for name, part in reversed(list(model.named_modules())):
        if is_quantised(part):
            refuse_last_layer(name, part)


def is_quantised(module: nn.Module) -> bool:
    """Whether a layer computes with integers, as torch.ao makes them."""
    made_by = type(module).__module__
    return made_by.startswith(_QUANTISED) and hasattr(module, "out_features")


def no_linear_layer() -> InputError:
    """The error for a model in whose forward pass no linear layer ran."""
    return InputError(f"No linear layer ran in a forward pass of the model; {REMEDY}.")


def _calls_layers(model: torch.fx.GraphModule) -> bool:
    return any(
        node.op == "call_module" and "_guards" not in str(node.target) for node in model.graph.nodes
    )
