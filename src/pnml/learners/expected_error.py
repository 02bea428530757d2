"""Expected absolute error of a row, calibrated on out-of-fold errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.conditions import IN_ORDER, NOT_NEGATIVE
from pnml.core.distributions.tabulated import Tabulated
from pnml.core.leaves.cells import IntArray
from pnml.core.leaves.local_noise import LeafParts, LocalNoise

# Leverages are capped here: otherwise a wrong unit would make intervals useless.
_MOST_LEVERAGE = 10.0


@dataclass(frozen=True)
class ExpectedError:
    """Expected absolute error of a row, by its leaves and its leverage. Eq. (T21)."""

    noise: LocalNoise
    factor: Annotated[
        float, NOT_NEGATIVE
    ]  # so that the mean over left-out training rows is the mean error
    scores: Annotated[FloatArray, "n", IN_ORDER]  # sorted |error| / expected error of left-out rows

    @classmethod
    def of(
        cls,
        parts: Callable[[], LeafParts],
        leverage: FloatArray,
        errors: FloatArray,
        weights: FloatArray,
        leaves: int,
    ) -> tuple[ExpectedError, FloatArray]:
        """From absolute errors (n,) of rows that the model has not seen, and their leverages.

        Also gives what was to be expected of these rows (n,), each without its own error. `parts`
        starts a pass over the leaves of the rows; there are two passes.
        """
        noise = LocalNoise.of(parts(), errors, weights, leaves)
        local = [noise.left_out(leaf, errors[part], weights[part]) for part, leaf in parts()]
        typical = np.concatenate(local) * _widening(leverage)
        mean = float(np.average(typical, weights=weights))
        factor = float(np.average(errors, weights=weights)) / mean if mean > 0 else 1.0
        expected = factor * typical
        table = _table(standardised(errors, expected), weights)
        return cls(noise, factor, table), expected

    def at(self, leaf: IntArray, leverage: FloatArray) -> FloatArray:
        """Expected absolute error (n,) of new rows, in units of the target."""
        return self.factor * self.noise.at(leaf) * _widening(leverage)

    def distribution(self, mean: FloatArray, expected: FloatArray, regret: FloatArray) -> Tabulated:
        """Predictive distribution from the predictions and the left-out scores. Eq. (C3)."""
        return Tabulated(mean, expected, regret, self.scores)


def standardised(errors: FloatArray, expected: FloatArray) -> FloatArray:
    """Errors (n,) in units of the expected ones; 0 where none is expected."""
    with np.errstate(invalid="ignore", divide="ignore"):
        scores: FloatArray = np.where(expected > 0, errors / expected, 0.0)
    return scores


def _table(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Sorted scores, each as probable as the others: quantiles of those with these weights.

    >>> _table(np.array([3.0, 1.0]), np.array([1.0, 3.0])), _table(np.arange(2.0), np.ones(2))
    (array([1., 1.]), array([0., 1.]))
    """
    used = weights > 0
    order = np.argsort(scores[used], kind="stable")
    ascending, mass = scores[used][order], np.cumsum(weights[used][order])
    if bool(np.all(weights[used] == weights[used][0])):
        return ascending
    levels = (np.arange(len(ascending)) + 0.5) / len(ascending)
    table: FloatArray = ascending[np.searchsorted(mass / mass[-1], levels)]
    return table


def _widening(leverage: FloatArray) -> FloatArray:
    """√(1 + κ), capped: the growth of errors with the leverage."""
    wider: FloatArray = np.sqrt(1 + np.minimum(leverage, _MOST_LEVERAGE))
    return wider
