"""pNML from its definition: refit for every label, integrate over labels. Imports nothing of ours."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad


def design(X, intercept):
    """The rows with a column of ones where there is an intercept."""
    X = np.asarray(X, float)
    return np.column_stack([np.ones(len(X)), X]) if intercept else X


def ridge_fit(X, y, alpha, intercept, weights=None):
    """Penalised least squares by an augmented system; the intercept is not penalised."""
    A = design(X, intercept)
    w = np.sqrt(np.ones(len(A)) if weights is None else np.asarray(weights, float))
    penalty = np.sqrt(alpha) * np.eye(A.shape[1])
    if intercept:
        penalty[0, 0] = 0.0
    stacked = np.vstack([A * w[:, None], penalty])
    return np.linalg.lstsq(stacked, np.concatenate([y * w, np.zeros(A.shape[1])]), rcond=None)[0]


def ridge_genie_residual(X, y, x, label, alpha, intercept, weights=None):
    """Residual at (x, label) of the model refitted with that row added."""
    weights = np.ones(len(X)) if weights is None else weights
    theta = ridge_fit(
        np.vstack([X, x]), np.append(y, label), alpha, intercept, np.append(weights, 1.0)
    )
    return label - design(np.asarray(x)[None], intercept)[0] @ theta


def ridge_genie_density(X, y, x, alpha, noise_variance, intercept, weights=None):
    """The genie's density of its own label, as a function of the label."""

    def density(label):
        s = ridge_genie_residual(X, y, x, label, alpha, intercept, weights)
        return np.exp(-(s**2) / (2 * noise_variance)) / np.sqrt(2 * np.pi * noise_variance)

    return density


def integrate(density, centre, width):
    """∫ density over the line, in panels that grow with the distance from the centre."""
    edges = width * np.array([0.0, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 40])
    total = 0.0
    for sign in (-1.0, 1.0):
        for left, right in zip(edges[:-1], edges[1:], strict=True):
            f = lambda d, sign=sign: density(centre + sign * d)  # noqa: E731
            total += quad(f, left, right, epsabs=0, epsrel=1e-12)[0]
    return total


def ridge_normaliser(X, y, x, alpha, noise_variance, intercept, weights=None):
    """K of pNML for least squares with an ℓ2 penalty: ∫ over labels of the genie's density."""
    density = ridge_genie_density(X, y, x, alpha, noise_variance, intercept, weights)
    centre = design(np.asarray(x)[None], intercept)[0] @ ridge_fit(X, y, alpha, intercept, weights)
    slope = ridge_genie_residual(X, y, x, centre + 1.0, alpha, intercept, weights)
    return integrate(density, centre, np.sqrt(noise_variance) / slope)


def ridge_luckiness(X, y, x, alpha, noise_variance, intercept):
    """Relative regret, mean and standard deviation of ridge luckiness, by integration."""
    start = int(intercept)

    def fit_with(label):
        theta = ridge_fit(np.vstack([X, x]), np.append(y, label), alpha, intercept)
        residual = label - design(np.asarray(x)[None], intercept)[0] @ theta
        return residual, theta[start:] @ theta[start:]

    alone = ridge_fit(X, y, alpha, intercept)
    centre = design(np.asarray(x)[None], intercept)[0] @ alone
    norm = alone[start:] @ alone[start:]

    def density(label):
        residual, squared = fit_with(label)
        energy = residual**2 + alpha * (squared - norm)
        return np.exp(-energy / (2 * noise_variance)) / np.sqrt(2 * np.pi * noise_variance)

    width = np.sqrt(noise_variance) / abs(fit_with(centre + 1.0)[0] - fit_with(centre)[0])
    total = integrate(density, centre, width)
    mean = integrate(lambda v: v * density(v), centre, width) / total
    square = integrate(lambda v: (v - mean) ** 2 * density(v), centre, width) / total
    return np.log(total), mean, np.sqrt(square)


def ridge_left_out(X, y, i, alpha, intercept, weights=None):
    """Fold i of ridge from a refit: prediction, K, B, C at row i without one copy of it.

    Of a row lighter than one copy all of it leaves.
    """
    weights = np.ones(len(X)) if weights is None else np.array(weights, float)
    weights[i] -= min(weights[i], 1.0)
    A = design(X, intercept)
    penalty = alpha * np.eye(A.shape[1])
    if intercept:
        penalty[0, 0] = 0.0
    P = np.linalg.inv((A.T * weights) @ A + penalty)
    theta = P @ (A.T @ (weights * y))
    start = int(intercept)
    Px = (P @ A[i])[start:]
    return A[i] @ theta, 1 + A[i] @ P @ A[i], theta[start:] @ Px, Px @ Px

