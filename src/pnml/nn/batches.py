"""Batches of any type: the input in them, and the call of a network on it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from pnml.errors import InputError

# Batches of training or new inputs; a tensor, an array or a dict alone is one batch.
Loader = Iterable[object] | Mapping[str, object]


def input_of(batch: object, network: nn.Module | None = None) -> Any:
    """The input in a batch: the first element of a tuple, or a dict without its labels.

    Arrays, which are mostly in double precision, become tensors in the dtype of the network.

    >>> input_of((torch.zeros(2), torch.ones(2)))
    tensor([0., 0.])
    """
    if isinstance(batch, tuple | list):
        if not batch:
            raise InputError("A batch is an empty tuple; put the input first.")
        _refuse_texts(batch)
        batch = batch[0]
    return as_given(batch, network)


def as_given(batch: object, network: nn.Module | None = None) -> Any:
    """An input as the network takes it: a dict without its labels, arrays as tensors.

    >>> as_given({"ids": 1, "labels": 2})
    {'ids': 1}
    """
    _refuse_texts(batch)
    if isinstance(batch, np.ndarray):
        given, weights = tensor_of(batch), () if network is None else network.parameters()
        dtypes = (weight.dtype for weight in weights if weight.is_floating_point())
        return given.to(next(dtypes, given.dtype)) if given.is_floating_point() else given
    if isinstance(batch, Mapping):
        return {key: value for key, value in batch.items() if key != "labels"}
    return batch


def _refuse_texts(batch: object) -> None:
    """Raise if a batch holds texts, which no network takes."""
    parts = [*batch.values()] if isinstance(batch, Mapping) else [batch]
    if isinstance(batch, tuple | list):
        parts = [batch[0]]
    for part in parts:
        first = part[0] if isinstance(part, tuple | list) and part else part
        if isinstance(first, str) or (isinstance(part, np.ndarray) and part.dtype.kind in "US"):
            raise InputError(
                "The batch holds texts, but a network takes numbers; tokenize first, and pass the "
                'dict of tensors that the tokenizer gives, by return_tensors="pt".'
            )


def floats_of(values: object) -> Tensor:
    """Features as a tensor of floats with at least one axis; shares their memory where possible.

    >>> floats_of([[1, 2]])
    tensor([[1., 2.]], dtype=torch.float64)
    """
    try:
        if isinstance(values, Tensor):
            tensor = values
        else:
            array = np.asarray(values)
            tensor = tensor_of(array if array.dtype.kind in "fiub" else array.astype(np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"A {type(values).__name__} came that cannot be read as rows of equally many numbers; "
            "pass an array or a tensor of them."
        ) from error
    if tensor.ndim == 0:
        raise InputError("One number came, but rows of features are needed; pass an array (n, d).")
    return tensor if tensor.is_floating_point() else tensor.double()


def features_of_rows(values: object) -> Tensor:
    """Features as a float tensor (..., d); raises InputError for one row without an axis of rows.

    >>> features_of_rows(np.ones((2, 3))).shape
    torch.Size([2, 3])
    """
    features = floats_of(values)
    if features.ndim < 2:
        raise InputError(
            f"The features have shape {tuple(features.shape)}, but rows of features are needed; "
            "pass an array (n, d), for one row features[None]."
        )
    return features


def tensor_of(array: npt.NDArray[Any]) -> Tensor:
    """An array of a batch as a tensor that shares its memory where possible; do not write to it.

    >>> tensor_of(np.arange(3.0)[::-1])
    tensor([2., 1., 0.], dtype=torch.float64)
    """
    if any(step < 0 for step in array.strides):
        array = np.ascontiguousarray(array)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writ", UserWarning)
        return torch.from_numpy(array)


def call(function: Callable[..., Any], given: object) -> Any:
    """Output of a network for the input of a batch: dicts become keywords, tuples arguments.

    A network that takes one dict or one tuple gets it as it is.
    """
    try:
        if isinstance(given, Mapping) and _takes_keywords(function, given):
            return function(**given)
        if isinstance(given, tuple | list) and _takes_many(function):
            return function(*given)
        return function(given)
    except RuntimeError as error:
        _explain_integers(function, given, error)
        raise


def moved(given: object, device: torch.device | None) -> Any:
    """The input of a batch with all its tensors on a device; unchanged if `device` is None."""
    if device is None:
        return given
    if isinstance(given, Tensor):
        return given.to(device)
    if isinstance(given, Mapping):
        return {key: moved(value, device) for key, value in given.items()}
    if isinstance(given, tuple | list):
        return [moved(value, device) for value in given]
    return given


def tensors_in(value: object) -> Iterator[Tensor]:
    """All tensors in a batch or an output: from nested dicts, tuples and lists.

    Of a part that has an entry or attribute `logits`, that tensor alone.
    """
    logits = value.get("logits") if isinstance(value, Mapping) else getattr(value, "logits", None)
    if isinstance(value, Tensor):
        yield value
    elif isinstance(logits, Tensor):
        yield logits
    elif isinstance(value, Mapping | tuple | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from tensors_in(part)


def device_of(module: nn.Module) -> torch.device | None:
    """Device of the weights of a network; None without weights or with several devices."""
    devices = {parameter.device for parameter in module.parameters()}
    return devices.pop() if len(devices) == 1 else None


def refuse_other_device(module: nn.Module, given: object) -> None:
    """Raise if a batch's input and a network are on different devices."""
    home = device_of(module)
    device = next((t.device for t in tensors_in(given)), None)
    if home is not None and device is not None and device != home:
        raise InputError(
            f"The input is on {device} but the network is on {home}; move one of them, for "
            f'instance x.to("{home}").'
        )


def batches_of(loader: object) -> Iterable[object]:
    """The batches of a loader; a tensor or an array alone is one batch."""
    if isinstance(loader, Tensor | np.ndarray | Mapping):
        return [loader]
    if not isinstance(loader, Iterable) or isinstance(loader, str):
        raise InputError(
            f"The loader is a {type(loader).__name__}, which gives no batches; pass a DataLoader, "
            "a list of batches, or one tensor."
        )
    return loader


def has_argument(function: Callable[..., Any], name: str) -> bool:
    """Whether a network takes an argument of this name beside the input of a batch.

    >>> has_argument(lambda x, mask: x, "mask")
    True
    """
    return any(parameter.name == name for parameter in _parameters(function) or [])


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        parameters = inspect.signature(getattr(function, "forward", function)).parameters
    except (TypeError, ValueError):
        return None
    return list(parameters.values())


def _takes_keywords(function: Callable[..., Any], given: Mapping[str, Any]) -> bool:
    parameters = _parameters(function)
    if parameters is None or any(p.kind is p.VAR_KEYWORD for p in parameters):
        return True
    return set(given) <= {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}


def _takes_many(function: Callable[..., Any]) -> bool:
    parameters = _parameters(function) or []
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return len(needed) > 1 or any(p.kind is p.VAR_POSITIONAL for p in needed)


def _explain_integers(function: Callable[..., Any], given: Any, error: RuntimeError) -> None:
    """Raise an explanation if images are integers, as they are in files."""
    tokens = isinstance(function, nn.Module) and any(
        isinstance(module, nn.Embedding) for module in function.modules()
    )
    dtypes = [tensor.dtype for tensor in tensors_in(given)]
    whole = not any(dtype.is_floating_point or dtype.is_complex for dtype in dtypes)
    if dtypes and whole and not tokens:
        raise InputError(
            f"The input is {dtypes[0]}, but the network computes in floating point; convert "
            "and scale it as in training, for instance x.float() / 255."
        ) from error
