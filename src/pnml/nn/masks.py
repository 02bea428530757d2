"""Which positions of a batch count: a mask that is given, or the batch's own padding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from pnml.core.user_types import HasShape
from pnml.errors import InputError
from pnml.nn.batches import has_argument, tensor_of
from pnml.nn.feature_regions import IntArray
from pnml.nn.feature_regret import Scorer
from pnml.nn.last_layer_output import LastLayerOutput
from pnml.nn.split_model import SplitModel

# A tensor or array of a batch, a function from a batch to one, or the name of an entry of a dict;
# False for no mask at all, None for the batch's own.
Mask = HasShape | Callable[[Any], HasShape] | str | Literal[False] | None
# The label of positions without one, as cross_entropy and tokenizers have it.
_IGNORED = -100


def kept_positions(mask: Mask, batch: Any, logits: Tensor) -> Tensor | None:
    """Whether each position (...) of logits (..., C) counts, so is no padding; None if all do.

    `mask` is what the user passed; None takes the batch's own attention mask and labels of -100.

    >>> kept_positions(None, {"attention_mask": torch.tensor([[1, 0]])}, torch.zeros(1, 2, 3))
    tensor([[ True, False]])
    """
    shape = logits.shape[:-1]
    if mask is None:
        kept = None
        for part in _own_masks(batch, shape):
            part = part.to(logits.device)
            kept = part if kept is None else kept & part
        return kept
    if mask is False:
        return None
    values = _values(mask, batch)
    if values.shape != shape:
        raise InputError(
            f"The mask has shape {tuple(values.shape)}, but the network gives logits at "
            f"{tuple(shape)} positions; pass one value for each, True or 1 where it counts."
        )
    _refuse_shares(values)
    return values.to(logits.device) != 0


def _refuse_shares(values: Tensor) -> None:
    """Raise if a mask holds other numbers than 0 and 1, such as weights."""
    if values.is_floating_point() and not bool(((values == 0) | (values == 1)).all()):
        raise InputError(
            "The mask holds numbers between or beyond 0 and 1, or NaN, but a position counts or it "
            "does not; pass True or 1 where it counts, and False or 0 elsewhere."
        )


def _values(mask: Mask, batch: Any) -> Tensor:
    """A mask as a tensor: called with the batch, or taken out of it by name."""
    if isinstance(mask, str):
        if not isinstance(batch, Mapping) or mask not in batch:
            raise InputError(
                f'mask is "{mask}", but the batch is no dict with such an entry; pass a function '
                "from a batch to its mask."
            )
        mask = batch[mask]
    elif callable(mask):
        mask = mask(batch)
    if isinstance(mask, Tensor):
        return mask
    array = np.asarray(mask)
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"The mask is a {type(mask).__name__} that holds no numbers; pass a tensor with True "
            "or 1 where a position counts."
        )
    return tensor_of(array)


def _own_masks(batch: Any, shape: torch.Size) -> Iterator[Tensor]:
    """The masks in a batch whose network gives logits at several positions of each input."""
    if len(shape) < 2:
        return
    labels = batch[1] if isinstance(batch, tuple | list) and len(batch) > 1 else None
    if isinstance(batch, Mapping):
        labels = batch.get("labels")
        decodes = any(str(key).startswith("decoder_") for key in batch)
        attended = batch.get("decoder_attention_mask" if decodes else "attention_mask")
        if attended is not None and np.shape(attended) == shape:
            yield torch.as_tensor(attended) != 0
    if isinstance(labels, Tensor | np.ndarray) and np.shape(labels) == shape:
        whole = torch.as_tensor(labels)
        if not whole.is_floating_point():
            yield whole != _IGNORED


def batch_of_call(
    batch: Any, mask: Mask, inputs: Mapping[str, Any], model: Any
) -> tuple[Any, Mask]:
    """The batch and the mask of a call, whose input is a batch or keywords for the network.

    Raises InputError where both came. Without a batch, `mask` is a keyword of the network too.
    """
    if batch is None:
        return (inputs if mask is None else {**inputs, "mask": mask}), None
    if inputs:
        raise InputError(
            f"An input came beside the keyword {next(iter(inputs))}, but of a batch there is "
            "one input; pass all of it by keywords, or as one dict."
        )
    _refuse_ambiguous(mask, model)
    return batch, mask


def _refuse_ambiguous(mask: Mask, model: Any) -> None:
    """Raise if `mask` is an array or tensor and the network has an argument `mask` as well."""
    if isinstance(mask, Tensor | np.ndarray) and has_argument(model, "mask"):
        raise InputError(
            "The network takes an argument mask itself, so mask= beside an input could mean "
            "either; pass the network's in a dict with its input, and ours as a function of it."
        )


@dataclass(frozen=True)
class Reading:
    """Features and logits of a batch at the last layer, and which positions are no padding.

    Leading axes are inputs and perhaps positions: `features` (..., d); `logits` (..., C), None if
    not computed yet; `kept` (...) is True where a position counts, None if all do. Error messages
    call the batch `name`.
    """

    name: str  # of the batch, for errors
    features: Tensor  # (..., d)
    logits: Tensor | None  # (..., C); None if the head still has to compute them
    kept: Tensor | None  # (...)  None: all positions

    @property
    def width(self) -> int:
        """Number d of features at each position."""
        return self.features.shape[-1]

    @property
    def outputs(self) -> int:
        """Number C of logits at each position; 0 if they are not computed yet."""
        return 0 if self.logits is None else self.logits.shape[-1]

    @property
    def rows(self) -> Tensor:
        """The features (n, d) of the n positions that are no padding."""
        return self.features.flatten(0, -2) if self.kept is None else self.features[self.kept]

    @property
    def labels(self) -> IntArray:
        """The classes (n,) that the network predicts at the n positions that are no padding.

        They are the regions of the rows; empty if logits are not computed yet.
        """
        if self.logits is None:
            return np.zeros(0, dtype=np.int64)
        labels = self.logits.argmax(dim=-1)
        counted = labels.flatten() if self.kept is None else labels[self.kept]
        array: IntArray = counted.cpu().numpy()
        return array


def read(split: SplitModel, batch: Any, mask: Mask, name: str | None = None) -> Reading:
    """Features and logits of a batch by one forward pass, and which positions are no padding.

    `mask` is what the user passed. A batch of a loader has a `name`, for errors, and is moved to
    the model's device; without a name it must be there already.
    """
    given = split.input_of(batch)
    features, logits = split.run(given) if name is None else split.run_anywhere(given)
    return Reading(name or "The input", features, logits, kept_positions(mask, batch, logits))


class Padding:
    """Counts positions that are padding, to tell a wrong mask from a loader without rows."""

    def __init__(self) -> None:
        self._left_out = self._counted = 0

    def without(self, reading: Reading) -> Tensor:
        """The features (n, d) of a batch without its padding, which is counted here."""
        rows = reading.rows
        self._counted += len(rows)
        self._left_out += reading.features[..., 0].numel() - len(rows)
        return rows

    def refuse_nothing_else(self, doing: str) -> None:
        """Raise if batches came but all is padding; `doing` is the verb in the error: "fit"."""
        if self._left_out and not self._counted:
            raise all_padding(self._left_out, doing)


def all_padding(positions: int, doing: str) -> InputError:
    """The InputError that all of so many positions are padding by the mask.

    `doing` is the verb of its sentence, "fit" or "score".
    """
    return InputError(
        f"There is nothing to {doing}, since all {positions} positions that came are padding by "
        "the mask; check it: True or 1 is where a position counts."
    )


def masked_output(scorer: Scorer, reading: Reading, scale: float | None) -> LastLayerOutput:
    """Logits, leverage and regret of a batch; leverage and regret are NaN at padding.

    `scale` is the norm to which features are brought for the regret; None leaves them as they are.
    """
    features, logits, kept = reading.features, reading.logits, reading.kept
    refuse_nonfinite(reading.rows, reading.name)
    if kept is None or logits is None:
        return scorer.output(features, logits, scale)
    out = scorer.output(reading.rows, logits[kept], scale)
    nowhere = torch.full(kept.shape, torch.nan, dtype=out.regret.dtype, device=out.regret.device)
    leverage, regret = (nowhere.masked_scatter(kept, part) for part in (out.leverage, out.regret))
    return replace(out, logits=logits, features=features, leverage=leverage, regret=regret)


def refuse_nonfinite(features: Tensor, name: str) -> None:
    """Raise if features (n, d) are NaN or infinite; the error calls their batch `name`."""
    finite = features.isfinite().all(-1)
    if not bool(finite.all()):
        raise InputError(
            f"{name} gives features that are NaN or infinite, first in row "
            f"{int((~finite).nonzero()[0])}; check those inputs, or run the network in a wider "
            "dtype."
        )
