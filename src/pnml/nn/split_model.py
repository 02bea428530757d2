"""A model split at its last layer: the layer named by the user, or found by running the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from pnml.errors import InputError
from pnml.nn.batches import as_given, device_of, input_of, moved, refuse_other_device
from pnml.nn.eval_mode import as_in_use, unwrapped
from pnml.nn.features_and_logits import HookedNetwork, ManyPositionsError, Network, PairNetwork
from pnml.nn.find_head import split_by_running
from pnml.nn.head import CallableHead, Head, LinearHead, MergedHead, weights_version
from pnml.nn.named_layer import REMEDY, brief, hooked, is_head, known_layers
from pnml.nn.pooled_network import PooledNetwork
from pnml.nn.refused_networks import refuse_unseen_layers
from pnml.nn.settled_network import Settled, settled_named

# The last layer: its name, the module, or the functions (features, head); None: to be found.
Layer = str | nn.Module | Sequence[Callable[..., Any]] | None


def split_as_named(model: Any, layer: Layer) -> Network | None:
    """The model split at the layer the user named; None if the layer is still to be found."""
    if isinstance(layer, tuple | list):
        return _pair(layer, model)
    refuse_unseen_layers(unwrapped(model) if isinstance(model, nn.Module) else model)
    model = unwrapped(model)
    if is_head(model):
        return HookedNetwork(model, LinearHead(model), "")
    if layer is None:
        return None
    if isinstance(layer, str):
        return hooked(model, layer)
    if isinstance(layer, nn.Module):
        name = next((name for name, part in model.named_modules() if part is layer), None)
        if name is None:
            raise InputError(
                f"The layer {brief(layer)} is not a part of the model; {known_layers(model)}."
            )
        return hooked(model, name)
    raise InputError(f"layer is {layer!r}, which names no layer; {REMEDY}.")


def split_by_width(model: nn.Module, width: int) -> Network:
    """The model split at its only linear layer with `width` inputs; raises if not exactly one."""
    model = unwrapped(model)
    fitting = [
        name
        for name, part in model.named_modules()
        if isinstance(part, nn.Linear) and part.in_features == width
    ]
    if len(fitting) != 1:
        raise InputError(
            f"{len(fitting) or 'No'} linear layers of the model take {width} features, so "
            f"features alone do not tell which is the last; {known_layers(model)}."
        )
    return hooked(model, fitting[0])


def found_by_running(model: nn.Module, given: Any) -> HookedNetwork | PooledNetwork:
    """The model split at its last layer, found by running the input `given` through it."""
    return split_by_running(model, given).network


def _pair(layer: Any, model: Any) -> PairNetwork:
    if len(layer) != 2 or not all(callable(part) for part in layer):
        raise InputError(
            "layer is a tuple, but not one of two functions; pass layer=(features, head), the "
            "first from inputs to features and the second from features to logits."
        )
    features, head = layer
    owners = (model, *(getattr(part, "__self__", part) for part in layer))  # of bound methods
    modules = [unwrapped(part) for part in owners if isinstance(part, nn.Module)]
    plain = isinstance(head, nn.Linear) and type(head).forward is nn.Linear.forward
    last = LinearHead(head) if plain else CallableHead(head)
    return PairNetwork(features, last, modules)


def checked_inputs(inputs: Any) -> Callable[[Any], Any] | None:
    """`inputs` unchanged: None, or a function from a batch to what a network takes; else raises."""
    if inputs is not None and not callable(inputs):
        raise InputError(
            f"inputs is {inputs!r}, but a function from a batch to what the network takes is "
            "needed; pass for instance inputs=lambda batch: batch[0]."
        )
    return inputs  # type: ignore[no-any-return]


class SplitModel:
    """A model split at its last layer, to compute features and logits of inputs.

    The layer is found once. The first rows that run show whether the network returns the logits
    of that layer, and at which scale.
    """

    def __init__(
        self, model: Any, layer: Layer, inputs: Callable[[Any], Any] | None = None
    ) -> None:
        self.model = model
        self.layer = layer
        self.inputs = checked_inputs(inputs)  # from a batch to what the network takes
        self.revision = 0  # increases when the network was compared with what it returns
        self.link = "none"  # from logits to what the network returns: none, softmax or sigmoid
        self._network: Network | None = split_as_named(model, layer)
        self._by_width = False
        # two functions, or a layer alone, need no comparison
        whole = isinstance(self._network, HookedNetwork) and not self._network.name
        self._settled = whole or isinstance(self._network, PairNetwork)

    def input_of(self, batch: Any) -> Any:
        """What the network takes of a batch: by the user's function `inputs`, or without labels.

        An array becomes a tensor in the dtype of the model.
        """
        network = next(iter(self.modules), None)
        if self.inputs is None:
            return input_of(batch, network)
        given = self.inputs(batch)
        if given is None:
            raise InputError(
                "The function inputs= gave None for a batch; let it return what the network "
                "takes: a tensor, a tuple of arguments or a dict of keywords."
            )
        return as_given(given, network)

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) of an input, with the model in eval mode."""
        features, logits = self._run(given)
        if features.ndim < 2:
            raise InputError(
                f"The input gives features of shape {tuple(features.shape)}, without an axis of "
                "rows; pass a batch, for one input x[None]."
            )
        return features, logits

    def _run(self, given: Any) -> tuple[Tensor, Tensor]:
        for module in self.modules:
            refuse_other_device(module, given)
        network = self._network
        if network is not None and self._settled:
            try:
                with as_in_use(network.modules):
                    return network.run(given)
            except ManyPositionsError:
                self._network, self._by_width = split_as_named(self.model, self.layer), False
        found = self._find(given)
        if found.outputs is not None:
            return found.outputs
        with as_in_use(found.network.modules):
            return found.network.run(given)

    def _find(self, given: Any) -> Settled:
        """The network compared with what it returns for an input."""
        if isinstance(self._network, HookedNetwork) and not self._by_width:
            with as_in_use(self._network.modules):
                found = settled_named(self._network, given)
        else:
            found = split_by_running(self.model, given)
        if found.checked:
            self._network, self.link, self._settled = found.network, found.link, True
            self.revision += 1
        return found

    def run_anywhere(self, given: Any) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) of an input, moved to the model's device first."""
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
    def found(self) -> tuple[str, float] | None:
        """Name and scale of the last layer; None if it has no name or is not found yet.

        The scale is the factor from the layer's outputs to the logits of the network.
        """
        if not isinstance(self._network, HookedNetwork | PooledNetwork):
            return None
        return self._network.name, self._network.head.scale

    def use_layer(self, found: tuple[str, float] | None) -> None:
        """Use the layer of this name and scale as the last one, unless one is known already.

        `found` is what the property `found` gave, perhaps in another process; None changes nothing.
        """
        if self._network is None and found is not None:
            self._network = hooked(unwrapped(self.model), *found)

    def head_version(self) -> tuple[Any, ...]:
        """A tuple to compare: it changes when the weights or the scale of the head change.

        It holds the scale, which is the factor from the layer's outputs to the logits, and for
        each weight its id, its address in memory and its number of in-place changes. While the
        head is not known, or if it is a function, it holds all weights of the network and no scale.
        """
        head = None if self._network is None else self._network.head
        if isinstance(head, LinearHead | MergedHead):
            return (head.scale, *weights_version([head.module]))
        return weights_version(self.modules)

    def head_weights(self) -> list[Tensor]:
        """Weights and buffers of the head; an empty list if it is a function, not a module."""
        head = None if self._network is None else self._network.head
        owner = head.function if isinstance(head, CallableHead) else getattr(head, "module", None)
        return list(owner.state_dict().values()) if isinstance(owner, nn.Module) else []

    def other_weights(self) -> list[Tensor]:
        """Floating-point weights and buffers of all modules but the head, each tensor once."""
        known = {weight.data_ptr() for weight in self.head_weights()}
        kept = {
            weight.data_ptr(): weight
            for module in self.modules
            for weight in module.state_dict().values()
            if isinstance(weight, Tensor) and weight.is_floating_point()
        }
        return [weight for address, weight in kept.items() if address not in known]

    def version(self) -> tuple[Any, ...]:
        """Key that changes whenever a weight or buffer of the network does; quick to compare."""
        return (*self.head_version(), *weights_version(self.modules, buffers=True))

    def head(self, width: int) -> Head:
        """The last layer; raises if it does not take `width` features.

        If no layer is known yet, it is the only linear layer of the model with that many inputs.
        """
        if self._network is None:
            self._network = split_by_width(self.model, width)
            self._by_width = True
        head = self._network.head
        if isinstance(head, LinearHead) and head.width != width:
            raise InputError(
                f"The features have {width} columns, but the last layer takes {head.width}; pass "
                "what that layer sees."
            )
        return head
