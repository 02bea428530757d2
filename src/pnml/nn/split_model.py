"""A model and what was said of its last layer, joined when the layer is first needed."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from pnml.errors import InputError
from pnml.nn import find_head as finding
from pnml.nn.batches import device_of, input_of, moved, refuse_other_device
from pnml.nn.eval_mode import HookedNetwork, Network, as_in_use, unwrapped
from pnml.nn.head import Head, LinearHead


class TakenApart:
    """Features and logits of inputs, from a model whose last layer is found once."""

    def __init__(self, model: Any, layer: Any) -> None:
        self.model = model
        self.layer = layer
        self._network: Network | None = finding.told(model, layer)

    def input_of(self, batch: Any) -> Any:
        """The input in a batch, as `batches.input_of` finds it for this model."""
        return input_of(batch, next(iter(self._modules), None))

    def run(self, given: Any) -> tuple[Tensor, Tensor]:
        """Features (..., d) and logits (..., C) of an input, with the model in eval mode."""
        for module in self._modules:
            refuse_other_device(module, given)
        if self._network is None:
            self._network, ran = finding.found_by_running(self.model, given)
            if ran is not None:
                return ran
        with as_in_use(self._network.modules):
            return self._network.run(given)

    def run_anywhere(self, given: Any) -> tuple[Tensor, Tensor]:
        """The same for an input on any device: it is brought to the model."""
        home = next((device_of(module) for module in self._modules), None)
        if home is not None and home.type == "meta":
            raise InputError(
                "The network is on the meta device and holds no numbers; load its weights first."
            )
        return self.run(moved(given, home))

    @property
    def _modules(self) -> list[nn.Module]:
        return [unwrapped(self.model)] if self._network is None else self._network.modules

    @property
    def layer_name(self) -> str | None:
        """Name of the last layer in the model; None where it was not found yet or has none."""
        return self._network.name if isinstance(self._network, HookedNetwork) else None

    def settle(self, name: str | None) -> None:
        """Take the layer of this name for the last one, where none was found yet."""
        if self._network is None:
            self._network = finding.told(self.model, name)

    def head_version(self) -> tuple[tuple[int, int, int], ...]:
        """Identity, place and count of in-place changes of the head's weights.

        Of a head that is a function, those of all modules that may belong to it.
        """
        head = None if self._network is None else self._network.head
        owners = [head.module] if isinstance(head, LinearHead) else self._modules
        weights = (weight for owner in owners for weight in owner.parameters())
        return tuple((id(w), w.data_ptr(), 0 if w.is_inference() else w._version) for w in weights)

    def head(self, width: int) -> Head:
        """The last layer, if it takes features of this width."""
        if self._network is None:
            self._network = finding.found_by_width(self.model, width)
        head = self._network.head
        if isinstance(head, LinearHead) and head.width != width:
            raise InputError(
                f"The features have {width} columns, but the last layer takes {head.width}; pass "
                "what that layer sees."
            )
        return head
