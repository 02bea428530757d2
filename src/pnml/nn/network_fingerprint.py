"""Fingerprint of the network that a statistic was fitted with, kept in buffers."""

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


# Weights that are summed at once.
_AT_ONCE = 2**20
_MODULUS = 2**61 - 1


class NetworkFingerprint(nn.Module):
    """Fingerprint of a network when it was fitted, in buffers, to notice weights changed since.

    Digests are three integers, of the weights in float32, float16 and bfloat16: `digests` of the
    head, `others` of all before it. Zeros mean unknown, or no weights. `check` warns once for each
    fit, and computes digests again only if a weight was replaced or changed in place.
    """

    digests: Tensor  # (3,)  of the head; whole numbers, which no cast of the network changes
    others: Tensor  # (3,)  of all weights and buffers before it

    def __init__(self) -> None:
        super().__init__()
        self._seen: Any = None  # version of the network that was compared last
        self._warned = False
        for name in ("digests", "others"):
            self.register_buffer(name, torch.zeros(1 + len(_SHORT), dtype=torch.int64))

    def store(self, split: SplitModel) -> None:
        """Store the digests of a network; those of a head that is no torch module are unknown."""
        with torch.inference_mode(False):
            self.digests = digests_of(split.head_weights()).to(self.digests.device)
            self.others = sums_of(split.other_weights()).to(self.others.device)
        self._seen, self._warned = split.version(), False

    def check(self, split: SplitModel) -> None:
        """Warn if the weights of a network differ from the stored digests, if these are known."""
        version = split.version()
        if self._warned or version == self._seen:
            return
        self._seen = version
        changed = None
        if differ(self.digests, digests_of(split.head_weights())):
            changed = "The weights of the last layer are"
        elif differ(self.others, sums_of(split.other_weights())):
            changed = "Weights or buffers before the last layer are"
        if changed is not None:
            self._warned = True
            warnings.warn(
                f"{changed} not those that the training rows were counted with, so regrets compare "
                "inputs with rows of another network; call fit again.",
                ConditionWarning,
                stacklevel=5,
            )

    def refuse_other(self, other: NetworkFingerprint) -> None:
        """Raise InputError if both fingerprints are known and are of different networks."""
        pairs = {
            "last layers of different weights": (self.digests, other.digests),
            "networks whose weights differ before the last layer": (self.others, other.others),
        }
        for what, (one, another) in pairs.items():
            if differ(one, another):
                raise InputError(
                    f"The two were fitted with {what}, so their training rows do not add; fit both "
                    "with the same network."
                )

    def _get_name(self) -> str:
        return "NetworkFingerprint"

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        """Load a state_dict; one of an older version has no digests and gets zeros: unknown."""
        for name in ("digests", "others"):
            state_dict.setdefault(prefix + name, torch.zeros_like(self.digests, device="cpu"))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self._seen, self._warned = None, False


def digests_of(weights: Iterable[Tensor]) -> Tensor:
    """Digests (3,) of a head's weights as they are in float32, float16 and bfloat16.

    Integers cut from a SHA-256; zeros if there are no weights or they are on the meta device.

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


def sums_of(weights: Iterable[Tensor]) -> Tensor:
    """Digests (3,) of many weights: sums of their bits in float32, float16 and bfloat16.

    A sum of integers is the same in any order and on any device, and costs one reading of the
    weights; each tensor counts times its place in the list. Zeros for weights on the meta device.

    >>> one = [torch.arange(6.0), torch.ones(2)]
    >>> same_weights(sums_of(one), sums_of([part.bfloat16() for part in one]))
    True
    >>> bool(sums_of(one)[0] == sums_of([part + 1e-6 for part in one])[0])
    False
    """
    totals = [0] * (1 + len(_SHORT))
    for place, weight in enumerate(weights, start=1):
        if weight.is_meta:
            return torch.zeros(len(totals), dtype=torch.int64)
        values = weight.detach().flatten()
        for start in range(0, len(values), _AT_ONCE):
            part = values[start : start + _AT_ONCE]
            casts = [part.float(), *(part.to(dtype).float() for dtype in _SHORT)]
            for i, cast in enumerate(casts):
                totals[i] += place * int(cast.view(torch.int32).sum(dtype=torch.int64))
    return torch.tensor([1 + total % _MODULUS if total else 0 for total in totals])


def differ(one: Tensor, other: Tensor) -> bool:
    """Whether two digests (3,) are both known, so not all zero, and are of different weights."""
    known = all(not part.is_meta and bool(part.any()) for part in (one, other))
    return known and not same_weights(one.cpu(), other.cpu())


def same_weights(one: Tensor, other: Tensor) -> bool:
    """Whether two digests (3,) are of equal weights, or of weights and their rounded copy.

    Rounded means cast to float16 or bfloat16.
    """
    if one[0] == other[0]:
        return True
    rounded = (one[1:] == one[0]) | (other[1:] == other[0])
    return bool((rounded & (one[1:] == other[1:])).any())
