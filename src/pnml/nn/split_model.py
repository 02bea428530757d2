"""A model split at its last layer: the layer named by the user, or found by running the model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from pnml.errors import InputError
from pnml.nn.batches import call, device_of, input_of, moved, refuse_other_device, tensors_in
from pnml.nn.eval_mode import as_in_use, unwrapped
from pnml.nn.features_and_logits import HookedNetwork, Network, PairNetwork
from pnml.nn.head import CallableHead, Head, LinearHead

_REMEDY = 'pass layer="name", a module, or two functions layer=(features, head)'


def split_as_named(model: Any, layer: Any) -> Network | None:
    """The model split at the layer the user named; None if the layer is still to be found."""
    if isinstance(layer, tuple | list):
        return _pair(layer, model)
    if not isinstance(model, nn.Module):
        raise InputError(
            f"The model is a {type(model).__name__}, not a torch module, so its layers cannot be "
            "seen; pass two functions layer=(features, head)."
        )
    model = unwrapped(model)
    if is_head(model):
        return HookedNetwork(model, LinearHead(model), "")
    if layer is None:
        return None
    if isinstance(layer, str):
        return _named(model, layer)
    if isinstance(layer, nn.Module):
        name = next((name for name, part in model.named_modules() if part is layer), None)
        if name is None:
            raise InputError(
                f"The layer {_brief(layer)} is not a part of the model; {_known(model)}."
            )
        return _named(model, name)
    raise InputError(f"layer is {layer!r}, which names no layer; {_REMEDY}.")


def split_by_width(model: nn.Module, width: int) -> Network:
    """The model split at its only linear layer that takes features of this width."""
    model = unwrapped(model)
    fitting = [
        name
        for name, part in model.named_modules()
        if isinstance(part, nn.Linear) and part.in_features == width
    ]
    if len(fitting) != 1:
        raise InputError(
            f"{len(fitting) or 'No'} linear layers of the model take {width} features, so "
            f"features alone do not tell which is the last; {_known(model)}."
        )
    return _named(model, fitting[0])


def found_by_running(model: nn.Module, given: Any) -> HookedNetwork:
    """The model split at its last layer, from one forward pass of an input."""
    return split_by_running(model, given)[0]


def split_by_running(
    model: nn.Module, given: Any
) -> tuple[HookedNetwork, tuple[Tensor, Tensor] | None]:
    """The model split at its last layer, and features and logits of the input.

    The last layer is the linear layer, or convolution of one pixel, whose output the model
    returns. If the model transforms that output first, it is the layer that runs last among those
    with an output of the returned size. Features and logits are None, and the input has to run
    again, if that layer did not run exactly once or another linear layer ran after it.
    """
    model = unwrapped(model)
    last = _LastRun()
    runs, returned = _recorded(model, given, last)
    network = _named(model, _head_name(runs, returned))
    ran_once = [run.name for run in runs].count(network.name) == 1
    if last.name != network.name or not ran_once or last.tensors is None:
        return network, None
    features, logits = last.tensors
    return network, (network.head.classes_last(features), network.head.classes_last(logits))


def _head_name(runs: list[_Run], returned: list[Tensor]) -> str:
    """Name of the layer that gives the logits."""
    kept = [_Place(tensor) for tensor in returned]
    places = {place.at for place in kept}
    ends = [run for run in runs if run.gives.at in places]
    taken = {run.takes.at for run in ends}
    ends = [run for run in ends if run.gives.at not in taken]  # another layer uses its output
    names = list(dict.fromkeys(run.name for run in ends))
    if len(names) > 1:
        quoted = " and ".join(f'"{name}"' for name in names)
        raise InputError(
            f"The model returns the outputs of {len(names)} layers, {quoted}, and each could be "
            f'the head; pass the one that is meant, for instance layer="{names[-1]}".'
        )
    return names[0] if names else _last_of_that_size(runs, returned)


def is_head(module: nn.Module) -> bool:
    """Whether a model can be split at a module: linear in its features, by position."""
    if not isinstance(module, nn.Conv2d):
        return isinstance(module, nn.Linear)
    steps = {*module.kernel_size, *module.stride, module.groups}
    return steps == {1} and module.padding in ((0, 0), "valid", "same")


def _last_of_that_size(runs: list[_Run], returned: list[Tensor]) -> str:
    """The layer that runs last among those whose output has a size that the model returns."""
    if returned:
        alike = [run.name for run in runs if any(run.is_like(tensor) for tensor in returned)]
    else:  # the model returns no tensor that can be found
        alike = [run.name for run in runs if run.axis == -1]
    if not alike and any(run.axis == -1 for run in runs):
        shapes = " and ".join(str(tuple(tensor.shape)) for tensor in returned)
        raise InputError(
            f"The model returns the shape {shapes}, which no linear layer in it gives, so its "
            f"head is not a layer that can be seen; {_REMEDY}."
        )
    if not alike:
        raise InputError(f"No linear layer ran in a forward pass of the model; {_REMEDY}.")
    return alike[-1]


class _Place:
    """Address of a tensor's storage, which is not reused as long as this object lives."""

    def __init__(self, tensor: Tensor) -> None:
        self._weak = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]

    @property
    def at(self) -> int:
        return int(self._weak.cdata)


@dataclass(frozen=True)
class _Run:
    """One run of a layer that could be the head."""

    name: str
    takes: _Place  # of its input
    gives: _Place  # of its output
    shape: torch.Size  # of its output
    axis: int  # of the classes

    def is_like(self, returned: Tensor) -> bool:
        """Whether a tensor has as many classes on the same axis, or as many numbers in all."""
        classes = returned.shape[self.axis] if returned.ndim >= -self.axis else None
        return classes == self.shape[self.axis] or returned.numel() == self.shape.numel()


@dataclass
class _LastRun:
    """Input and output of the layer that ran last; those of earlier layers are not kept."""

    name: str | None = None
    tensors: tuple[Tensor, Tensor] | None = None


def _recorded(model: nn.Module, given: Any, last: _LastRun) -> tuple[list[_Run], list[Tensor]]:
    """Runs of layers that could be the head, in order, and the tensors the model returned."""
    runs: list[_Run] = []

    def recording(name: str) -> Callable[..., None]:
        def record(module: nn.Module, args: Any, kwargs: Any, output: Tensor) -> None:
            features = args[0] if args else kwargs["input"]
            axis = -1 if isinstance(module, nn.Linear) else -3
            runs.append(_Run(name, _Place(features), _Place(output), output.shape, axis))
            last.name, last.tensors = name, (features, output)

        return record

    with as_in_use([model]), ExitStack() as stack:
        for name, part in model.named_modules():
            if is_head(part):
                handle = part.register_forward_hook(recording(name), with_kwargs=True)
                stack.callback(handle.remove)
        returned = list(tensors_in(call(model, given)))
    return runs, returned


def _named(model: nn.Module, name: str) -> HookedNetwork:
    try:
        module = model.get_submodule(name)
    except AttributeError as error:
        raise InputError(f'The model has no layer "{name}"; {_known(model)}.') from error
    if not is_head(module):
        raise InputError(
            f'The layer "{name}" is {_brief(module)}, but the last layer must be linear; '
            f"{_known(model)}."
        )
    return HookedNetwork(model, LinearHead(module), name)  # type: ignore[arg-type]


def _pair(layer: Any, model: Any) -> PairNetwork:
    if len(layer) != 2 or not all(callable(part) for part in layer):
        raise InputError(
            "layer is a tuple, but not one of two functions; pass layer=(features, head), the "
            "first from inputs to features and the second from features to logits."
        )
    features, head = layer
    owners = (model, *(getattr(part, "__self__", part) for part in layer))  # of bound methods
    modules = [unwrapped(part) for part in owners if isinstance(part, nn.Module)]
    last = LinearHead(head) if isinstance(head, nn.Linear) else CallableHead(head)
    return PairNetwork(features, last, modules)


def _brief(module: nn.Module) -> str:
    return f"a {type(module).__name__}"


def _known(model: nn.Module) -> str:
    names = [name for name, part in model.named_modules() if isinstance(part, nn.Linear) and name]
    if not names:
        return "it has no linear layers, so " + _REMEDY
    shown = ", ".join(f'"{name}"' for name in names[-4:])
    more = "among its linear layers are" if len(names) > 4 else "its linear layers are"
    return f"{more} {shown}"


class SplitModel:
    """A model split at its last layer, which is found once: features and logits of inputs."""

    def __init__(self, model: Any, layer: Any) -> None:
        self.model = model
        self.layer = layer
        self._network: Network | None = split_as_named(model, layer)

    def input_of(self, batch: Any) -> Any:
        """The input in a batch, in the dtype of this model if it is an array."""
        return input_of(batch, next(iter(self.modules), None))

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) of an input, with the model in eval mode."""
        for module in self.modules:
            refuse_other_device(module, given)
        if self._network is None:
            self._network, outputs = split_by_running(self.model, given)
            if outputs is not None:
                return outputs
        with as_in_use(self._network.modules):
            return self._network.run(given)

    def run_anywhere(self, given: Any) -> tuple[Tensor, Tensor]:
        """The same for an input on any device: it is moved to the model's."""
        home = next((device_of(module) for module in self.modules), None)
        if home is not None and home.type == "meta":
            raise InputError(
                "The network is on the meta device and holds no numbers; load its weights first."
            )
        return self.run(moved(given, home))

    @property
    def modules(self) -> list[nn.Module]:
        """Every module that takes part in a forward pass."""
        return [unwrapped(self.model)] if self._network is None else self._network.modules

    @property
    def layer_name(self) -> str | None:
        """Name of the last layer in the model; None if it has none or is not found yet."""
        return self._network.name if isinstance(self._network, HookedNetwork) else None

    def use_layer(self, name: str | None) -> None:
        """Use the layer of this name as the last one, if none was found yet."""
        if self._network is None:
            self._network = split_as_named(self.model, name)

    def head_version(self) -> tuple[tuple[int, int, int], ...]:
        """Identity, address and number of in-place changes of each weight of the head.

        For a head that is a function, of all weights it may use.
        """
        head = None if self._network is None else self._network.head
        owners = [head.module] if isinstance(head, LinearHead) else self.modules
        weights = (weight for owner in owners for weight in owner.parameters())
        return tuple((id(w), w.data_ptr(), 0 if w.is_inference() else w._version) for w in weights)

    def head(self, width: int) -> Head:
        """The last layer; raises if it does not take features of this width."""
        if self._network is None:
            self._network = split_by_width(self.model, width)
        head = self._network.head
        if isinstance(head, LinearHead) and head.width != width:
            raise InputError(
                f"The features have {width} columns, but the last layer takes {head.width}; pass "
                "what that layer sees."
            )
        return head
