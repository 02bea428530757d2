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
    """Standard deviation of the pNML prediction under Gaussian noise, in its units. Eq. (R2).

    The genie's residual is the learner's divided by K = 1 + κ, so the density of the label is
    K times as wide: the standard deviation, not the variance, is multiplied by K.
    """
    return 1.0 + leverage


def bayes_spread(leverage: Array) -> Array:
    """Standard deviation of Bayes under Gaussian noise and a ridge prior. Eq. (R3)."""
    return array_namespace(leverage).sqrt(1.0 + leverage)


def kernel_leverage(prior: Array, explained: Array, alpha: float) -> Array:
    """Leverage from a kernel: (k(x,x) − kᵀ(G+αI)⁻¹k)/α, at least 0. Eq. (R4)."""
    xp = array_namespace(prior)
    return xp.clip(prior - explained, 0.0, None) / alpha


def predictive(spectrum: Spectrum, X: FloatArray, alpha: float, noise_variance: float) -> Normal:
    """Gaussian distribution of the labels of rows: the ridge fit, K times the noise. Eq. (R2)."""
    leverage = spectrum.leverage(X, alpha)
    std = np.sqrt(noise_variance) * spread(leverage)
    return Normal(spectrum.fitted(X, alpha), std, regret(leverage))
