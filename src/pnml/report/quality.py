"""Quality of the predictions on new rows whose labels are known."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.report.formats import number, percent

_FEWEST = 20  # labels below which the model is not judged


@dataclass(frozen=True)
class Quality:
    """One measure of the quality of the model, beside that of a guess without any columns."""

    name: str
    value: str  # of the model, as text
    baseline: str  # of the guess, as text
    remark: str = ""  # which guess it is


@dataclass
class LabelTally:
    """Running sums of labels and losses, batch by batch: accuracy, or error and R², of new rows.

    Losses are squared errors in regression, and in classification 1 for a wrong label, else 0.
    `add` takes a batch; `qualities` and `verdict` compare the model with a constant guess.
    """

    task: str  # "regression" or "classification"
    loss: float = 0.0  # squared errors, or wrong labels
    labelled: int = 0
    mean: float = 0.0  # of the labels; regression only
    spread: float = 0.0  # sum of squared distances of the labels from their mean
    words: Counter[str] = field(default_factory=Counter)  # labels; classification only

    def add(self, labels: npt.NDArray[Any], loss: FloatArray) -> None:
        """Add the labels and losses (n,) of a batch; NaN losses are those of missing labels."""
        there = ~np.isnan(loss)
        n = int(there.sum())
        if n == 0:
            return
        self.loss += float(loss[there].sum())
        if self.task == "classification":
            self.words.update(labels[there].tolist())
        else:
            self._move(labels[there].astype(float), n)
        self.labelled += n

    def _move(self, labels: FloatArray, n: int) -> None:
        mean, total = float(labels.mean()), self.labelled + n
        gap = mean - self.mean
        self.spread += float(((labels - mean) ** 2).sum()) + gap**2 * self.labelled * n / total
        self.mean += gap * n / total

    @property
    def _guess(self) -> float:
        """Sum of the losses of the best guess that looks at no column."""
        if self.task == "classification":
            return float(self.labelled - max(self.words.values(), default=0))
        return self.spread

    def qualities(self) -> tuple[Quality, ...]:
        """Accuracy, or error and R², on the new rows; empty without labels."""
        if self.labelled == 0:
            return ()
        loss, guess = self.loss / self.labelled, self._guess / self.labelled
        if self.task == "classification":
            most = "the most frequent class"
            return (
                Quality("accuracy on the new rows", percent(1 - loss), percent(1 - guess), most),
            )
        error = Quality(
            "root mean squared error on the new rows",
            number(math.sqrt(loss)),
            number(math.sqrt(guess)),
            "their own mean for every row",
        )
        if guess == 0:
            return (error,)
        return (error, Quality("R² on the new rows", f"{1 - loss / guess:.3f}", "0", "the same"))

    def verdict(self) -> str:
        """A sentence if the model does no better than a guess, else "", as with too few labels."""
        if self.labelled < _FEWEST or not self.loss >= self._guess > 0:
            return ""
        guess = (
            "naming the most frequent class every time"
            if self.task == "classification"
            else "naming the mean of the new labels every time"
        )
        return f"On these rows the model is of no use: it does no better than {guess}."
