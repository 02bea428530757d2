"""Genies by logistic regression: the last layer refitted to convergence for every row and label."""

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
from pnml.nn.refit.penalty_choice import chosen_penalty
from pnml.nn.refit.refit_output import Genies
from pnml.nn.refit.training_rows import TrainingRows

# Rows times labels in one chunk.
_AT_ONCE = 2560


@dataclass(frozen=True)
class ExactRefit:
    """Genies by exact refits: the last layer as a logistic regression on the training features.

    `model` is that regression, for the k `classes` (k,) that have training rows; `tol` is the
    largest error of a regret, in nats.
    """

    model: LogisticModel  # of the classes with training rows
    training: TrainingRows
    classes: npt.NDArray[np.intp]  # (k,)  those classes
    tol: float

    @classmethod
    def of(cls, training: TrainingRows, alpha: float | None, tol: float) -> ExactRefit:
        """The layer fitted to the training rows; a ridge penalty of None is chosen from them."""
        X = double(training.rows)
        present, labels = np.unique(training.labels.numpy(), return_inverse=True)
        if len(present) < 2:
            raise InputError(
                f"All training rows are of class {present[0]}, but there is nothing to learn from "
                "one class; pass rows of two classes or more."
            )
        penalty = chosen_penalty(X, labels, len(present)) if alpha is None else alpha
        model = LogisticModel.fit(X, labels, len(present), alpha=penalty)
        return cls(model, training, present, tol)

    @property
    def alpha(self) -> float:
        """Ridge penalty on the refitted weights, as given or as chosen from training rows."""
        return self.model.alpha

    @property
    def rows_at_once(self) -> int:
        """Number of rows to refit in one call: the size of a chunk."""
        return max(8, _AT_ONCE // self.training.classes)

    def refit(self, rows: Tensor) -> Genies:
        """Genies of all labels for rows (n, d)."""
        X = double(rows)
        return self._with_new(refit(self.model, X, tol=self.tol), X, [-1] * len(X))

    def left_out(self, indices: npt.NDArray[np.intp]) -> Genies:
        """Genies of the training rows at `indices` (m,), as if each was left out of training."""
        X = double(self.training.rows[indices])
        refits = refit_left_out(self.model, indices, tol=self.tol)
        return self._with_new(refits, X, indices.tolist())

    def depends_on(self) -> tuple[list[str], list[npt.NDArray[Any]]]:
        """Words and arrays that the genies depend on besides the rows, for a fingerprint."""
        arrays = [numpy_rows(self.training.rows), self.training.labels.numpy()]
        return [f"exact {self.model.alpha!r} {self.tol!r}"], arrays

    def _with_new(self, refits: Refits, rows: FloatArray, without: list[int]) -> Genies:
        """Genies of all labels, including labels without a training row. Eq. (D3)."""
        classes = self.training.classes
        if len(self.classes) == classes:
            return Genies(refits.log_genie, refits.regret, refits.error, refits.converged)
        log_genie = np.empty((len(rows), classes))
        log_genie[:] = self._log_genie_of_new(rows, without)[:, None]
        log_genie[:, self.classes] = refits.log_genie
        regret = np.asarray(logsumexp(log_genie, axis=1))
        return Genies(log_genie, regret, refits.error, refits.converged)

    def _log_genie_of_new(self, rows: FloatArray, without: list[int]) -> FloatArray:
        """Log-probability (n,) of a label that no other row has.

        `without` holds, for each row, the index of the training row to leave out, or -1.
        """
        k, model = len(self.classes), self.model
        X = np.vstack([double(self.training.rows), rows[:1]])
        labels = np.append(np.searchsorted(self.classes, self.training.labels.numpy()), k)
        start = np.vstack([model.weight, model.weight.mean(axis=0)]), np.append(model.bias, 0.0)
        log_genie = np.empty(len(rows))
        for i, row in enumerate(rows):
            X[-1] = row
            counts = np.ones(len(X))
            if without[i] >= 0:
                counts[without[i]] = 0.0
            genie = LogisticModel.fit(
                X, labels, k + 1, alpha=model.alpha, sample_weight=counts, start=start
            )
            start = genie.weight, genie.bias
            log_genie[i] = genie.log_prob(row[None])[0, k]
        return log_genie


def double(rows: Tensor) -> FloatArray:
    """Rows for an exact refit, a tensor on any device, as a numpy array in float64."""
    array: FloatArray = rows.detach().cpu().double().numpy()
    return array
