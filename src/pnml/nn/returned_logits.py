"""Whether what a network returns are the logits of a layer, up to scale, shift and softmax."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from pnml.errors import InputError
from pnml.nn.head import LinearHead, MergedHead

# Rounding of logits by dtype, as a share of ‖w‖·‖φ‖ + |b|. CUDA may multiply float32 as TF32.
_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2}
_COARSE, _TF32 = 4e-2, 4e-3
# A scale other than 1 is believed if this many differences of logits, of several rows, have it.
_ENOUGH = 3


@dataclass(frozen=True)
class Agreement:
    """How the values a network returns follow from a layer's logits: times `scale`, then a link.

    `link` is "none" (or a shift of each row, as by log-softmax), "softmax" or "sigmoid"; `enough`
    is False if there were too few rows to tell the scale from chance.

    >>> own = torch.tensor([[1.0, 0.0], [0.0, 3.0]]).double()
    >>> agreement(own, (own / 2).softmax(1), torch.full((2,), 1e-6)).link
    'softmax'
    """

    scale: float = 1.0
    link: str = "none"  # none (or a shift of the row, as by log-softmax), softmax or sigmoid
    enough: bool = True  # whether there were rows enough to tell a scale from chance


def agreement_with(
    head: LinearHead | MergedHead, features: Tensor, values: Tensor
) -> Agreement | None:
    """How returned values (n, C) follow from the head's logits of features (n, d); None if not.

    Rows whose features are NaN or infinite are not compared.
    """
    finite = features.isfinite().all(1)
    if not bool(finite.all()):
        features, values = features[finite], values[finite]
    if not len(features):
        return Agreement()
    with torch.no_grad():
        own = head.in_double(features.device)(features.double(), 1.0)[0]
        return agreement(own, values, rounding(head, features, values))


def rounding(head: LinearHead | MergedHead, features: Tensor, values: Tensor) -> Tensor:
    """Round-off (n,) to allow for when the logits of each row are compared with returned values.

    It follows from the dtypes of features (n, d), returned values (n, C) and weights.
    """
    weight, bias = head.affine(features.shape[-1])
    share = max(_ROUNDING.get(part.dtype, _COARSE) for part in (features, values, weight))
    share = max(share, _TF32) if features.is_cuda and share > _ROUNDING[torch.float64] else share
    size = weight.double().norm(dim=1).max() * features.double().norm(dim=1)
    bound: Tensor = size if bias is None else size + bias.double().abs().max()
    return head.scale * share * bound


def agreement(own: Tensor, returned: Tensor, tolerance: Tensor) -> Agreement | None:
    """How returned values (n, C) follow from a layer's logits (n, C); None if they do not.

    `tolerance` (n,) is the rounding of the logits of each row.
    """
    own, values, slack = own.double(), returned.double(), tolerance.double()[:, None]
    if not values.isfinite().all():
        return None
    found = _same(own, values, slack, shift=own.shape[1] > 1)
    if found is not None or values.min() < 0 or values.max() > 1:
        return found
    tiny = 16 * torch.finfo(returned.dtype).tiny
    if own.shape[1] > 1 and bool(((values.sum(1) - 1).abs() < 1e-2).all()):
        known = values > tiny
        logs = torch.where(known, values, 1.0).log()
        found = _same(own, logs, slack, shift=True, known=known)
        return None if found is None else Agreement(found.scale, "softmax", found.enough)
    share = torch.finfo(returned.dtype).eps
    inside = (values > tiny) & (values < 1 - 1e3 * share)
    odds = torch.where(inside, values, 0.5).logit()
    blur = slack + 8 * share / torch.where(inside, values * (1 - values), 1.0)
    found = _same(own, odds, blur, shift=False, known=inside)
    return None if found is None else Agreement(found.scale, "sigmoid", found.enough)


def _same(
    own: Tensor, values: Tensor, slack: Tensor, *, shift: bool, known: Tensor | None = None
) -> Agreement | None:
    """Agreement of known values with scaled logits, plus a shift per row if `shift`; or None."""
    known = torch.ones_like(values, dtype=torch.bool) if known is None else known
    if shift:  # differences to the largest value of the row
        at = torch.where(known, values, -torch.inf).argmax(1, keepdim=True)
        own, values = own - own.gather(1, at), values - values.gather(1, at)
        slack = 2 * slack
    own, values = own * known, values * known
    if bool(((values - own).abs() <= slack).all()):
        return Agreement()
    size = float((own * own).sum())
    scale = float((own * values).sum()) / size if size else 0.0
    if scale <= 0 or not bool(((values - scale * own).abs() <= max(scale, 1.0) * slack).all()):
        return None
    telling = own.abs() > 4 * slack
    rows, differences = int(telling.any(1).sum()), int(telling.sum())
    if not rows:
        return None
    return Agreement(scale, enough=rows > 1 and differences >= _ENOUGH)


def arrangements(returned: Tensor, shape: torch.Size) -> Iterator[Tensor]:
    """A returned tensor rearranged to `shape` (..., C), once for each axis order networks use.

    It yields nothing if the tensor has another size or does not hold floats.
    """
    if returned.numel() != shape.numel() or not returned.is_floating_point():
        return
    yield returned.reshape(shape)
    if returned.ndim > 2 and returned.shape[1] == shape[-1]:
        yield returned.movedim(1, -1).reshape(shape)  # (B, C, T), as cross_entropy takes it
    if returned.ndim > 2 and returned.shape[1] == shape[0]:
        yield returned.transpose(0, 1).reshape(shape)  # (T, B, C)


def is_enlarged(logits: Tensor, returned: Tensor, tolerance: float) -> bool:
    """Whether a returned map of pixels is a smaller map of logits (B, h, w, C), interpolated."""
    if logits.ndim != 4 or returned.ndim != 4 or returned.shape[1] != logits.shape[-1]:
        return False
    small = logits.movedim(-1, 1).double()
    modes = (("nearest", None), ("bilinear", False), ("bilinear", True), ("bicubic", False))
    for mode, corners in modes:
        large = functional.interpolate(
            small, tuple(returned.shape[-2:]), mode=mode, align_corners=corners
        )
        if bool(((large - returned.double()).abs() <= tolerance).all()):
            return True
    return False


def refuse_too_few(name: str) -> None:
    """Raise because a batch has too few rows to tell the scale of returned logits from chance."""
    raise InputError(
        f'The network returns another multiple of the output of its layer "{name}", and the first '
        "batch has too few rows to tell which; pass a larger batch first, or two functions "
        "layer=(features, head)."
    )
