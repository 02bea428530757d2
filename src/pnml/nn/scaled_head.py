"""Logits of a network's head at scales, in blocks, with its weights converted once."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pnml.nn.feature_regions import IntArray
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.head import Factor, Head, LinearHead

# Precision of the logits behind a regret, by the name of the setting.
PRECISIONS = {"double": torch.float64, "single": torch.float32}
# Logits that are computed at once: 32 MiB in float64.
_BLOCK_LOGITS = 2**22
# Rows of a block at least, so that products stay efficient.
_FEWEST_ROWS = 64


def rows_at_once(classes: int) -> int:
    """Number of rows to compute at once: those of four million logits, but at least 64.

    >>> rows_at_once(10), rows_at_once(30522)
    (419430, 137)
    """
    return max(_FEWEST_ROWS, _BLOCK_LOGITS // max(classes, 1))


class ScaledHead:
    """The head of a network, for logits of features times any factor, without gradients.

    `precision` is "double" (float64) or "single" (float32). The weights of a linear head are kept
    in that dtype until they change: for 30,522 classes of 768 features another 188 MB in float64.
    Other heads compute in the dtype of their features.
    """

    def __init__(self, head: Head, precision: str = "double") -> None:
        self.head, self.dtype = head, PRECISIONS[precision]
        self._known: tuple[Any, Tensor, Tensor] | None = None

    def logits(self, rows: Tensor, *factors: Factor) -> list[Tensor]:
        """For each factor, the logits (n, C) of features (n, d) multiplied by that factor.

        A factor is a number, or a tensor (n, 1). A linear head takes one product for all factors.
        """
        with torch.no_grad():
            if not isinstance(self.head, LinearHead):
                return self.head.in_double(rows.device)(rows, *factors)
            weight, bias = self._weights(self.head, rows.device)
            slopes = functional.linear(rows.to(weight.dtype), weight)
            *others, last = (_like(factor, slopes) for factor in factors)
            logits = [*(slopes * factor for factor in others), slopes.mul_(last)]
            return logits if self.head.module.bias is None else [z.add_(bias) for z in logits]

    def rescaled(self, own: Tensor, ratio: Tensor) -> Tensor | None:
        """Logits (n, C) of features multiplied by `ratio` (n, 1), from the network's own logits.

        It takes no matrix product. None if the head is not linear, or if the own logits (n, C) have
        less than the wanted precision.
        """
        enough = own.dtype in (torch.float64, self.dtype)
        if not enough or not isinstance(self.head, LinearHead):
            return None
        _, bias = self._weights(self.head, own.device)
        with torch.no_grad():
            return (own - bias).mul_(_like(ratio, own)).add_(bias)

    def predicted(self, features: Tensor) -> IntArray:
        """Class (n,) that the head predicts for features (n, d), in its own dtype: their region."""
        labels = np.empty(len(features), dtype=np.int64)
        step = rows_at_once(self.head.outputs(features.shape[1]))
        for start in range(0, len(features), step):
            part = slice(start, start + step)
            with torch.no_grad():
                logits = self._own_logits(features[part])
            labels[part] = numpy_rows(logits).argmax(axis=1)  # faster than torch's
        return labels

    def _own_logits(self, features: Tensor) -> Tensor:
        if not isinstance(self.head, LinearHead):
            return self.head.in_double(features.device)(features.double(), 1.0)[0]
        module, device = self.head.module, features.device
        weight = module.weight.flatten(1).to(device)
        bias = None if module.bias is None else module.bias.to(device)
        return functional.linear(features.to(weight.dtype), weight, bias)

    def _weights(self, head: LinearHead, device: torch.device) -> tuple[Tensor, Tensor]:
        """Weight and bias times the scale of the network's logits, converted once."""
        weight, bias = head.module.weight, head.module.bias
        parts = [weight] if bias is None else [weight, bias]
        state = (device, head.scale, *((id(w), w.data_ptr(), _version(w)) for w in parts))
        if self._known is None or self._known[0] != state:
            wanted = weight.detach().flatten(1).to(device, self.dtype)
            shift = wanted.new_zeros(()) if bias is None else bias.detach().to(device, self.dtype)
            if head.scale != 1:
                wanted, shift = head.scale * wanted, head.scale * shift
            self._known = state, wanted, shift
        return self._known[1:]


def _version(weight: Tensor) -> int:
    return 0 if weight.is_inference() else weight._version


def _like(factor: Factor, values: Tensor) -> Factor:
    return factor.to(values.dtype) if isinstance(factor, Tensor) else factor
