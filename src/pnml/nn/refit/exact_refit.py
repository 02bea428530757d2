"""Genies by logistic regression: the last layer refitted to the end for every row and label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from torch import Tensor

from pnml.core.arrays import FloatArray
from pnml.core.logistic import LogisticModel, Refits, refit, refit_left_out
from pnml.errors import InputError
from pnml.nn.feature_rows import numpy_rows
from pnml.nn.refit.penalty_choice import chosen_strength
from pnml.nn.refit.refit_output import Genies
from pnml.nn.refit.training_rows import TrainingRows

# Rows times labels after which finished rows are handed over.
_AT_ONCE = 2560


@dataclass(frozen=True)
class ExactRefit:
    """The last layer as the logistic regression on the training features that it is."""

    model: LogisticModel  # of the classes that training rows are of
    training: TrainingRows
    shown: npt.NDArray[np.intp]  # (k,)  those classes
    tol: float

    @classmethod
    def of(cls, training: TrainingRows, alpha: float | None, tol: float) -> ExactRefit:
        """Fit the layer to the training rows; a penalty of None is chosen from them."""
        X = double(training.rows)
        shown, labels = np.unique(training.labels.numpy(), return_inverse=True)
        if len(shown) < 2:
            raise InputError(
                f"All training rows are of class {shown[0]}, but there is nothing to learn from "
                "one class; pass rows of two classes or more."
            )
        strength = chosen_strength(X, labels, len(shown)) if alpha is None else alpha
        model = LogisticModel.fit(X, labels, len(shown), alpha=strength)
        return cls(model, training, shown, tol)

    @property
    def rows_at_once(self) -> int:
        """Rows after which it is worth the while to keep what is finished."""
        return max(8, _AT_ONCE // self.training.classes)

    def refit(self, rows: Tensor) -> Genies:
        """Genies of rows (n, d), of all labels."""
        X = double(rows)
        return self._with_new(refit(self.model, X, tol=self.tol), X, [-1] * len(X))

    def left_out(self, indices: npt.NDArray[np.intp]) -> Genies:
        """Genies of training rows, each taken out of the training rows first."""
        X = double(self.training.rows[indices])
        found = refit_left_out(self.model, indices, tol=self.tol)
        return self._with_new(found, X, indices.tolist())

    def depends_on(self) -> tuple[list[str], list[npt.NDArray[Any]]]:
        """All that the genies depend on besides the rows, for a fingerprint."""
        arrays = [numpy_rows(self.training.rows), self.training.labels.numpy()]
        return [f"exact {self.model.alpha!r} {self.tol!r}"], arrays

    def _with_new(self, found: Refits, rows: FloatArray, without: list[int]) -> Genies:
        """Genies of all labels, those without a training row among them. Eq. (D3)."""
        classes = self.training.classes
        if len(self.shown) == classes:
            return Genies(found.log_genie, found.regret, found.error, found.converged)
        log_genie = np.empty((len(rows), classes))
        log_genie[:] = self._log_genie_of_new(rows, without)[:, None]
        log_genie[:, self.shown] = found.log_genie
        regret = np.asarray(logsumexp(log_genie, axis=1))
        return Genies(log_genie, regret, found.error, found.converged)

    def _log_genie_of_new(self, rows: FloatArray, without: list[int]) -> FloatArray:
        """Log-probability (n,) of a label that only the row itself is of.

        Each row has a number of a training row that is left out, or -1.
        """
        k, model = len(self.shown), self.model
        X = np.vstack([double(self.training.rows), rows[:1]])
        labels = np.append(np.searchsorted(self.shown, self.training.labels.numpy()), k)
        start = np.vstack([model.weight, model.weight.mean(axis=0)]), np.append(model.bias, 0.0)
        found = np.empty(len(rows))
        for i, row in enumerate(rows):
            X[-1] = row
            counts = np.ones(len(X))
            if without[i] >= 0:
                counts[without[i]] = 0.0
            told = LogisticModel.fit(
                X, labels, k + 1, alpha=model.alpha, sample_weight=counts, start=start
            )
            start = told.weight, told.bias
            found[i] = told.log_prob(row[None])[0, k]
        return found


def double(rows: Tensor) -> FloatArray:
    """Rows as a float64 array."""
    found: FloatArray = rows.detach().cpu().double().numpy()
    return found
