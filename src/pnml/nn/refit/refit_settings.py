"""Arguments of RefitLastLayerPNML and of fine-tuning, checked."""

from __future__ import annotations

from dataclasses import dataclass

from pnml.errors import InputError
from pnml.runtime.checks import check_number, check_whole


@dataclass(frozen=True)
class FineTuning:
    """Settings of refits by SGD, which trains the last layers for every label.

    The seed fixes the order of the rows, which is the same for all labels and inputs.

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
            check_whole(name, getattr(self, name), least)
        for name in ("learning_rate", "momentum", "weight_decay"):
            check_number(name, getattr(self, name), 0)


@dataclass(frozen=True)
class RefitSettings:
    """Settings of RefitLastLayerPNML: its arguments, checked."""

    layers: int | str
    alpha: float | str
    tol: float
    tuning: FineTuning | None
    sample: int

    def __post_init__(self) -> None:
        if self.layers != "all":
            check_whole("layers", self.layers, 1, 'a whole number, or "all",')
        if self.alpha != "auto":
            check_number("alpha", self.alpha, 0, 'a finite number, or "auto",')
        check_number("tol", self.tol, 0)
        if self.tol == 0:
            raise InputError("tol is 0, which no training reaches; pass a number such as 1e-4.")
        check_whole("sample", self.sample, 1)
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
