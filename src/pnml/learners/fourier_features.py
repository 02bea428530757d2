"""Random Fourier features of encoded columns, their scale chosen by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Self

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.leave_one_out import NOISE_FLOOR, PNML, folds_of
from pnml.core.selection import penalties, shared_penalty, some_rows
from pnml.core.statistic.factor import Factor

_FEATURES = 512
# Scales tried, as multiples of the root of the number of columns: the distance of two rows.
_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
_MOST_ROWS = 2_000  # rows that choose the scale and the penalty


@dataclass(frozen=True)
class FourierFeatures:
    """Random cosines of columns; their inner products approximate a Gaussian kernel. Eq. (T22).

    There are p columns and m cosines.
    """

    frequencies: Annotated[FloatArray, "p m"]
    phases: Annotated[FloatArray, "m"]

    @classmethod
    def of(cls, columns: int, scale: float) -> Self:
        """Frequencies and phases for a Gaussian kernel of length scale `scale`; fixed seed.

        `columns` is the number p of columns.
        """
        rng = np.random.default_rng(0)
        frequencies = rng.normal(size=(columns, _FEATURES)) / scale
        return cls(frequencies, rng.uniform(0, 2 * np.pi, _FEATURES))

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Features (n, p + m) of rows Z (n, p): the p columns, then m cosines."""
        waves = np.cos(Z @ self.frequencies + self.phases)
        waves *= np.sqrt(2 / len(self.phases))
        return np.concatenate([Z, waves], axis=1)


def choose_fourier(
    Z: FloatArray, Y: FloatArray, weights: FloatArray
) -> tuple[FourierFeatures, float]:
    """Fourier features and ridge penalty of smallest leave-one-out log-loss.

    The loss is that of a ridge regression of targets Y (n, k) on the features of columns Z (n, p).
    """
    rows = some_rows(len(Z), _MOST_ROWS)
    Z, Y, weights = Z[rows], Y[rows], weights[rows]
    best: tuple[float, FourierFeatures, float] | None = None
    for multiple in _SCALES:
        features = FourierFeatures.of(Z.shape[1], multiple * np.sqrt(max(1, Z.shape[1])))
        alpha, loss = choose_penalty(features(Z), Y, weights)
        if best is None or loss < best[0]:
            best = loss, features, alpha
    assert best is not None  # noqa: S101 - there are scales
    return best[1], best[2]


def choose_penalty(
    X: FloatArray, Y: FloatArray, weights: FloatArray, *, intercept: bool = True
) -> tuple[float, float]:
    """Ridge penalty of smallest leave-one-out log-loss, and that loss in nats.

    The loss is that of a ridge regression of targets Y (n, k) on X (n, d), one penalty for all
    targets.
    """
    spectrum = Spectrum.of_factor(Factor.of(X, Y, weights), intercept=intercept, unit_columns=False)
    variance = np.average(
        (Y - np.average(Y, axis=0, weights=weights)) ** 2, axis=0, weights=weights
    )
    full = len(spectrum.h2) + int(intercept) >= len(X)
    targets = [
        (partial(folds_of, _only(spectrum, k), X, Y[:, k], weights), None, floor)
        for k, floor in enumerate(np.maximum(NOISE_FLOOR * variance, np.finfo(float).tiny))
    ]
    path, best = shared_penalty(targets, PNML, penalties(spectrum.h2, full), full)
    return float(path.alphas[best]), float(path.log_loss[best])


def _only(spectrum: Spectrum, k: int) -> Spectrum:
    """The spectrum with target k alone."""
    one = slice(k, k + 1)
    return replace(
        spectrum,
        z=spectrum.z[:, one],
        y_mean=spectrum.y_mean[one],
        unexplained=spectrum.unexplained[one],
    )
