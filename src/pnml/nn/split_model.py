"""A model split at its last layer, which is found when it is first needed."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from pnml.errors import InputError
from pnml.nn.batches import device_of, input_of, moved, refuse_other_device
from pnml.nn.eval_mode import as_in_use, unwrapped
from pnml.nn.features_and_logits import HookedNetwork, Network
from pnml.nn.find_head import split_as_named, split_by_running, split_by_width
from pnml.nn.head import Head, LinearHead


class SplitModel:
    """Features and logits of inputs, from a model whose last layer is found once."""

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
