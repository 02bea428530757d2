"""A model split at a layer, after the layer's logits were compared with what the model returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from pnml.errors import InputError
from pnml.nn.features_and_logits import HookedNetwork, Pass, Run, watched
from pnml.nn.head import LinearHead, MergedHead
from pnml.nn.named_layer import hooked, is_head
from pnml.nn.pooled_network import PooledNetwork
from pnml.nn.returned_logits import (
    agreement_with,
    arrangements,
    is_enlarged,
    refuse_too_few,
    rounding,
)

# Layers that are tried, and logits that are compared: a check that costs next to nothing.
_MOST_LAYERS = 12
_MOST_LOGITS, _MOST_ROWS = 2**22, 512
# Widest features for which a module of several layers is merged into one matrix.
_WIDEST = 2**14


@dataclass(frozen=True)
class Settled:
    """A model split at its last layer, and features (..., d) and logits (..., C) of one input.

    `outputs` is that pair, or None if the input has to run again. `link` is the function that the
    network applies to logits before it returns them: "none", "softmax" or "sigmoid". `checked` is
    False if the input had no rows to compare the layer's logits with the returned values.
    """

    network: HookedNetwork | PooledNetwork
    outputs: tuple[Tensor, Tensor] | None  # None: the input has to run again
    link: str = "none"  # from logits to what the network returns: none, softmax or sigmoid
    checked: bool = True  # whether there were rows to compare


def settled_run(network: HookedNetwork, run: Run, returned: list[Tensor]) -> Settled | None:
    """The network with the scale of the logits it returned; None if they are not its layer's.

    `run` holds input and output of the layer, `returned` the tensors the model returned with it.
    """
    features = network.head.classes_last(run.features)
    if isinstance(network.head, LinearHead) and network.head.width != features.shape[-1]:
        return None  # packed weights
    shape = torch.Size((*features.shape[:-1], network.head.outputs(features.shape[-1])))
    flat = features.detach().reshape(-1, features.shape[-1])
    rows = _some(len(flat), shape[-1], flat.device)
    if not bool(flat[rows].isfinite().all(1).any()):
        return Settled(network, network.of_run(run), checked=False)
    for values in returned:
        for arranged in arrangements(values.detach(), shape):
            found = agreement_with(network.head, flat[rows], arranged.reshape(-1, shape[-1])[rows])
            if found is None:
                continue
            if not found.enough:
                refuse_too_few(network.name)
            head = network.head.scaled(found.scale) if found.scale != 1 else network.head
            single = features.ndim > max(values.ndim, 2) and shape[1:-1].numel() == 1
            network = replace(network, head=head, single=single)
            return Settled(network, network.of_run(run), found.link)
        own = network.head.classes_last(run.output.detach())
        slack = float(rounding(network.head, flat[rows], values).max())
        if run.intact and is_enlarged(own, values.detach(), slack):
            return Settled(network, network.of_run(run))
    return None


def settled_second_pass(model: nn.Module, names: list[str], given: Any) -> Settled:
    """The model split at the first layer in `names` whose logits it returns; raises without one.

    The input `given` runs once more. Modules that hold these layers are tried too: a layer with an
    adapter beside it is linear as a whole.
    """
    tried = list(dict.fromkeys(_with_parents(model, names[:_MOST_LAYERS])))
    done = watched(model, {name: model.get_submodule(name) for name in tried}, given)
    for name in tried:
        found = _as_returned(model, name, done)
        if found is not None:
            return found
    for name in tried:
        found = _as_pooled(hooked(model, name), done, given)
        if found is not None:
            return found
    raise _other_logits(done.returned, names[0])


def settled_named(network: HookedNetwork, given: Any) -> Settled:
    """A network split at the layer the user named, compared with what it returns for an input.

    The network may return something else than the layer's logits, but an InputError is raised if
    the layer is not linear.
    """
    done = watched(network.model, {network.name: network.head.module}, given)
    outputs = network.of_pass(done)
    if not outputs[0].numel():
        return Settled(network, outputs, checked=False)
    found = _as_returned(network.model, network.name, done)
    found = found or _as_pooled(network, done, given)
    if found is not None:
        return found
    run = done.runs[network.name][0]
    own = _with_own_output(network, run)
    if own is None:
        raise InputError(
            f'The output of the layer "{network.name}", a {type(network.head.module).__name__}, is '
            "not its features times a weight plus a bias, but the last layer must be linear; pass "
            "two functions layer=(features, head)."
        )
    return own


def _as_returned(model: nn.Module, name: str, done: Pass) -> Settled | None:
    """The model split at a layer, or merged module, if a pass returned its logits; else None."""
    runs = done.runs[name]
    if len(runs) != 1:
        return None
    for network in _forms(model, name, runs[0]):
        found = settled_run(network, runs[0], done.returned)
        if found is not None:
            return found
    return None


def _with_own_output(network: HookedNetwork, run: Run) -> Settled | None:
    """The network if its layer is linear, perhaps as a merged module; None if it is not."""
    if not run.intact:
        return Settled(network, network.of_run(run))
    for form in _forms(network.model, network.name, run):
        found = settled_run(form, run, [form.head.classes_last(run.output)])
        if found is not None and found.network.head.scale == 1 and found.link == "none":
            return found
    return None


def _forms(model: nn.Module, name: str, run: Run) -> list[HookedNetwork]:
    """Ways to split the model at a layer: as it is, and merged into one linear map."""
    module = model.get_submodule(name)
    forms = [hooked(model, name)] if is_head(module) else []
    features, output = run.features, run.output
    by_row = features.ndim > 1 and features.shape[:-1] == output.shape[:-1]
    plain = type(module).forward in (nn.Linear.forward, nn.Conv2d.forward)
    if by_row and not plain and features.shape[-1] <= _WIDEST:
        merged = MergedHead(module)
        try:
            merged.affine(features.shape[-1])
        except Exception:
            return forms
        forms.append(HookedNetwork(model, merged, name))
    return forms


def _as_pooled(network: HookedNetwork, done: Pass, given: Any) -> Settled | None:
    """The network if it returns the layer's logits pooled over positions; else None."""
    runs = done.runs[network.name]
    if len(runs) != 1:
        return None
    output = network.head.classes_last(runs[0].output)
    pooled_size = output.shape[0] * output.shape[-1]
    sizes = {tensor.numel() for tensor in done.returned}
    if output.ndim < 3 or output.numel() == pooled_size or pooled_size not in sizes:
        return None
    try:
        found = PooledNetwork(network.model, network.head, network.name).settled(given)
    except RuntimeError:  # what follows the layer has no derivative
        return None
    return None if found is None else Settled(*found)


def _with_parents(model: nn.Module, names: list[str]) -> list[str]:
    """Layers, then the modules around them, inner ones first and without the model itself."""
    parents = []
    for name in names:
        parts = name.split(".")
        parents += [".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
    return names + parents


def _some(rows: int, classes: int, device: torch.device) -> Tensor:
    """Indices of rows to compare, spread over all of them."""
    most = max(2, min(_MOST_ROWS, _MOST_LOGITS // max(classes, 1)))
    return torch.arange(rows, device=device)[:: max(1, -(-rows // most))]


def _other_logits(returned: list[Tensor], name: str) -> InputError:
    shapes = " and ".join(str(tuple(tensor.shape)) for tensor in returned)
    return InputError(
        f'The network returns the shape {shapes}, but not the logits of its layer "{name}" or of '
        "another of that size, as where two heads are averaged or logits are transformed; pass two "
        "functions layer=(features, head)."
    )
