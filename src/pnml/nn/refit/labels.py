"""Labels of training rows: found in a batch, and checked against the classes of the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pnml.errors import InputError


def label_of(batch: Any, name: str) -> Any:
    """The labels in a batch: second of a tuple, or entry "labels" of a dict; raises without.

    The error calls the batch `name`.

    >>> label_of((torch.zeros(2, 3), torch.tensor([1, 0])), "Batch 0")
    tensor([1, 0])
    """
    if isinstance(batch, tuple | list) and len(batch) > 1:
        return batch[1]
    if isinstance(batch, Mapping) and "labels" in batch:
        return batch["labels"]
    raise InputError(
        f"{name} has no labels, but a refit needs the label of every training row; pass batches "
        '(input, label), or dicts with an entry "labels".'
    )


def class_labels(
    labels: Any, shape: torch.Size, classes: int, name: str, kept: Tensor | None = None
) -> Tensor:
    """Labels as an integer tensor of this shape; raises unless all are from 0 to `classes` − 1.

    Where `kept` is False, at padding, a label may be anything and becomes 0. Error messages call
    the batch `name`.

    >>> class_labels([1, 0], torch.Size([2]), 2, "Batch 0")
    tensor([1, 0])
    """
    try:
        values = torch.as_tensor(labels)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{name} has labels that are no numbers; count the classes from 0 to {classes - 1}."
        ) from error
    whole = not (values.is_floating_point() or values.is_complex() or values.dtype is torch.bool)
    if values.shape != shape or not whole:
        raise InputError(
            f"{name} has labels of {values.dtype} and shape {tuple(values.shape)}, but one whole "
            f"number for each of {tuple(shape)} inputs is needed; pass class indices."
        )
    values = values.detach().cpu().long()
    if kept is not None:
        values = values.where(kept.cpu(), 0)
    if bool(((values < 0) | (values >= classes)).any()):
        raise InputError(
            f"{name} has labels from {int(values.min())} to {int(values.max())}, but the network "
            f"has {classes} classes; count them from 0 to {classes - 1}."
        )
    return values
