"""Luckiness: pNML over all models, each weighted by w(θ) = exp(−λ‖θ‖²/2σ²)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.geometry.spectrum import Spectrum


@dataclass(frozen=True)
class RidgeTerms:
    """Four numbers of each row that give its luckiness prediction and regret. Eq. (L1).

    λ is the penalty, θ_λ the ridge fit, P_λ = (XᵀX + λI)⁻¹ with X the training rows, K = exp of the
    regret of pNML.
    """

    fit: FloatArray  # (n,)  xᵀθ_λ
    leverage: FloatArray  # (n,)  K − 1
    pull: FloatArray  # (n,)  λB = λ θ_λᵀP_λx
    spread: FloatArray  # (n,)  λC = λ xᵀP_λ²x

    @classmethod
    def of(cls, spectrum: Spectrum, X: FloatArray, alpha: float) -> RidgeTerms:
        """RidgeTerms of rows X (n, d) at penalty `alpha`; `spectrum` is of the training rows."""
        h2, theta = spectrum.h2, np.sqrt(spectrum.h2) * spectrum.z[:, 0]
        shrunk = theta / (h2 + alpha)
        linear = np.column_stack([shrunk, alpha * shrunk / (h2 + alpha)])  # (r, 2)
        square = np.column_stack([1 / (h2 + alpha), alpha / (h2 + alpha) ** 2])  # (r, 2)
        terms = np.empty((4, len(X)))
        apart = spectrum.taken_apart()
        for part in spectrum.blocks(len(X)):
            a, b2 = apart(X[part])
            with np.errstate(divide="ignore", invalid="ignore"):
                beyond = np.where(b2 > 0, b2 / alpha, 0.0)  # +inf at alpha = 0
            terms[0::2, part] = (a @ linear).T
            terms[1::2, part] = (np.square(a, out=a) @ square).T + beyond
        terms[0] += spectrum.y_mean[0]
        terms[1] += spectrum.intercept_share
        return cls(*terms)


def regret(terms: RidgeTerms, noise_variance: float) -> FloatArray:
    """Regret (n,) of each row by luckiness, in nats, at least 0. Eq. (L3).

    The weights of models are taken relative to the weight of the ridge fit.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        shift = terms.pull**2 / (2 * noise_variance * (1 + terms.spread))
        gain = np.log1p(terms.leverage) - 0.5 * np.log1p(terms.spread)
        return np.where(np.isinf(terms.leverage), np.inf, shift + gain)


def predictive(spectrum: Spectrum, X: FloatArray, alpha: float, noise_variance: float) -> Normal:
    """Normal distribution of the label of each row by luckiness, at the penalty `alpha`. Eq. (L2).

    For rows X (n, d). The mean is shifted from the ridge fit; the std is between those of Bayes and
    pNML, and infinite outside the span of the training rows if `alpha` is 0.
    """
    terms = RidgeTerms.of(spectrum, X, alpha)
    K, thin = 1 + terms.leverage, 1 + terms.spread
    lost = np.isinf(K)  # outside the span at alpha = 0
    with np.errstate(invalid="ignore"):
        mean = np.where(lost, terms.fit, terms.fit - K * terms.pull / thin)
        std = np.where(lost, np.inf, np.sqrt(noise_variance) * K / np.sqrt(thin))
    return Normal(mean, std, regret(terms, noise_variance))
