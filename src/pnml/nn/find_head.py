"""The last layer of a model, found by running it and compared with what the model returns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from pnml.errors import InputError
from pnml.nn.batches import call, tensors_in
from pnml.nn.eval_mode import as_in_use, unwrapped
from pnml.nn.features_and_logits import Run
from pnml.nn.named_layer import REMEDY, holds_head, hooked, is_head
from pnml.nn.refused_networks import no_linear_layer, refuse_last_layer, refuse_quantised
from pnml.nn.settled_network import Settled, settled_run, settled_second_pass


def split_by_running(model: nn.Module, given: Any) -> Settled:
    """The model split at its last layer, found by running the input `given` through the model.

    The result also holds features and logits of that input. The last layer is the linear layer, or
    convolution of one pixel, whose output the model returns. If the model transforms that output,
    it is the last layer to run whose logits, after a scale, softmax, sigmoid or pooling, are equal
    to what the model returns.
    """
    model = unwrapped(model)
    with as_in_use([model]):
        first = _recorded(model, given)
        end = _end(first)
        names = [end] if end else _alike(model, first)
        last = first.last if first.last is not None and first.last_name == names[0] else None
        once = first.names.count(names[0]) == 1
        if end and not once:  # which the network says when it runs
            return Settled(hooked(model, end), None)
        network = hooked(model, names[0])
        if last is not None and once:
            if not last.features.numel():
                return Settled(network, network.of_run(last), checked=False)
            returned = [*first.views(last), last.output] if end else first.returned
            found = settled_run(network, last, returned)
            if found is not None:
                return found
        return settled_second_pass(model, names, given)


class _Place:
    """Address of a tensor's storage, which is not reused as long as this object lives."""

    def __init__(self, tensor: Tensor) -> None:
        self._weak = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]

    @property
    def at(self) -> int:
        return int(self._weak.cdata)


@dataclass(frozen=True)
class _Record:
    """One run of a module: where its input and output are, and the shape of its output."""

    name: str
    module: nn.Module
    takes: _Place
    gives: _Place
    shape: torch.Size

    def is_like(self, returned: Tensor) -> bool:
        """Whether a tensor has as many classes on the same axis, or as many numbers in all."""
        axis = -1 if isinstance(self.module, nn.Linear) else -3
        if axis == -3 and returned.ndim == 2:
            axis, classes = -3, returned.shape[1]  # pooled pixels
        else:
            classes = returned.shape[axis] if returned.ndim >= -axis else -1
        return classes == self.shape[axis] or returned.numel() == self.shape.numel()


@dataclass
class _FirstPass:
    """A forward pass that shows which modules ran, in order, and what the model returned."""

    heads: list[_Record] = field(default_factory=list)  # layers that could be the head
    others: list[_Record] = field(default_factory=list)  # modules around them, other layers
    returned: list[Tensor] = field(default_factory=list)
    last_name: str | None = None
    last: Run | None = None  # of a layer that could be the head; earlier ones are not kept

    @property
    def names(self) -> list[str]:
        return [record.name for record in self.heads]

    def views(self, run: Run) -> list[Tensor]:
        """Returned tensors that share memory with a layer's output, perhaps in another shape."""
        place = _Place(run.output).at
        return [tensor for tensor in self.returned if _Place(tensor).at == place]


def _recorded(model: nn.Module, given: Any) -> _FirstPass:
    first = _FirstPass()

    def recording(name: str) -> Callable[..., None]:
        def record(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            features = args[0] if args else kwargs.get("input")
            if not isinstance(features, Tensor) or not isinstance(output, Tensor):
                return
            if features.is_meta or features.is_sparse or features.is_quantized:
                return
            ran = _Record(name, module, _Place(features), _Place(output), output.shape)
            (first.heads if is_head(module) else first.others).append(ran)
            if is_head(module):
                first.last_name, first.last = name, Run.of(features, output)

        return record

    with ExitStack() as stack:
        for name, part in model.named_modules():
            if name:
                handle = part.register_forward_hook(recording(name), with_kwargs=True)
                stack.callback(handle.remove)
        first.returned = list(tensors_in(call(model, given)))
    return first


def _end(first: _FirstPass) -> str | None:
    """Name of the layer whose whole output the model returns; None if there is none."""
    whole = {(_Place(tensor).at, tensor.numel()) for tensor in first.returned}
    ends = [run for run in first.heads if (run.gives.at, run.shape.numel()) in whole]
    taken = {run.takes.at for run in ends}
    ends = [run for run in ends if run.gives.at not in taken]  # another layer uses its output
    names = list(dict.fromkeys(run.name for run in ends))
    if len(names) > 1:
        quoted = " and ".join(f'"{name}"' for name in names)
        raise InputError(
            f"The model returns the outputs of {len(names)} layers, {quoted}, and each could be "
            f'the head; pass the one that is meant, for instance layer="{names[-1]}".'
        )
    return names[0] if names else None


def _alike(model: nn.Module, first: _FirstPass) -> list[str]:
    """Names of modules that may give the logits, the most likely first."""
    places = {_Place(tensor).at for tensor in first.returned}
    ends = [run for run in first.others if run.gives.at in places]
    for run in ends:
        refuse_last_layer(run.name, run.module)
    if not first.heads:
        refuse_quantised(model)
        raise no_linear_layer()
    if not first.returned:
        raise InputError(
            "The model returns no tensor that can be found, so its logits cannot be compared with "
            f"those of a layer; {REMEDY}."
        )
    wholes = [run.name for run in ends if holds_head(run.module)]
    alike = [
        run.name
        for run in reversed(first.heads)
        if any(run.is_like(tensor) for tensor in first.returned)
    ]
    if not alike:
        shapes = " and ".join(str(tuple(tensor.shape)) for tensor in first.returned)
        raise InputError(
            f"The model returns the shape {shapes}, which no linear layer in it gives, so its "
            f"head is not a layer that can be seen; {REMEDY}."
        )
    return list(dict.fromkeys(wholes + alike))
