"""Inverse Hessian of the objective: full, block by class, or shared by all classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from pnml.core.arrays import FloatArray
from pnml.core.logistic.training import IntArray, Objective
from pnml.errors import InputError

# The whole Hessian is inverted up to this many unknowns and this many multiplications.
_WHOLE_UNKNOWNS, _WHOLE_WORK = 1500, 4e10
# One inverse for each class may hold this many numbers, 512 MB.
_BY_CLASS_NUMBERS = 2**26


class Reach(Protocol):
    """Response of the logits of T rows to a pull at each, by a preconditioner."""

    @property
    def matrix(self) -> FloatArray:
        """(T, C, C): A = (xᵀ ⊗ I) H⁻¹ (x ⊗ I)."""

    def of_problems(self, owner: IntArray) -> Reach:
        """The reach of each problem, given the index of its row."""

    def pulls(self, v: FloatArray) -> FloatArray:
        """Logits (P, C) by which H⁻¹v moves the row of each problem."""

    def steps(self, u: FloatArray) -> FloatArray:
        """H⁻¹ (x ⊗ u), (P, C·M), for pulls u (P, C) at the row of each problem."""


class Preconditioner(Protocol):
    """A preconditioner: an approximate inverse Hessian, the same for all problems."""

    def __call__(self, v: FloatArray) -> FloatArray:
        """H⁻¹ v for each of the vectors (P, C·M)."""

    def reach(self, rows: FloatArray) -> Reach:
        """How far pulls at rows (T, M) move their own logits."""


def preconditioner(objective: Objective) -> Preconditioner:
    """The best affordable preconditioner: an approximate inverse Hessian. Eq. (H4)."""
    C, M = objective.training.shape
    if not _small(objective) and C * M * M <= _BY_CLASS_NUMBERS:
        return ByClass.of(objective)
    return passing_preconditioner(objective)


def passing_preconditioner(objective: Objective) -> Preconditioner:
    """A cheap preconditioner for an intermediate point."""
    return Whole.of(objective) if _small(objective) else Shared.of(objective)


def _small(objective: Objective) -> bool:
    C, M = objective.training.shape
    work = len(objective.training.values) * (C * M) ** 2
    return C * M <= _WHOLE_UNKNOWNS and work <= _WHOLE_WORK


def hessian(objective: Objective) -> FloatArray:
    """The Hessian to precondition (C·M, C·M), positive where no probability changes."""
    training, (C, M) = objective.training, objective.training.shape
    H = np.zeros((C, M, C, M))
    p = np.exp(objective.log_prob)
    for c in range(C):
        for d in range(c + 1):
            w = p[c] * ((c == d) - p[d])
            H[c, :, d, :] = H[d, :, c, :] = (training.values.T * w) @ training.weighted
        H[c, range(M), c, range(M)] += training.penalty
    # Adding the same to all classes in an unpenalised column changes nothing.
    for j in np.flatnonzero(training.penalty == 0):
        H[:, j, :, j] += np.sum(training.values[:, j] * training.weighted[:, j]) / C**2
    return H.reshape(C * M, C * M)


@dataclass(frozen=True)
class Whole:
    """Preconditioner that is the inverse of the whole Hessian."""

    inverse: FloatArray  # (C·M, C·M)
    columns: int

    @classmethod
    def of(cls, objective: Objective) -> Whole:
        """The inverse at the point where steps begin."""
        return cls(_inverse(hessian(objective)), objective.training.shape[1])

    def __call__(self, v: FloatArray) -> FloatArray:
        """H⁻¹ v for each of the vectors (P, C·M)."""
        return v @ self.inverse

    def reach(self, rows: FloatArray) -> WholeReach:
        """How far pulls at rows (T, M) move their own logits."""
        C = len(self.inverse) // self.columns
        blocks = self.inverse.reshape(C, self.columns, -1)
        steps = np.tensordot(rows, blocks, axes=(1, 1))  # (T, C, C·M)
        matrix = steps.reshape(len(rows), C, C, -1) @ rows[:, None, :, None]
        return WholeReach(matrix[..., 0], steps)


@dataclass(frozen=True)
class WholeReach:
    """Reach by the preconditioner of the whole Hessian: with coupled classes."""

    matrix: FloatArray
    unit_steps: FloatArray  # (T, C, C·M)  H⁻¹ (x ⊗ e_c)

    def of_problems(self, owner: IntArray) -> WholeReach:
        """The reach of each problem: that of its row, whose index is in `owner`."""
        return WholeReach(self.matrix[owner], self.unit_steps[owner])

    def pulls(self, v: FloatArray) -> FloatArray:
        """Logits (P, C) by which H⁻¹v moves the row of each problem."""
        return np.asarray((self.unit_steps @ v[:, :, None])[..., 0])

    def steps(self, u: FloatArray) -> FloatArray:
        """H⁻¹ (x ⊗ u), (P, C·M)."""
        return np.asarray((u[:, None, :] @ self.unit_steps)[:, 0])


@dataclass(frozen=True)
class ByClass:
    """Preconditioner by class: the inverse of each block; their coupling is ignored."""

    inverses: FloatArray  # (C, M, M)

    @classmethod
    def of(cls, objective: Objective) -> ByClass:
        """The inverses at the point where steps begin."""
        training, (C, M) = objective.training, objective.training.shape
        inverses = np.empty((C, M, M))
        for c, log_p in enumerate(objective.log_prob):
            curvature = training.weights * np.exp(log_p) * -np.expm1(log_p)
            rows = training.values * np.sqrt(curvature)[:, None]
            inverses[c] = _inverse(rows.T @ rows + np.diag(training.penalty))
        return cls(inverses)

    def __call__(self, v: FloatArray) -> FloatArray:
        """H⁻¹ v for each of the vectors (P, C·M)."""
        C, M, _ = self.inverses.shape
        by_class = np.ascontiguousarray(v.reshape(-1, C, M).swapaxes(0, 1))  # (C, P, M)
        return (by_class @ self.inverses).swapaxes(0, 1).reshape(v.shape)

    def reach(self, rows: FloatArray) -> ByClassReach:
        """How far pulls at rows (T, M) move their own logits."""
        return ByClassReach.of(rows, (rows @ self.inverses).swapaxes(0, 1))


@dataclass(frozen=True)
class Shared:
    """Preconditioner shared by classes: one matrix of second moments, a factor for each."""

    axes: FloatArray  # (M, M)  columns are eigenvectors
    stiffness: FloatArray  # (C, M)  along each of them

    @classmethod
    def of(cls, objective: Objective) -> Shared:
        """The moments of all rows, and the factors at the point where steps begin."""
        training = objective.training
        second = training.values.T @ training.weighted
        moments, axes = np.linalg.eigh(second)
        total = np.sum(training.weights)
        p = np.exp(objective.log_prob)
        shares = (p * (1 - p)) @ training.weights / total
        penalty = (axes * axes).T @ training.penalty
        return cls(axes, shares[:, None] * np.maximum(moments, 0.0) + _positive(penalty, moments))

    def __call__(self, v: FloatArray) -> FloatArray:
        """H⁻¹ v for each of the vectors (P, C·M)."""
        turned = v.reshape(-1, *self.stiffness.shape) @ self.axes
        return ((turned / self.stiffness) @ self.axes.T).reshape(v.shape)

    def reach(self, rows: FloatArray) -> ByClassReach:
        """How far pulls at rows (T, M) move their own logits."""
        turned = rows @ self.axes
        return ByClassReach.of(rows, (turned[:, None, :] / self.stiffness) @ self.axes.T)


@dataclass(frozen=True)
class ByClassReach:
    """Reach by a preconditioner by class: with uncoupled classes."""

    matrix: FloatArray
    unit_steps: FloatArray  # (T, C, M)

    @classmethod
    def of(cls, rows: FloatArray, unit_steps: FloatArray) -> ByClassReach:
        """The reach of rows (T, M) from the step of each class, (T, C, M)."""
        own = (unit_steps @ rows[:, :, None])[..., 0]  # (T, C)
        return cls(own[:, :, None] * np.eye(own.shape[1]), unit_steps)

    def of_problems(self, owner: IntArray) -> ByClassReach:
        """The reach of each problem: that of its row, whose index is in `owner`."""
        return ByClassReach(self.matrix[owner], self.unit_steps[owner])

    def pulls(self, v: FloatArray) -> FloatArray:
        """Logits (P, C) by which H⁻¹v moves the row of each problem."""
        shaped = v.reshape(self.unit_steps.shape)
        return np.asarray(np.einsum("pcm,pcm->pc", self.unit_steps, shaped))

    def steps(self, u: FloatArray) -> FloatArray:
        """H⁻¹ (x ⊗ u), (P, C·M)."""
        return np.asarray((u[:, :, None] * self.unit_steps).reshape(len(u), -1))


def _positive(penalty: FloatArray, moments: FloatArray) -> FloatArray:
    """The penalty, or without one a tiny share of the largest moment."""
    return np.asarray(np.maximum(penalty, 1e-12 * moments[-1]))


def _inverse(H: FloatArray) -> FloatArray:
    """The inverse of a matrix that is positive definite up to round-off."""
    if not np.isfinite(H).all():
        raise InputError(
            "The curvature of the logistic loss leaves the range of floating-point numbers; "
            "rescale the columns, and fit again."
        )
    size = np.trace(H) / len(H)
    for lift in (0.0, 1e-12, 1e-8, 1e-4):
        try:
            factor = cho_factor(H + lift * size * np.eye(len(H)))
        except np.linalg.LinAlgError:
            continue
        inverse: FloatArray = cho_solve(factor, np.eye(len(H)))
        return inverse
    return np.asarray(np.eye(len(H)) / max(size, 1e-300))
