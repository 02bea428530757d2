"""What a user asks of a refit, checked."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from pnml.errors import InputError


@dataclass(frozen=True)
class FineTuning:
    """How the last layers are trained once more for every label: SGD as in the thesis.

    The order of the rows is drawn from the seed, and is the same for all labels and inputs.

    >>> FineTuning(epochs=2).learning_rate
    0.001
    """

    epochs: int = 10
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 1e-4
    batch_size: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("epochs", 0), ("batch_size", 1), ("seed", 0)):
            _refuse(name, getattr(self, name), Integral, least, "a whole number")
        for name in ("learning_rate", "momentum", "weight_decay"):
            _refuse(name, getattr(self, name), Real, 0, "a finite number")


@dataclass(frozen=True)
class RefitSettings:
    """The arguments of RefitLastLayerPNML."""

    layers: int | str
    alpha: float | str
    tol: float
    tuning: FineTuning | None
    sample: int

    def __post_init__(self) -> None:
        if self.layers != "all":
            _refuse("layers", self.layers, Integral, 1, 'a whole number, or "all",')
        if self.alpha != "auto":
            _refuse("alpha", self.alpha, Real, 0, 'a finite number, or "auto",')
        _refuse("tol", self.tol, Real, 0, "a finite number")
        if self.tol == 0:
            raise InputError("tol is 0, which no training reaches; pass a number such as 1e-4.")
        _refuse("sample", self.sample, Integral, 1, "a whole number")
        if self.tuning is not None and not isinstance(self.tuning, FineTuning):
            raise InputError(
                f"tuning is a {type(self.tuning).__name__}; pass a pnml.nn.FineTuning, or None for "
                "its defaults."
            )
        if self.tuned and self.alpha != "auto":
            raise InputError(
                f"alpha is {self.alpha!r}, but it is the penalty of an exact refit of one layer, "
                "and here layers are fine-tuned; pass tuning=FineTuning(weight_decay=...) instead."
            )

    @property
    def tuned(self) -> bool:
        """Whether layers are fine-tuned by SGD; otherwise the last one is refitted exactly."""
        return self.layers != 1 or self.tuning is not None


def _refuse(name: str, value: Any, kind: type, least: float, needed: str) -> None:
    right = isinstance(value, kind) and not isinstance(value, bool)
    if not right or not np.isfinite(float(value)) or value < least:
        raise InputError(
            f"{name} is {value!r}, but it must be {needed} of at least {least}; pass such a value."
        )
