"""Features and head of a network for detectors: from its last layer, an encoder, or arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from array_api_compat import is_numpy_array

from pnml.core.arrays import Array, FloatArray
from pnml.errors import InputError
from pnml.ood.network_logits import as_input, as_numpy, is_module, is_tensor, whole_batches

Labels = npt.NDArray[Any]
# Rows that are looked at together: bounds what scores and sums need in memory.
BLOCK = 4096


# (id of the NetworkFeatures, id of the batch) → the batch and its features, in a `shared_pass`.
_Known = dict[tuple[int, int], tuple[Any, FloatArray]]
_PASS: ContextVar[_Known | None] = ContextVar("features of the batch that is scored", default=None)


@contextmanager
def shared_pass() -> Iterator[None]:
    """Context in which each `NetworkFeatures` runs its network only once for the same batch."""
    before = _PASS.set({})
    try:
        yield
    finally:
        _PASS.reset(before)


class Rows(NamedTuple):
    """Features of training rows, and their labels or None."""

    features: FloatArray  # (n, d)
    labels: Labels | None  # (n,)


@dataclass(frozen=True)
class LinearHead:
    """Head of a network, its last layer, as float64 arrays: logits are weight @ features + bias.

    >>> LinearHead.of([[1.0, 0.0], [0.0, 2.0]], None).logits(np.ones((1, 2)))
    array([[1., 2.]])
    """

    weight: FloatArray  # (C, d)
    bias: FloatArray  # (C,)

    @classmethod
    def of(cls, weight: Any, bias: Any) -> LinearHead:
        """Head with a weight (C, d) and a bias (C,), None meaning zeros; checks their shapes."""
        W = as_numpy(weight)
        b = np.zeros(W.shape[:1]) if bias is None else as_numpy(bias)
        if W.ndim != 2 or b.shape != W.shape[:1]:
            raise InputError(
                f"The weight has shape {W.shape} and the bias {b.shape}, but a head of C classes "
                "and d features has (C, d) and (C,); pass them so."
            )
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise InputError("The weight or the bias is not finite; pass those of a trained head.")
        return cls(W, b)

    def logits(self, features: FloatArray) -> FloatArray:
        """Logits (n, C) of features (n, d); raises InputError if the head takes another width."""
        if features.shape[1] != self.weight.shape[1]:
            raise InputError(
                f"The features have {features.shape[1]} columns, but the head takes "
                f"{self.weight.shape[1]}; pass what the last layer sees."
            )
        return np.asarray(features @ self.weight.T + self.bias)


class NetworkFeatures:
    """Source of features (n, d) of inputs, and of the head of the network they come from.

    A network of PyTorch is split at its last layer, which `layer` names. With a weight, it is an
    encoder whose outputs are the features, and so is any function. Without a model, inputs are
    features. Within `shared_pass`, detectors that share this object share the features of a batch.
    """

    def __init__(self, model: Any, layer: Any, weight: Any = None, bias: Any = None) -> None:
        self.model = model
        self._given = None if weight is None else LinearHead.of(weight, bias)
        self._split: Any = None
        if weight is None and bias is not None:
            raise InputError("A bias came without a weight; pass both arrays of the head.")
        if layer is not None or (is_module(model) and weight is None):
            from pnml.nn.split_model import SplitModel

            self._split = SplitModel(model, layer)

    def head(self, width: int, why: str) -> LinearHead:
        """The last layer for features of this width; raises InputError if it is not linear.

        The error starts with `why`, which says who needs the head, such as "ViM needs".
        """
        if self._given is not None:
            return self._given
        module = None if self._split is None else self._split.head(width)
        module = getattr(module, "module", None)
        if module is None:
            raise InputError(
                f"{why} the head of the network, which cannot be seen here; pass its weight and "
                "bias, or a network of PyTorch that ends in a linear layer."
            )
        bias = None if module.bias is None else module.bias
        return LinearHead.of(module.weight.detach().flatten(1), bias)

    def of(self, x: Any) -> FloatArray:
        """Features (n, d) of a batch of inputs, without gradients and in eval mode."""
        known = _PASS.get()
        if known is None:
            return checked_features(self._computed(x))
        if (id(self), id(x)) not in known:
            known[id(self), id(x)] = x, checked_features(self._computed(x))
        return known[id(self), id(x)][1]

    def _computed(self, x: Any) -> Any:
        if self.model is None and self._split is None:
            return x
        if self._split is not None:
            import torch

            with torch.no_grad():
                return self._split.run_anywhere(self._split.input_of(x))[0]
        if not is_module(self.model):
            return self.model(x)
        import torch

        from pnml.nn.batches import call
        from pnml.nn.eval_mode import as_in_use

        with as_in_use([self.model]), torch.no_grad():
            return call(self.model, as_input(self.model, x))

    def rows(self, loader: Any) -> Iterator[Rows]:
        """Iterator over the features and labels of training inputs: a `Rows` for each batch."""
        for x, y in _pairs(loader):
            features = self.of(x)
            yield Rows(features, None if y is None else checked_labels(y, len(features)))


def rows_of(features: Any, y: Any = None) -> Iterator[Rows]:
    """Iterator over given features (n, d) and labels (n,) or None, as `Rows` of bounded size."""
    n = len(features) if hasattr(features, "__len__") else 0
    labels = None if y is None else checked_labels(y, n)
    if not is_numpy_array(features) and not is_tensor(features):
        features = np.asarray(features, dtype=np.float64)
    for start in range(0, max(n, 1), BLOCK):
        part = slice(start, start + BLOCK)
        yield Rows(checked_features(features[part]), None if labels is None else labels[part])


def checked_features(features: Any) -> FloatArray:
    """Features (n, d) of a network in float64; refuses other shapes, and NaN or infinite ones."""
    values = as_numpy(features)
    if values.ndim != 2:
        raise InputError(
            f"The features have shape {values.shape}, not (n, d); pass a row for each input."
        )
    broken = ~np.isfinite(values).all(axis=1)
    if broken.any():
        raise InputError(
            f"{broken.sum()} rows of features are NaN or infinite, first row "
            f"{int(np.argmax(broken))} of its batch; leave such inputs out, or mend the network."
        )
    return values


def checked_labels(y: Any, n: int) -> Labels:
    """Labels of n rows of features as an array (n,); raises InputError for another shape."""
    labels = y.detach().cpu().numpy() if is_tensor(y) else np.asarray(y)
    if labels.shape != (n,):
        raise InputError(
            f"The labels have shape {labels.shape}, but there are {n} rows of features; pass one "
            "label for each row."
        )
    return np.asarray(labels)


def like(scores: FloatArray, given: Any) -> Array:
    """Scores as a tensor if `given` is a tensor or a dict with one, otherwise unchanged."""
    values = given.values() if isinstance(given, dict) else [given]
    tensor = next((value for value in values if is_tensor(value)), None)
    if tensor is None:
        return scores
    import torch

    return torch.from_numpy(scores).to(tensor.device)


def in_blocks(function: Callable[[FloatArray], FloatArray], features: FloatArray) -> FloatArray:
    """Values (n,) of a function of features (n, d), applied to blocks of rows of bounded size."""
    starts = range(0, len(features), BLOCK)
    parts = [function(features[start : start + BLOCK]) for start in starts]
    return np.concatenate(parts) if parts else np.zeros(0)


def _pairs(loader: Any) -> Iterator[tuple[Any, Any]]:
    """Inputs and labels of a loader; arrays and tensors are cut into batches without labels."""
    for batch in whole_batches(loader):
        if isinstance(batch, tuple | list) and batch:
            yield batch[0], batch[1] if len(batch) > 1 else None
        else:
            yield batch, batch.get("labels") if isinstance(batch, dict) else None
