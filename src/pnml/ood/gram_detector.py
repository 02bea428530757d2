"""Gram: deviations of channel correlations from those of training rows of the same class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
from array_api_compat import is_numpy_array

from pnml.core.arrays import Array, FloatArray
from pnml.core.softmax import log_softmax
from pnml.core.trust import Reference
from pnml.errors import InputError
from pnml.ood.detector import Detector, required_scores
from pnml.ood.gram_row_sums import Bounds, Recorded, Tensor, layers_of, recorded
from pnml.ood.network_logits import as_input, as_numpy, batches, is_module, logits_of

# Every tenth row is held out of the bounds, to normalise the deviations.
EVERY = 10
# Most numbers in held-out rows: 128 MB in float32.
_MOST_NUMBERS = 2**25
# Summed deviation of a layer in which no held-out row deviates.
_TINY = 1e-7


class HoldOut:
    """Batches of a loader without every tenth row; `held` collects the rows that are left out.

    The list `held` is filled during iteration, up to a limit of memory.

    >>> rows = HoldOut([(np.arange(25.0)[:, None], None)])
    >>> [len(batch) for batch in rows], [len(batch) for batch in rows.held]
    ([23], [2])
    """

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.held: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        self.held, seen, numbers = [], 0, 0
        for x in batches(self.loader):
            if isinstance(x, dict):
                raise InputError(
                    "Batches that are dicts cannot be split into rows; pass validation=... to "
                    "Gram.fit with a loader of its own."
                )
            held = np.arange(seen + 1, seen + 1 + len(x)) % EVERY == 0
            seen += len(x)
            size = int(np.prod(x.shape[1:]))
            held[np.cumsum(held) * size + numbers > _MOST_NUMBERS] = False
            numbers += int(held.sum()) * size
            if held.any():
                self.held.append(x[np.flatnonzero(held)])
            if not held.all():
                yield x[np.flatnonzero(~held)]


class Gram(Detector):
    """Detector by Gram matrices: deviations of channel correlations from those of training.

    Eqs. (O6), (O7) and (O8). Bounds on the correlations come from training rows. Every tenth
    training row is held out of the bounds, to learn how far ordinary rows exceed them in each
    layer; no outliers are needed.

    Parameters
    ----------
    model : network of PyTorch
    layers : sequence of str or module, optional
        Layers whose outputs are used, by default all convolutions, or in a network without any
        the linear layers except the last.
    orders : sequence of int, default=(1, ..., 10)
        Powers of the features whose correlations are taken, in rising order.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> network = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    >>> detector = Gram(network).fit(torch.randn(200, 2))
    >>> near, far = detector.predict(torch.tensor([[0.1, 0.1], [30.0, 30.0]]))
    >>> bool(far > near)
    True
    """

    def __init__(
        self,
        model: Any,
        *,
        layers: Iterable[Any] | None = None,
        orders: Iterable[int] = range(1, 11),
    ) -> None:
        self.model = model
        self.layers = None if layers is None else list(layers)
        self.orders = tuple(orders)
        if not self.orders or list(self.orders) != sorted({p for p in self.orders if p >= 1}):
            raise InputError(
                f"orders is {self.orders}, but powers must be whole numbers from 1 up, each once "
                "and in rising order; pass for instance orders=range(1, 11)."
            )
        self.bounds_: Bounds | None = None
        self.validation_: FloatArray | None = None  # (n, layers)  deviations of held-out rows

    def fit(self, loader: Any, validation: Any = None) -> Self:
        """Learn bounds and usual deviations from training inputs, in one pass.

        Parameters
        ----------
        loader : loader or inputs
            Training inputs; labels are ignored, the classes are those that the network predicts.
        validation : loader or inputs, optional
            Ordinary inputs that normalise the deviations, instead of every tenth training row.
        """
        if not is_module(self.model):
            raise InputError(
                f"Gram looks into the layers of its network, which is a "
                f"{type(self.model).__name__} here; pass a network of PyTorch."
            )
        rest = loader if isinstance(loader, HoldOut) else HoldOut(loader)
        self.bounds_ = None
        for x in rest if validation is None else batches(loader):
            sums, logits = self._sums_and_logits(x)
            if self.bounds_ is None:
                self.bounds_ = Bounds.empty(sums, logits.shape[1])
            self.bounds_.widen(sums, logits.argmax(dim=1))
        held = rest.held if validation is None else validation
        deviations = [as_numpy(self.deviations(x)) for x in batches(held)] if self.bounds_ else []
        if not sum(map(len, deviations)):
            raise InputError(
                f"Gram needs rows for its bounds and every {EVERY}th beside them, but the "
                f"training set has fewer than {EVERY} rows; pass more."
            )
        self.validation_ = np.concatenate(deviations)
        return self

    def predict(self, x: Any) -> Array:
        """Outlier scores (n,) of inputs; high means out-of-distribution. Eq. (O8)."""
        return self.score(self.deviations(x), self._usual())

    @staticmethod
    def score(deviations: Array, usual: FloatArray) -> Array:
        """Outlier scores (n,): mean over layers of deviations over the usual ones. Eq. (O8).

        `deviations` are (n, layers); `usual` (layers,) are mean deviations of ordinary rows held
        out.
        """
        return (deviations / _like(usual, deviations)).mean(-1)

    def standardised(self, x: Any) -> Array:
        """Mean deviation (n,) over layers, in standard deviations of held-out rows. Eq. (O9)."""
        return self._in_deviations(self.deviations(x))

    def standardised_during(self, run: Callable[[Any], Any], x: Any) -> tuple[Any, Array]:
        """The result of `run(x)`, which runs the network, and the `standardised` deviations of x.

        The network runs once for both, unless `run` uses another network or runs it in parts.
        """
        with self._recording() as record:
            result = run(x)
        sums, logits = record.single_pass() or self._sums_and_logits(x)
        return result, self._in_deviations(self._deviations(sums, logits))

    def deviations(self, x: Any) -> Array:
        """Deviations (n, layers): how far inputs exceed the bounds of their class. Eq. (O7).

        The class is the one that the network predicts, and a deviation is relative to the bounds.
        """
        self._fitted_bounds()
        deviations = self._deviations(*self._sums_and_logits(x))
        return as_numpy(deviations) if is_numpy_array(x) else deviations

    def _sums_and_logits(self, x: Any) -> tuple[list[Tensor], Tensor]:
        """Row sums of each layer and logits of a batch, from one forward pass."""
        with self._recording() as record:
            logits = logits_of(self.model, as_input(self.model, x))
        return record.sums, logits

    def _recording(self) -> AbstractContextManager[Recorded]:
        """Records row sums and logits while the network runs for another purpose."""
        return recorded(self.model, layers_of(self.model, self.layers), self.orders)

    def _deviations(self, sums: list[Tensor], logits: Tensor) -> Tensor:
        confidence, predicted = log_softmax(logits).max(dim=1)
        return self._fitted_bounds().deviations(sums, predicted, confidence.exp())

    def usual_standardised(self) -> float:
        """Mean `standardised` deviation of the rows that were held out in `fit`."""
        return float(self._in_deviations(self._validation()).mean())

    def _in_deviations(self, deviations: Array) -> Array:
        usual = self._validation()
        spread = usual.std(axis=0, ddof=min(1, len(usual) - 1))
        return self.score(deviations, np.where(spread > 0, spread, 1.0))

    def _fitted_bounds(self) -> Bounds:
        if self.bounds_ is None:
            raise InputError("This Gram has no bounds yet; call fit(loader) first.")
        return self.bounds_

    def _validation(self) -> FloatArray:
        if self.validation_ is None:
            raise InputError("This Gram has no bounds yet; call fit(loader) first.")
        finite = np.isfinite(self.validation_).all(axis=1)
        return self.validation_[finite]

    def _reference(self) -> Reference:
        deviations = required_scores(self, self.validation_)
        return Reference(np.asarray(self.score(deviations, self._usual())))

    def _usual(self) -> FloatArray:
        """Mean deviation (layers,) of held-out rows in each layer, never quite 0."""
        seen = self._validation()
        return np.asarray(seen.mean(axis=0) + _TINY / len(seen))


def _like(values: FloatArray, array: Array) -> Array:
    return values if is_numpy_array(array) else array.new_tensor(values)
