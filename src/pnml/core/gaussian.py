"""Ordinary and ridge least squares under Gaussian noise: leverage → regret → distribution."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from pnml.core.arrays import Array, FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.geometry.spectrum import Spectrum


def regret(leverage: Array) -> Array:
    """Regret of each row under Gaussian noise, in nats. Eq. (R1).

    Γ(x) = log ∫ p(y | x; θ̂(x, y)) dy = log(1 + κ), with κ the leverage of Eq. (S2).

    >>> regret(np.array([0.0, 1.0])).round(3)
    array([0.   , 0.693])
    """
    return array_namespace(leverage).log1p(leverage)


def spread(leverage: Array) -> Array:
    """Standard deviation of the pNML prediction over that of the Gaussian noise. Eq. (R2).

    It is K = 1 + leverage: the genie's residual is that of the ridge fit divided by K, so the
    density of the label is K times as wide as the noise, in standard deviation, not in variance.
    """
    return 1.0 + leverage


def bayes_spread(leverage: Array) -> Array:
    """Standard deviation of the Bayesian ridge prediction over that of the noise. Eq. (R3)."""
    return array_namespace(leverage).sqrt(1.0 + leverage)


def kernel_leverage(prior: Array, explained: Array, alpha: float) -> Array:
    """Leverage from a kernel: (k(x,x) − kᵀ(G+αI)⁻¹k)/α, at least 0. Eq. (R4).

    `prior` (m,) are k(x,x) of m new rows and `explained` (m,) are kᵀ(G+αI)⁻¹k, with k the kernel
    values of a row with the training rows, G those of the training rows, and α the ridge penalty.
    """
    xp = array_namespace(prior)
    return xp.clip(prior - explained, 0.0, None) / alpha


def predictive(spectrum: Spectrum, X: FloatArray, alpha: float, noise_variance: float) -> Normal:
    """Normal distribution of each label: the ridge fit, with K times the noise's std. Eq. (R2).

    For rows X (n, d), with K = 1 + leverage at the ridge penalty `alpha`.
    """
    leverage = spectrum.leverage(X, alpha)
    std = np.sqrt(noise_variance) * spread(leverage)
    return Normal(spectrum.fitted(X, alpha), std, regret(leverage))
