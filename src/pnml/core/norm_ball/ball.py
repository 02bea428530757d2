"""The norm ball: all linear models of bounded norm, in the directions of the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from pnml.core.arrays import EPS, FloatArray
from pnml.core.conditions import NOT_NEGATIVE, POSITIVE
from pnml.errors import InputError

# A radius this close to the norm of the least-squares fit, in units of round-off, is that norm.
_SAME_NORM = 8 * EPS
_MAX_STEPS = 200


@dataclass(frozen=True)
class Ball:
    """The norm ball {θ : ‖θ‖ ≤ radius}: statistics of the training rows for pNML. Eq. (N1).

    Rows X = U diag(√h2) Vᵀ with targets Y enter through h2 and t = UᵀY/√h2 only. With an
    unpenalised intercept, X and Y are centred, ω = n/(n+1) for n training rows, and new rows are
    measured from the training mean. Eq. (N13).

    >>> ball = Ball.min_norm(np.array([4.0]), np.array([0.5]))
    >>> ball.radius, ball.multiplier
    (0.5, 0.0)
    """

    h2: Annotated[FloatArray, "r", POSITIVE]  # squared singular values, all positive
    t: Annotated[FloatArray, "r"]  # the least-squares fit of smallest norm
    radius: Annotated[float, NOT_NEGATIVE]
    omega: Annotated[float, POSITIVE] = 1.0
    target_mean: float = 0.0

    def __post_init__(self) -> None:
        """Raise if the shapes or numbers are impossible for a training set."""
        if self.h2.ndim != 1 or self.h2.shape != self.t.shape:
            raise InputError(
                f"h2 has shape {self.h2.shape} and t has shape {self.t.shape}, but they describe "
                "the same directions; pass two vectors of one length."
            )
        if not bool(np.all(self.h2 > 0)):
            raise InputError(
                f"h2 goes down to {np.min(self.h2):g}, but only directions that the training rows "
                "span have a coefficient; drop those with h2 = 0."
            )
        if not (np.isfinite(self.radius) and self.radius >= 0):
            raise InputError(
                f"radius is {self.radius!r}, but a ball needs a finite radius of at least 0; "
                "pass such a number, or leave it out for the norm of the least-squares fit."
            )
        if not 0 < self.omega <= 1:
            raise InputError(
                f"omega is {self.omega!r}, but n/(n+1) lies between 0 and 1; "
                "pass 1 when there is no intercept."
            )

    @classmethod
    def min_norm(
        cls, h2: FloatArray, t: FloatArray, omega: float = 1.0, target_mean: float = 0.0
    ) -> Ball:
        """The smallest ball that holds a least-squares fit of the training rows.

        `h2` (r,) are the squared singular values of the rows, `t` (r,) the coefficients of the
        least-squares fit of smallest norm along the r directions; `omega` and `target_mean` are 1
        and 0 without an intercept, else n/(n+1) for n rows and the mean target.
        """
        return cls(h2, t, float(np.linalg.norm(t)), omega, target_mean)

    @cached_property
    def norm(self) -> float:
        """Norm of the least-squares fit of smallest norm, ‖θ*‖."""
        return float(np.linalg.norm(self.t))

    @cached_property
    def excess(self) -> float:
        """radius² − ‖θ*‖² with θ* the least-squares fit of smallest norm.

        Exactly 0 for the smallest ball that holds a least-squares fit.
        """
        if abs(self.radius - self.norm) <= _SAME_NORM * self.norm:
            return 0.0
        return (self.radius - self.norm) * (self.radius + self.norm)

    @property
    def slack(self) -> float:
        """Room around the least-squares fit θ*: radius² − ‖θ*‖², or 0 if that is negative."""
        return max(self.excess, 0.0)

    @cached_property
    def multiplier(self) -> float:
        """Ridge penalty at which the fit has norm `radius`. Eq. (N3).

        0 if the least-squares fit is inside the ball.
        """
        if self.excess >= 0:
            return 0.0
        return float(constrained_multiplier(self.h2, self.t, np.array([self.radius]))[0])

    @cached_property
    def fit(self) -> FloatArray:
        """Coefficients (r,) of the least-squares fit within the ball, along the r directions."""
        out: FloatArray = self.h2 / (self.h2 + self.multiplier) * self.t
        return out

    @cached_property
    def directions(self) -> Directions:
        """The training directions and, last, one for everything outside their span."""
        h2 = np.append(self.h2, 0.0)
        fit = np.append(self.fit, 0.0)
        return Directions(h2, fit, np.append(self.h2 * self.t, 0.0))

    def coordinates(self, a: Any, b: Any) -> FloatArray:
        """New rows (T, r+1) along the r directions and outside them, in the units of Eq. (N13).

        `a` (T, r) are their components along the training directions, `b` (T,) their distances from
        the span. In these units both are multiplied by √omega.
        """
        a = np.asarray(a, dtype=float)
        b = np.asarray(b, dtype=float)
        if a.ndim != 2 or a.shape[1] != len(self.h2) or b.shape != a.shape[:1]:
            raise InputError(
                f"a has shape {a.shape} and b has shape {b.shape}, but the ball has "
                f"{len(self.h2)} directions; pass a of shape (T, {len(self.h2)}) and b of (T,)."
            )
        out: FloatArray = np.sqrt(self.omega) * np.column_stack([a, np.abs(b)])
        return out

    def noise(self, noise_variances: Any) -> FloatArray:
        """Standard deviations of the noise, √(variance/omega), in the units of Eq. (N13)."""
        variances = np.asarray(noise_variances, dtype=float)
        if not bool(np.all((variances > 0) & np.isfinite(variances))):
            raise InputError(
                f"The noise variance is {noise_variances!r}, but the density of a label needs a "
                "finite one above 0; pass such a number."
            )
        return np.sqrt(variances / self.omega)


@dataclass(frozen=True)
class Directions:
    """The r directions of the training rows and, last, one outside their span: h2 = 0, fit = 0."""

    h2: FloatArray  # (r+1,)
    fit: FloatArray  # (r+1,)  v, the constrained fit
    moment: FloatArray  # (r+1,)  g = VᵀXᵀY = h2 t

    @cached_property
    def smallest(self) -> float:
        """Smallest h2 inside the span; 1 where the training rows span nothing."""
        return float(np.min(self.h2[:-1], initial=np.inf)) if len(self.h2) > 1 else 1.0


def constrained_multiplier(h2: FloatArray, t: FloatArray, radius: FloatArray) -> FloatArray:
    """Ridge penalties (k,) at which the fit has the norms `radius` (k,). Eq. (N3).

    0 where the least-squares fit has no larger norm, infinite for radius 0. `h2` (r,) are squared
    singular values, `t` (r,) is the least-squares fit. Newton's method on 1/‖θ_λ‖ = 1/radius climbs
    to the root from the left without overshooting.

    >>> constrained_multiplier(np.array([4.0]), np.array([0.5]), np.array([0.25, 0.5]))
    array([4., 0.])
    """
    norm = float(np.linalg.norm(t))
    over = (radius < norm * (1 - _SAME_NORM)) & (radius > 0)
    R = np.where(over, radius, 1.0)[:, None]
    t2 = t * t
    lam = np.zeros_like(radius)
    for _ in range(_MAX_STEPS):
        p = 1.0 / (h2 + lam[:, None])  # (k, r)
        # ‖θ_λ‖² − R² from the shrinkage of ‖θ*‖², or directly if that is smaller
        lost = (lam[:, None] * (2 * h2 + lam[:, None]) * p * p) @ t2
        above = (norm - R[:, 0]) * (norm + R[:, 0]) - lost
        above = np.where(lost < 0.5 * norm**2, above, ((h2 * p) ** 2) @ t2 - R[:, 0] ** 2)
        slope = 2 * (h2**2 * p**3) @ t2
        step = newton_step(above, slope, R[:, 0])
        moved = over & (step > EPS * lam)
        lam = np.where(moved, lam + step, lam)
        if not bool(np.any(moved)):
            break
    return np.where((radius == 0) & (norm > 0), np.inf, lam)


def newton_step(above: FloatArray, slope: FloatArray, radius: Any) -> FloatArray:
    """Newton's step in the ridge penalty λ toward the fit θ of norm `radius`. Eq. (N11).

    `above` is ‖θ‖² − radius² and `slope` is −d‖θ‖²/dλ, elementwise. The step is forward where the
    norm is above the radius. The function is concave in λ, so a forward step never passes the root.
    """
    squared = np.maximum(radius**2 + above, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = 2 * squared * above / (radius * (radius + np.sqrt(squared)) * slope)
    return np.where(np.isfinite(step), step, 0.0)
