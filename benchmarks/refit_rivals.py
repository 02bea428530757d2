"""The genies of logistic regression by scikit-learn: one warm-started fit for each label."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.timing import FloatArray
from pnml.core.logistic import LogisticModel


@dataclass(frozen=True)
class WarmRefits:
    """Training rows with room for one more, and the weights that every fit begins at."""

    X: FloatArray  # (N + 1, m)  the last row is the one that is told
    y: npt.NDArray[np.int64]  # (N + 1,)
    before: LogisticModel
    tol: float
    solver: str = "lbfgs"

    @classmethod
    def of(
        cls,
        X: FloatArray,
        y: npt.NDArray[np.int64],
        before: LogisticModel,
        tol: float,
        solver: str = "lbfgs",
    ) -> WarmRefits:
        """From the training rows (N, m) themselves."""
        return cls(np.vstack([X, X[:1]]), np.append(y, 0), before, tol, solver)

    def genies(self, row: FloatArray, labels: Iterable[int]) -> FloatArray:
        """Probability of each of the labels of a row by the model refitted with it."""
        self.X[-1] = row
        return np.array([self._genie(label) for label in labels])

    def _genie(self, label: int) -> float:
        self.y[-1] = label
        model = LogisticRegression(
            C=1 / self.before.alpha,
            tol=self.tol,
            solver=self.solver,
            max_iter=10_000,
            warm_start=True,
        )
        model.coef_, model.intercept_ = self.before.weight.copy(), self.before.bias.copy()
        model.classes_ = np.arange(self.before.n_classes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.X, self.y)
        return float(model.predict_proba(self.X[-1:])[0, label])
