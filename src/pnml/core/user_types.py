"""Types of what users pass in and get back, for their editors and type checkers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt


class HasShape(Protocol):
    """A data frame, a column of one, a sparse matrix or a tensor."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Number of rows, and of columns if there are any."""


class EstimatorLike(Protocol):
    """A model of scikit-learn or of a library that follows it."""

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Learn from training rows, as ``fit(X, y)`` of scikit-learn."""


class Splitter(Protocol):
    """A splitter of rows into folds, as scikit-learn's are."""

    def split(self, *args: Any, **kwargs: Any) -> Iterable[Any]:
        """Pairs of index arrays, one pair a fold: rows to fit, and rows left out."""


# Rows, labels, weights or groups: whatever numpy can read, and data frames of all kinds.
ArrayOrFrame = npt.ArrayLike | HasShape
BoolArray = npt.NDArray[np.bool_]
LabelArray = npt.NDArray[Any]  # classes are numbers, text or booleans
RandomSeed = int | np.integer[Any] | np.random.RandomState | None
NumberOrLoo = float | Literal["loo"]
NumberOrAuto = float | Literal["auto"]
FlagOrAuto = bool | Literal["auto"]
Folds = int | Splitter | Iterable[Any]
