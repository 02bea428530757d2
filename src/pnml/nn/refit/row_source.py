"""Rows for a refit, with features and logits, computed from inputs of a network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from pnml.errors import InputError
from pnml.nn.batches import call, device_of, moved
from pnml.nn.eval_mode import as_in_use, unwrapped
from pnml.nn.head import CallableHead
from pnml.nn.masks import Mask, kept_positions
from pnml.nn.refit.cut_model import Cut, cut_model, cut_pair
from pnml.nn.refit.exact_refit import ExactRefit
from pnml.nn.refit.fine_tuning import FineTuned
from pnml.nn.refit.refit_output import Genies
from pnml.nn.refit.refit_settings import FineTuning, RefitSettings
from pnml.nn.refit.training_rows import TrainingRows
from pnml.nn.split_model import SplitModel


@dataclass(frozen=True)
class NetworkRows:
    """A batch inside the network: rows for the refitted layers, features and logits.

    `rows` (n, ...) are inputs of the refitted layers, `features` (..., d) of the last layer;
    `logits` (..., C); `kept` (...) is False at padding, which has no row, None if there is none.
    """

    rows: Tensor  # (n, ...)  input of the refitted part
    features: Tensor  # (..., d)  input of the last layer
    logits: Tensor  # (..., C)
    kept: Tensor | None = None  # (...)  positions that count; None: all of them

    def masked(self, mask: Mask, batch: Any) -> NetworkRows:
        """The same without the rows of padding, by `mask` as the user passed it for the batch."""
        kept = kept_positions(mask, batch, self.logits)
        if kept is None:
            return self
        return replace(self, rows=self.rows[kept.flatten().to(self.rows.device)], kept=kept)

    @classmethod
    def joined(cls, parts: list[NetworkRows]) -> NetworkRows:
        """The rows of several batches, in order."""
        names = ("rows", "features", "logits")
        together = cls(*(torch.cat([getattr(part, name) for part in parts]) for name in names))
        if all(part.kept is None for part in parts):
            return together
        kept = [
            torch.ones(part.logits.shape[:-1], dtype=torch.bool) if part.kept is None else part.kept
            for part in parts
        ]
        return replace(together, kept=torch.cat(kept))


class Source(Protocol):
    """Turns inputs of a network into rows for its refitted layers, and makes the refitter."""

    def of_inputs(self, given: Any) -> NetworkRows:
        """Rows, features and logits of an input of the network."""
        ...

    def of_features(self, features: Tensor) -> NetworkRows:
        """Rows and logits of features, which are inputs of the refitted layers already."""
        ...

    def refitter(self, training: TrainingRows, settings: RefitSettings) -> Refitter:
        """The object that refits the layers with new rows, from these training rows."""
        ...


class Refitter(Protocol):
    """Computes genies: for each row and label, the layers refitted with that row and label."""

    @property
    def alpha(self) -> float | None:
        """Ridge penalty on the refitted weights, given or chosen; None if layers are fine-tuned."""
        ...

    @property
    def rows_at_once(self) -> int:
        """Number of rows to refit in one call: the size of a chunk."""
        ...

    def refit(self, rows: Tensor) -> Genies:
        """Genies of all labels for rows (n, ...)."""
        ...

    def left_out(self, indices: npt.NDArray[np.intp]) -> Genies:
        """Genies of the training rows at `indices` (m,), as if each was left out of training."""
        ...

    def depends_on(self) -> tuple[list[str], list[npt.NDArray[Any]]]:
        """Words and arrays that the genies depend on besides the rows, for a fingerprint."""
        ...


class LastLayerSource:
    """Source of rows that are the features the last layer sees, one for each position."""

    def __init__(self, model: Any, layer: Any) -> None:
        self._split = SplitModel(model, layer)

    @torch.no_grad()
    def of_inputs(self, given: Any) -> NetworkRows:
        """Rows, features and logits of an input, by one forward pass."""
        features, logits = self._split.run_anywhere(given)
        return NetworkRows(features.reshape(-1, features.shape[-1]), features, logits)

    @torch.no_grad()
    def of_features(self, features: Tensor) -> NetworkRows:
        """Rows and logits of features (..., d), by the last layer alone."""
        width = features.shape[-1]
        head = self._split.head(width).in_double(features.device)
        rows = features.reshape(-1, width)
        logits = head(rows.double(), 1.0)[0]
        return NetworkRows(rows, features, logits.reshape(*features.shape[:-1], -1))

    def refitter(self, training: TrainingRows, settings: RefitSettings) -> ExactRefit:
        """The object that refits the last layer to convergence, from these training rows."""
        alpha = None if settings.alpha == "auto" else float(settings.alpha)
        return ExactRefit.of(training, alpha, settings.tol)


class TailSource:
    """Source of rows that enter the first trained layer; the front before it runs once."""

    def __init__(self, model: Any, layer: Any, layers: int | str) -> None:
        self._split = SplitModel(model, layer)
        self._pair = (layer[0], layer[1]) if isinstance(layer, tuple | list) else None
        self._model, self._layers = model, layers
        self._cut: Cut | None = None

    @property
    def cut(self) -> Cut:
        """The network cut before its trained layers; raises if no input has run yet."""
        if self._cut is None:
            raise InputError("The layers are not known yet; call fit first.")
        return self._cut

    @torch.no_grad()
    def of_inputs(self, given: Any) -> NetworkRows:
        """Rows of an input by the front of the network, features and logits by all of it."""
        features, logits = self._split.run_anywhere(given)
        if self._pair is not None:
            return self._checked(features, features, logits)
        model = unwrapped(self._model)
        if isinstance(given, Tensor | list | tuple | dict):
            given = moved(given, device_of(model))
        if self._cut is None:
            self._cut = cut_model(model, self._layers, given)
        with as_in_use([model]):
            rows = call(self._cut.front, given)
        return self._checked(rows, features, logits)

    @torch.no_grad()
    def of_features(self, features: Tensor) -> NetworkRows:
        """Rows and logits of features that the front of a pair (front, tail) has made."""
        if self._pair is None:
            raise InputError(
                f"Features alone do not tell what the last {self._layers} layers take; pass "
                "layer=(front, tail) with what the front gives, or use fit(loader) and inputs."
            )
        tail = self._pair[1]
        with as_in_use([tail] if isinstance(tail, nn.Module) else []):
            logits = CallableHead(tail).own_logits(features)
        return self._checked(features, features, logits)

    def refitter(self, training: TrainingRows, settings: RefitSettings) -> FineTuned:
        """The object that fine-tunes the last layers by SGD, from these training rows."""
        return FineTuned(self.cut, training, settings.tuning or FineTuning())

    def _checked(self, rows: Any, features: Tensor, logits: Tensor) -> NetworkRows:
        if self._pair is not None and self._cut is None:
            self._cut = cut_pair(*self._pair, self._layers, rows)
        if not isinstance(rows, Tensor) or logits.ndim != 2 or len(rows) != len(logits):
            raise InputError(
                f"The trained layers take a {type(rows).__name__} and the logits have shape "
                f"{tuple(logits.shape)}, but fine-tuning needs one tensor with a row for each "
                "input, and one row of logits for it; pass layer=(front, tail) that do so."
            )
        return NetworkRows(rows, features, logits)
