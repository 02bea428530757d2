"""Loss of multinomial logistic regression on training rows, to which new rows can be added."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.conditions import COUNT, NOT_NEGATIVE, OF_ROWS
from pnml.core.softmax import log_softmax

IntArray = npt.NDArray[np.int64]

# Numbers that one block of probabilities may hold: it stays in cache between the two products.
_BLOCK_NUMBERS = 2**18
# Rows of the two products, problems times classes: more would leave the cache.
_AT_ONCE = 512
# Sums of exponentials outside [1/this, this] are recomputed from their maximum.
_SAFE = 1e200


@dataclass(frozen=True)
class TrainingRows:
    """Logistic training rows, of loss Σ wₙ CE(W xₙ, yₙ) + ½ Σ aⱼ‖Wⱼ‖². Eq. (H1).

    The unknown is W (C, M), C classes and M columns; wₙ are the row weights, CE is the
    cross-entropy, aⱼ the penalty of column j. The axes n and q of its arrays are the N rows and the
    M columns.

    With an intercept, columns are centred, which only shifts the intercepts, and an unpenalised
    column of ones comes last.
    """

    values: Annotated[FloatArray, "n q", OF_ROWS]
    labels: Annotated[IntArray, "n"]
    weights: Annotated[FloatArray, "n", NOT_NEGATIVE]
    penalty: Annotated[FloatArray, "q", NOT_NEGATIVE]
    center: Annotated[FloatArray, "d", OF_ROWS]  # subtracted from the raw columns
    n_classes: Annotated[int, COUNT]

    @classmethod
    def of(
        cls,
        rows: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        n_classes: int,
        alpha: float,
        intercept: bool,
    ) -> Self:
        """Training rows from raw rows (N, m), labels (N,) from 0 to n_classes − 1 and weights.

        `alpha` is the ℓ2 penalty of every column; `intercept` adds an unpenalised column of ones.
        """
        width = rows.shape[1]
        center = np.average(rows, axis=0, weights=weights) if intercept else np.zeros(width)
        penalty = np.full(width + intercept, alpha)
        if intercept:
            penalty[-1] = 0.0
        no_rows = cls(np.empty((0, 0)), labels, weights, penalty, center, n_classes)
        return cls(no_rows.design_rows(rows), labels, weights, penalty, center, n_classes)

    @property
    def intercept(self) -> bool:
        """Whether the last column is all ones."""
        return len(self.penalty) > len(self.center)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and columns, (C, M): the shape of the unknown weights."""
        return self.n_classes, len(self.penalty)

    def design_rows(self, rows: FloatArray) -> FloatArray:
        """Design matrix (T, M) of raw rows (T, m): centred, with a column of ones if needed."""
        shifted = rows - self.center
        if not self.intercept:
            return np.ascontiguousarray(shifted)
        return np.concatenate([shifted, np.ones((len(rows), 1))], axis=1)

    @cached_property
    def weighted(self) -> FloatArray:
        """Rows times their weights, (N, M)."""
        return self.values if np.all(self.weights == 1) else self.values * self.weights[:, None]

    @cached_property
    def label_sums(self) -> FloatArray:
        """Weighted sum of the rows of each class, (C, M)."""
        sums = np.zeros(self.shape)
        np.add.at(sums, self.labels, self.weighted)
        return sums

    def at(self, weight: FloatArray) -> Objective:
        """The loss as a function of the step from the weights `weight` (C, M)."""
        return Objective(self, weight, np.ascontiguousarray(log_softmax(self.values @ weight.T).T))


@dataclass(frozen=True)
class LabelledProblems:
    """P problems: training plus a term own·LSE(W x) − ⟨W x, target⟩ for one row x. Eq. (H2).

    LSE is log-sum-exp. For a new row, own is 1 and target its one-hot label.
    """

    rows: FloatArray  # (P, M)
    target: FloatArray  # (P, C)
    own: FloatArray  # (P,)  1 for a new row, 0 for a row that the objective already contains
    row_weight: FloatArray  # (P,)  weight of the row in the objective, the added term included

    @classmethod
    def new(cls, rows: FloatArray, target: FloatArray) -> LabelledProblems:
        """P problems that each add a new row (P, M) with a one-hot label, `target` (P, C)."""
        ones = np.ones(len(rows))
        return cls(rows, target, ones, ones)

    def __getitem__(self, index: IntArray | slice) -> LabelledProblems:
        return LabelledProblems(
            self.rows[index], self.target[index], self.own[index], self.row_weight[index]
        )

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Objective:
    """Loss of logistic training as a function of the step from the weights `weight`."""

    training: TrainingRows
    weight: FloatArray  # (C, M)  where steps begin
    log_prob: FloatArray  # (C, N)  of the training rows, there

    @cached_property
    def _constant(self) -> FloatArray:
        return (self.training.penalty * self.weight - self.training.label_sums).ravel()

    @cached_property
    def _stiffness(self) -> FloatArray:
        return np.tile(self.training.penalty, self.training.n_classes)

    @cached_property
    def slope(self) -> FloatArray:
        """Gradient (1, C·M) of the training loss at `weight`, with no row added."""
        C, M = self.training.shape
        nothing = LabelledProblems(np.zeros((1, M)), np.zeros((1, C)), np.zeros(1), np.ones(1))
        return self.gradient(np.zeros((1, C * M)), nothing)

    def problem_log_prob(self, steps: FloatArray, problems: LabelledProblems) -> FloatArray:
        """Log-probabilities (P, C) of the row added in each problem, after steps (P, C·M)."""
        moved = steps.reshape(len(problems), *self.training.shape) @ problems.rows[:, :, None]
        logits: FloatArray = log_softmax(problems.rows @ self.weight.T + moved[..., 0])
        return logits

    def gradient(self, steps: FloatArray, problems: LabelledProblems) -> FloatArray:
        """Gradients (P, C·M) of all problems after steps (P, C·M), in two products. Eq. (H3)."""
        C, M = self.training.shape
        g = np.empty((len(problems), C * M))
        size = max(1, min(_AT_ONCE // C, _BLOCK_NUMBERS // (2 * C * M)))
        for start in range(0, len(problems), size):
            part = slice(start, min(start + size, len(problems)))
            g[part] = self._expected(steps[part].reshape(-1, M)).reshape(-1, C * M)
        g += self._constant
        g += self._stiffness * steps
        g += self.added_gradient(steps, problems)
        return g

    def _expected(self, flat: FloatArray) -> FloatArray:
        """Σ wₙ p xₙᵀ after steps (P·C, M) of a few problems, in blocks of rows."""
        training, N = self.training, len(self.training.values)
        g = np.zeros(flat.shape)
        block = max(64, _BLOCK_NUMBERS // len(flat))
        room = np.empty(len(flat) * min(block, N))
        for start in range(0, N, block):
            part = slice(start, min(start + block, N))
            g += self._probabilities(flat, part, room) @ training.weighted[part]
        return g

    def added_gradient(self, steps: FloatArray, problems: LabelledProblems) -> FloatArray:
        """Gradients (P, C·M) of the added terms alone, after steps (P, C·M)."""
        q = np.exp(self.problem_log_prob(steps, problems))
        pull = problems.own[:, None] * q - problems.target
        return np.asarray((pull[:, :, None] * problems.rows[:, None, :]).reshape(len(problems), -1))

    def _probabilities(self, flat: FloatArray, part: slice, room: FloatArray) -> FloatArray:
        """Probabilities (P·C, n) of a part of the training rows."""
        rows, C = self.training.values[part], self.training.n_classes
        z = np.matmul(flat, rows.T, out=room[: len(flat) * len(rows)].reshape(len(flat), -1))
        p = z.reshape(-1, C, len(rows))
        p += self.log_prob[:, part]
        with np.errstate(over="ignore", under="ignore"):
            np.exp(p, out=p)
            total = p.sum(axis=1, keepdims=True)
        if not (total.min() > 1 / _SAFE and total.max() < _SAFE):
            np.matmul(flat, rows.T, out=z)
            p += self.log_prob[:, part]
            p -= p.max(axis=1, keepdims=True)
            np.exp(p, out=p)
            total = p.sum(axis=1, keepdims=True)
        p /= total
        return z
