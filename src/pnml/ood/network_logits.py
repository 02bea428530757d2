"""Batches of inputs through a network to logits and scores; the network does not change."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from pnml.core.arrays import Array, FloatArray
from pnml.errors import InputError

# A network, or any function from inputs to logits.
Model = Any
_ROWS = 512


def batches(data: Any, rows: int = _ROWS) -> Iterator[Any]:
    """Iterator over the inputs for a network, batch by batch, from a loader, an array or a tensor.

    If a batch is a tuple or a list, its first element is the input. Arrays and tensors are cut into
    batches of `rows`.
    """
    for batch in whole_batches(data, rows):
        yield batch[0] if isinstance(batch, tuple | list) else batch


def whole_batches(data: Any, rows: int = _ROWS) -> Iterator[Any]:
    """Iterator over the batches of a loader; arrays and tensors are cut into `rows` each."""
    if is_numpy_array(data) or is_tensor(data):
        yield from (data[start : start + rows] for start in range(0, len(data), rows))
        return
    if not isinstance(data, Iterable) or isinstance(data, str | dict):
        raise InputError(
            f"The rows came as a {type(data).__name__}; pass a loader of batches, an array or a "
            "tensor."
        )
    yield from data


def is_loader(x: Any) -> bool:
    """Whether `x` is an iterable of batches; an array, tensor, tuple, list or dict is one batch.

    >>> is_loader(iter([1])), is_loader([1])
    (True, False)
    """
    batch = is_numpy_array(x) or is_tensor(x) or isinstance(x, str | dict | tuple | list | Mapping)
    return isinstance(x, Iterable) and not batch


def refuse_list_of_batches(x: Any) -> None:
    """Raise InputError if a list holds several batches: only the first would be scored."""
    if not isinstance(x, list | tuple) or len(x) < 2:
        return
    arrays = [part for part in x if is_numpy_array(part) or is_tensor(part)]
    forms = {(part.dtype, tuple(part.shape[1:])) for part in arrays}
    dtype, shape = next(iter(forms)) if len(forms) == 1 else ("", ())
    if len(arrays) == len(x) and shape and "float" in str(dtype):
        raise InputError(
            f"A {type(x).__name__} of {len(x)} came whose parts all look like inputs, but of a "
            "batch only the first is the input; pass a DataLoader or iter(...) of batches, or the "
            "inputs alone."
        )


def joined(parts: Iterable[tuple[FloatArray, ...]]) -> tuple[FloatArray, FloatArray]:
    """Scores (n,) and leverages (n,) of all batches, from a pair of both for each batch.

    Entries whose leverage is NaN are padding, and are left out.
    """
    flat = [[part.ravel() for part in pair] for pair in parts]
    if not sum(len(scores) for scores, _ in flat):
        raise InputError("There is nothing to score, since the loader gave no rows; pass a batch.")
    scores, leverages = (np.concatenate(part) for part in zip(*flat, strict=True))
    real = ~np.isnan(leverages)
    return scores[real], leverages[real]


def scores_of(predict: Callable[[Any], Array], data: Any, what: str) -> FloatArray:
    """Scores (n,) of all inputs of a loader, an array or a tensor; `predict` scores one batch.

    `what` names the inputs in the error that is raised if there are none.
    """
    parts = [as_numpy(predict(x)) for x in batches(data)]
    if not sum(map(len, parts)):
        raise InputError(f"There are no rows in the {what}; pass at least one batch of inputs.")
    return np.concatenate(parts)


def logits_of(model: Model | None, x: Any) -> Array:
    """Logits (n, C) of a network for a batch, without gradients and in eval mode.

    The model may be any function from inputs to logits; None raises InputError.
    """
    if model is None:
        raise InputError(
            "This detector has no network to put inputs through; pass one to its constructor, or "
            "call predict_features."
        )
    if not is_module(model):
        return _checked(model(x))
    import torch

    from pnml.nn.eval_mode import as_in_use

    with as_in_use([model]), torch.no_grad():
        logits = raw_logits(model, as_input(model, x))
    return logits.cpu().numpy() if is_numpy_array(x) else logits


def raw_logits(model: Any, x: Any) -> Array:
    """Logits (n, C) of a network in its present mode, with gradients if they are enabled."""
    from pnml.nn.batches import call

    return logits_in(call(model, x))


def logits_in(returned: Any) -> Array:
    """Logits (n, C) in the output of a network: its first tensor, checked to have two axes."""
    from pnml.nn.batches import tensors_in

    return _checked(next(tensors_in(returned), None))


def as_input(model: Any, x: Any) -> Any:
    """A batch as a network takes it: on its device, and arrays as tensors in its dtype."""
    from pnml.nn.batches import device_of, input_of, moved

    return moved(input_of(x, model), device_of(model))


def is_module(model: Any) -> bool:
    """Whether a model is a torch.nn.Module; does not import PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def is_tensor(values: Any) -> bool:
    """Whether values are a torch.Tensor; does not import PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def as_numpy(values: Array) -> FloatArray:
    """Logits or other values, given as an array or a tensor, as a numpy array in float64."""
    if is_tensor(values):
        values = values.detach().cpu().numpy()
    return np.asarray(values, dtype=np.float64)


def _checked(logits: Any) -> Array:
    if getattr(logits, "ndim", None) != 2:
        shape = tuple(getattr(logits, "shape", ()))
        raise InputError(
            f"The network gave logits of shape {shape}, not (n, classes); pass a classifier, or a "
            "function that returns its logits."
        )
    return logits
