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
    """Response of the weights and logits to a pull at each of T rows, by a preconditioner.

    The preconditioner H⁻¹ approximates the inverse Hessian of the loss in the weights (C·M for C
    classes and M columns); a pull u (C,) is minus the gradient of an added term at the row's
    logits. A problem is a row with one of its possible labels.
    """

    @property
    def matrix(self) -> FloatArray:
        """Change (T, C, C) of a row's logits per unit of pull: A = (xᵀ ⊗ I) H⁻¹ (x ⊗ I)."""

    def of_problems(self, owner: IntArray) -> Reach:
        """The reach of P problems, each with the row at index `owner` (P,)."""

    def pulls(self, v: FloatArray) -> FloatArray:
        """Change (P, C) of the logits of each problem's row by the weight step H⁻¹v, v (P, C·M)."""

    def steps(self, u: FloatArray) -> FloatArray:
        """Weight steps H⁻¹ (x ⊗ u), (P, C·M), by pulls u (P, C) at the row x of each problem."""


class Preconditioner(Protocol):
    """A preconditioner: an approximate inverse Hessian, the same for all problems."""

    def __call__(self, v: FloatArray) -> FloatArray:
        """H⁻¹ v for each of the vectors (P, C·M)."""

    def reach(self, rows: FloatArray) -> Reach:
        """Response of the weights and logits to pulls at rows (T, M)."""


def preconditioner(objective: Objective) -> Preconditioner:
    """The best affordable preconditioner: an approximate inverse Hessian. Eq. (H4)."""
    C, M = objective.training.shape
    if not _small(objective) and C * M * M <= _BY_CLASS_NUMBERS:
        return ByClass.of(objective)
    return passing_preconditioner(objective)


def passing_preconditioner(objective: Objective) -> Preconditioner:
    """A cheap approximate inverse Hessian, for weights on the way to the optimum."""
    return Whole.of(objective) if _small(objective) else Shared.of(objective)


def _small(objective: Objective) -> bool:
    C, M = objective.training.shape
    work = len(objective.training.values) * (C * M) ** 2
    return C * M <= _WHOLE_UNKNOWNS and work <= _WHOLE_WORK


def hessian(objective: Objective) -> FloatArray:
    """Hessian (C·M, C·M) of the objective, made positive definite.

    Directions in which no probability changes (the same step for all classes in an unpenalised
    column) get a curvature of their own.
    """
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
        """The inverse Hessian at the weights of the objective."""
        return cls(_inverse(hessian(objective)), objective.training.shape[1])

    def __call__(self, v: FloatArray) -> FloatArray:
        """H⁻¹ v for each of the vectors (P, C·M)."""
        return v @ self.inverse

    def reach(self, rows: FloatArray) -> WholeReach:
        """Response of the weights and logits to pulls at rows (T, M)."""
        C = len(self.inverse) // self.columns
        blocks = self.inverse.reshape(C, self.columns, -1)
        steps = np.tensordot(rows, blocks, axes=(1, 1))  # (T, C, C·M)
        matrix = steps.reshape(len(rows), C, C, -1) @ rows[:, None, :, None]
        return WholeReach(matrix[..., 0], steps)


@dataclass(frozen=True)
class WholeReach:
    """The `Reach` that `Whole.reach` makes for T rows: by the whole Hessian, which couples classes.

    It says how weights and logits respond to a pull at each row: minus the gradient, in the row's
    logits, of a term added to the loss. `matrix` (T, C, C) is the change of the row's logits by a
    unit pull at each of C classes, `unit_steps` (T, C, C·M) that of the weights, for M columns.
    """

    matrix: FloatArray
    unit_steps: FloatArray  # (T, C, C·M)  H⁻¹ (x ⊗ e_c)

    def of_problems(self, owner: IntArray) -> WholeReach:
        """The reach of P problems, each with the row at index `owner` (P,)."""
        return WholeReach(self.matrix[owner], self.unit_steps[owner])

    def pulls(self, v: FloatArray) -> FloatArray:
        """Change (P, C) of the logits of each problem's row by the weight step H⁻¹v, v (P, C·M)."""
        return np.asarray((self.unit_steps @ v[:, :, None])[..., 0])

    def steps(self, u: FloatArray) -> FloatArray:
        """Weight steps H⁻¹ (x ⊗ u), (P, C·M), by pulls u (P, C) at the row x of each problem."""
        return np.asarray((u[:, None, :] @ self.unit_steps)[:, 0])


@dataclass(frozen=True)
class ByClass:
    """Preconditioner by class: inverse of each class's block of the Hessian, uncoupled."""

    inverses: FloatArray  # (C, M, M)

    @classmethod
    def of(cls, objective: Objective) -> ByClass:
        """Preconditioner made by inverting each class's block (M, M) of the Hessian of the loss.

        The Hessian, penalty included, is that at `objective.weight`; blocks that couple two
        classes are left out.
        """
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
        """Response of the weights and logits to pulls at rows (T, M)."""
        return ByClassReach.of(rows, (rows @ self.inverses).swapaxes(0, 1))


@dataclass(frozen=True)
class Shared:
    """Preconditioner from one matrix of second moments for all classes, a factor for each class."""

    axes: FloatArray  # (M, M)  columns are eigenvectors
    stiffness: FloatArray  # (C, M)  along each of them

    @classmethod
    def of(cls, objective: Objective) -> Shared:
        """The moments of all rows, and the factors at the weights of the objective."""
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
        """Response of the weights and logits to pulls at rows (T, M)."""
        turned = rows @ self.axes
        return ByClassReach.of(rows, (turned[:, None, :] / self.stiffness) @ self.axes.T)


@dataclass(frozen=True)
class ByClassReach:
    """Response to pulls at T rows by a preconditioner that does not couple the classes."""

    matrix: FloatArray
    unit_steps: FloatArray  # (T, C, M)

    @classmethod
    def of(cls, rows: FloatArray, unit_steps: FloatArray) -> ByClassReach:
        """The reach of rows (T, M) from the weight step (T, C, M) by a unit pull at each class."""
        own = (unit_steps @ rows[:, :, None])[..., 0]  # (T, C)
        return cls(own[:, :, None] * np.eye(own.shape[1]), unit_steps)

    def of_problems(self, owner: IntArray) -> ByClassReach:
        """The reach of P problems, each with the row at index `owner` (P,)."""
        return ByClassReach(self.matrix[owner], self.unit_steps[owner])

    def pulls(self, v: FloatArray) -> FloatArray:
        """Change (P, C) of the logits of each problem's row by the weight step H⁻¹v, v (P, C·M)."""
        shaped = v.reshape(self.unit_steps.shape)
        return np.asarray(np.einsum("pcm,pcm->pc", self.unit_steps, shaped))

    def steps(self, u: FloatArray) -> FloatArray:
        """Weight steps H⁻¹ (x ⊗ u), (P, C·M), by pulls u (P, C) at the row x of each problem."""
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
