"""Fingerprint of the last layer that a statistic was fitted with, kept in a buffer."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from pnml.errors import ConditionWarning, InputError
from pnml.nn.split_model import SplitModel
from pnml.runtime.fingerprint import fingerprint

# A network may be cast to one of these after the fit; the layer is then the same, but rounded.
_SHORT = (torch.float16, torch.bfloat16)


class HeadFingerprint(nn.Module):
    """Digests of a head's weights in float32 and in both short dtypes; zeros: unknown.

    It warns once for each fit.
    """

    digests: Tensor  # (3,)  whole numbers, which no cast of the network changes

    def __init__(self) -> None:
        super().__init__()
        self._seen: Any = None  # version of the head that was compared last
        self._warned = False
        self.register_buffer("digests", torch.zeros(1 + len(_SHORT), dtype=torch.int64))

    @property
    def known(self) -> bool:
        """Whether a fingerprint is stored."""
        return not self.digests.is_meta and bool(self.digests.any())

    def store(self, split: SplitModel) -> None:
        """Keep the fingerprint of a network's head; unknown if that is no module."""
        with torch.inference_mode(False):
            self.digests = digests_of(split.head_weights()).to(self.digests.device)
        self._seen, self._warned = split.head_version(), False

    def check(self, split: SplitModel) -> None:
        """Warn if a network's head is not the one of the fingerprint, as far as that is known."""
        version = split.head_version()
        if self._warned or version == self._seen:
            return
        self._seen = version
        if self.known and not same_weights(self.digests.cpu(), digests_of(split.head_weights())):
            self._warned = True
            warnings.warn(
                "The weights of the last layer are not those that the training rows were counted "
                "with, so regrets compare inputs with rows of another network; call fit again.",
                ConditionWarning,
                stacklevel=5,
            )

    def refuse_other(self, other: HeadFingerprint) -> None:
        """Raise if two fingerprints are known to be of different heads."""
        both = self.known and other.known
        if both and not same_weights(self.digests.cpu(), other.digests.cpu()):
            raise InputError(
                "The two were fitted with last layers of different weights, so their training rows "
                "do not add; fit both with the same network."
            )

    def _get_name(self) -> str:
        return "HeadFingerprint"

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Load a state that may be without a fingerprint, as older ones are."""
        state_dict.setdefault(prefix + "digests", torch.zeros_like(self.digests, device="cpu"))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self._seen, self._warned = None, False


def digests_of(weights: Iterable[Tensor]) -> Tensor:
    """Digests (3,) of a head's weights in float32 and both short dtypes; zeros if unknown.

    >>> head = nn.Linear(2, 3).state_dict().values()
    >>> same_weights(digests_of(head), digests_of([part.half() for part in head]))
    True
    """
    parts = [weight.detach() for weight in weights if weight.is_floating_point()]
    if not parts or any(part.is_meta for part in parts):
        return torch.zeros(1 + len(_SHORT), dtype=torch.int64)
    casts = [[part.float() for part in parts]]
    casts += [[part.to(dtype).float() for part in parts] for dtype in _SHORT]
    numbers = [int(fingerprint(*cast)[:15], 16) for cast in casts]
    return torch.tensor(numbers, dtype=torch.int64)


def same_weights(one: Tensor, other: Tensor) -> bool:
    """Whether weights are equal, or those of one are the other's rounded to a short dtype."""
    if one[0] == other[0]:
        return True
    rounded = (one[1:] == one[0]) | (other[1:] == other[0])
    return bool((rounded & (one[1:] == other[1:])).any())
