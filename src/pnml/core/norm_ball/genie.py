"""The genie of a norm ball: the fit with the label included, as a curve in its multiplier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.core.arrays import EPS, FloatArray
from pnml.core.norm_ball.ball import Ball, newton_step

_MAX_STEPS = 200
# Below this multiple of the smallest h2 a multiplier changes nothing, and its powers overflow.
_NEGLIGIBLE = 1e-60


@dataclass(frozen=True)
class Quadratic:
    """Equation C s² + 2B s = gap for the residual s of a genie of norm R. Eq. (N4).

    The genie θ̂ = θ_λ + Pxs is the fit with row x and one label added, at multiplier (ridge
    penalty) λ; θ_λ is the ridge fit without the row. Arrays are (T, L) for T rows and L
    multipliers, or (L,) where they hold for every row.
    """

    gap: FloatArray  # R² − ‖θ_λ‖²
    B: FloatArray  # θ_λᵀPx with P = (XᵀX + λI)⁻¹
    C: FloatArray  # xᵀP²x

    def discriminant(self) -> FloatArray:
        """Discriminant Δ² = B² + C·gap (T, L); Δ is |θ̂ᵀPx| of either root's genie θ̂."""
        out: FloatArray = self.B**2 + self.C * self.gap
        return out

    def roots(self, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The two residuals s₋ ≤ s₊, computed without cancellation; d is √discriminant."""
        positive = self.B > 0
        far = np.abs(self.B) + d
        near = self.gap / far
        far = far / self.C
        return -np.where(positive, far, near), np.where(positive, near, far)


@dataclass(frozen=True)
class Sums:
    """Sums over directions that give the genies of T rows at L multipliers λ. Eq. (N2), (N3).

    λ = λ_R + δ, with λ_R the multiplier of the fit without the row; P is (XᵀX + λI)⁻¹. Arrays are
    (T, L), or (L,) where they hold for every row.
    """

    quadratic: Quadratic
    delta: FloatArray  # δ
    kappa: FloatArray  # xᵀPx
    drift: FloatArray  # (xᵀθ_R − xᵀθ_λ)/δ
    q0: FloatArray  # θ_λᵀPθ_λ
    q1: FloatArray  # θ_λᵀP²x
    q2: FloatArray  # xᵀP³x

    def genie_norm(self, s: FloatArray) -> FloatArray:
        """θ̂ᵀPθ̂ (T, L) of the genies θ̂ = θ_λ + Pxs with residuals s (T, L). Eq. (N6)."""
        out: FloatArray = self.q0 + s * (2 * self.q1 + s * self.q2)
        return out

    def sides(self, d: FloatArray) -> tuple[Side, Side]:
        """The genies for labels below and above the prediction, one Side each. Eq. (N5), (N6).

        The prediction is that of the fit within the ball, without the row; d > 0 is the square root
        of the discriminant of `quadratic`.
        """
        lower, upper = self.quadratic.roots(d)
        return self._side(lower, d), self._side(upper, d)

    def _side(self, s: FloatArray, d: FloatArray) -> Side:
        ds = self.genie_norm(s) / d
        # Cauchy–Schwarz: never negative in exact arithmetic
        dp = np.maximum(self.kappa * ds - d, 0.0)
        return Side(s, (1 + self.kappa) * s - self.delta * self.drift, ds, dp)


@dataclass(frozen=True)
class Side:
    """Genies for labels on one side of the prediction, at growing multipliers λ: (T, L).

    The prediction is that of the least-squares fit within the ball, without the row.
    """

    s: FloatArray  # residual at its label
    deviation: FloatArray  # that label minus the prediction of the constrained fit
    ds: FloatArray  # |ds/dλ|
    dp: FloatArray  # |d prediction/dλ|


def over_directions(rows: FloatArray, p: FloatArray) -> FloatArray:
    """Sums Σ_j rows_j p_j over r directions, (T, L) for T rows and L multipliers.

    `rows` is (T, r), or (r,) if it is the same for every row; `p` is (r, L) if the rows share their
    multipliers, else (T, L, r).
    """
    if p.ndim == 2:
        return rows @ p
    out: FloatArray = np.matmul(p, rows[..., None])[..., 0]
    return out


def resolvent(ball: Ball, lam: FloatArray) -> FloatArray:
    """1/(h2 + λ) in each direction: (r+1, L) for λ (L,), (T, L, r+1) for λ (T, L).

    h2 are the squared singular values of the training rows, and 0 outside their span.
    """
    h2 = ball.directions.h2
    if lam.ndim == 1:
        out: FloatArray = 1.0 / (h2[:, None] + lam)
    else:
        out = 1.0 / (h2 + lam[..., None])
    return out


def quadratic(ball: Ball, x: FloatArray, p: FloatArray, delta: FloatArray) -> Quadratic:
    """Coefficients of the quadratic equation for the genies' residuals at multipliers λ.

    The genie of a row is the fit with that row and one label added; its norm is the radius of the
    ball. x (T, r+1) are new rows in the coordinates of `Ball.coordinates`, `p` is
    `resolvent(ball, λ)`, and `delta` is λ − ball.multiplier in the shape of λ, (L,) or (T, L).
    Eq. (N3), (N4).
    """
    v, g = ball.directions.fit, ball.directions.moment
    p2 = p * p
    room = over_directions(v * v, p) + over_directions(v * g, p2)
    B, C = over_directions(x * g, p2), over_directions(x * x, p2)
    return Quadratic(ball.slack + delta * room, B, C)


def sums(ball: Ball, x: FloatArray, p: FloatArray, delta: FloatArray) -> Sums:
    """Sums over directions that give the genies of rows x (T, r+1) at multipliers λ.

    `p` is the `resolvent` at the multipliers, `delta` is λ − ball.multiplier.
    """
    v, g = ball.directions.fit, ball.directions.moment
    xx, xg, p3 = x * x, x * g, p * p * p
    return Sums(
        quadratic=quadratic(ball, x, p, delta),
        delta=delta,
        kappa=over_directions(xx, p),
        drift=over_directions(x * v, p),
        q0=over_directions(g * g, p3),
        q1=over_directions(xg, p3),
        q2=over_directions(xx, p3),
    )


def own_sides(
    ball: Ball, x: FloatArray, p: FloatArray, delta: FloatArray, quad: Quadratic, d: FloatArray
) -> tuple[Side, Side]:
    """Both sides of the genies, if each row has its own multipliers λ. Eq. (N5), (N6).

    `p` (T, L, r+1) is the `resolvent` at λ, `delta` (T, L) is λ − λ_R, `quad` the equation for the
    residual and `d` the root Δ of its discriminant. Below λ_R the genie θ̂ is a small difference of
    large parts, and so is κQ − Δ² with κ = xᵀPx and Q = θ̂ᵀPθ̂. The part of θ̂ that is P-orthogonal
    to x gives both without loss: N = κQ − Δ² over κ.
    """
    v, g = ball.directions.fit, ball.directions.moment
    kappa, drift = over_directions(x * x, p), over_directions(x * v, p)
    pg = p * g
    out = []
    for sign, s in zip((-1.0, 1.0), quad.roots(d), strict=True):
        apart = p * s[..., None]
        apart -= (sign * d / kappa)[..., None]
        apart *= x[:, None, :]
        apart += pg
        N = np.einsum("tlr,tlr,tlr->tl", p, apart, apart)
        out.append(Side(s, (1 + kappa) * s - delta * drift, (N + d * d / kappa) / d, kappa * N / d))
    return out[0], out[1]


def genie_residual(ball: Ball, x: FloatArray, deviations: FloatArray) -> FloatArray:
    """Residuals (T, m) of the genies at labels prediction + deviations (T, m). Eq. (N11).

    The prediction is that of the fit within the ball without the row; x (T, r+1) are the rows in
    the coordinates of `Ball.coordinates`.
    """
    free, above, slope = _unconstrained(ball, x, deviations)
    R = ball.radius
    lam = newton_step(above, slope, R)
    active = (above > 0) & (lam > _NEGLIGIBLE * ball.directions.smallest)
    lam = np.where(active, lam, 1.0)
    low, high = 0.5 * lam, 2 * np.maximum(lam, _largest_multiplier(ball, x, deviations))
    s = free
    for _ in range(_MAX_STEPS):
        p = resolvent(ball, lam)
        at = sums(ball, x, p, lam - ball.multiplier)
        K, quad = 1 + at.kappa, at.quadratic
        s = (deviations + at.delta * at.drift) / K
        above = s * (2 * quad.B + s * quad.C) - quad.gap
        if ball.multiplier > 0:  # θ_λ may be far outside the ball, and the genie on it
            genie = p * (ball.directions.moment + x[:, None] * s[..., None])
            above = np.where(quad.gap < -(R**2), np.sum(genie**2, axis=-1) - R**2, above)
        slope = 2 * (at.genie_norm(s) - (quad.B + quad.C * s) ** 2 / K)
        low, high = np.where(above > 0, lam, low), np.where(above > 0, high, lam)
        step = newton_step(above, slope, R)
        moved = active & (np.abs(step) > 4 * EPS * lam) & (high - low > 4 * EPS * lam)
        if not bool(np.any(moved)):
            break
        new = np.where((lam + step > low) & (lam + step < high), lam + step, np.sqrt(low * high))
        lam = np.where(moved, new, lam)
    return np.where(active, s, free)


def _largest_multiplier(ball: Ball, x: FloatArray, deviations: FloatArray) -> FloatArray:
    """A multiplier that no label exceeds: ‖XᵀY + xy‖/R, as ‖θ̂‖ is at most ‖XᵀY + xy‖/λ."""
    labels = np.abs(deviations) + np.abs(x @ ball.directions.fit)[:, None]
    sizes = np.linalg.norm(x, axis=1)[:, None]
    out: FloatArray = (np.linalg.norm(ball.directions.moment) + labels * sizes) / ball.radius
    return out


def _unconstrained(
    ball: Ball, x: FloatArray, deviations: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Residual, ‖θ‖² − R² and −d‖θ‖²/dλ at λ = 0 of the fit with the label included. Eq. (N11)."""
    a, b, t, p = x[:, :-1], x[:, -1:], ball.t, 1.0 / ball.h2
    r = deviations + (a @ (ball.fit - t))[:, None]  # y − xᵀθ*
    kappa, C, q2 = (((a * a) @ p**k)[:, None] for k in (1, 2, 3))
    B, q1 = (((a * t) @ p**k)[:, None] for k in (1, 2))
    q0 = float(t**2 @ p)
    s = np.where(b > 0, 0.0, r / (1 + kappa))
    f = r / np.where(b > 0, b, np.inf)  # ‖θ_⊥‖, which fits any label outside the span
    above = s * (2 * B + s * C) + f * f - ball.excess
    f = f / np.where(b > 0, b, np.inf)
    inside = q0 + s * (2 * q1 + s * q2) - (B + C * s) ** 2 / (1 + kappa) * (b == 0)
    slope = 2 * (inside + f * (f * (1 + kappa) - 2 * B))
    return s, above, slope
