"""Expected absolute error of a row, calibrated on errors of rows the model has not seen."""

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
    """Estimate of the absolute error of a regressor at each row; made by `of`, asked by `at`.

    It is `factor` times the mean error of unseen rows in the row's leaves (`noise`), times
    √(1 + leverage), with leverages capped at 10. The leaves are those of the model's own trees; for
    a model without trees, those of a forest grown for this purpose. Eq. (T21).
    """

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
        """Calibrate on absolute errors (n,) of rows that the model has not seen; fills all fields.

        `parts` starts a pass over the leaves of these rows (`leaves` of them in all trees); it is
        called twice. Second result: the expected error (n,) of each of these rows, computed without
        its own error.
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
        """Expected absolute error (n,) of new rows, in units of the target.

        `leaf` is (n, T), the leaf of each of T trees; `leverage` is (n,).
        """
        return self.factor * self.noise.at(leaf) * _widening(leverage)

    def distribution(self, mean: FloatArray, expected: FloatArray, regret: FloatArray) -> Tabulated:
        """Distribution of the label of each row, about the predictions `mean` (n,). Eq. (C3).

        `expected` (n,) are the expected absolute errors. Errors, divided by these, are distributed
        as `scores`.
        """
        return Tabulated(mean, expected, regret, self.scores)


def standardised(errors: FloatArray, expected: FloatArray) -> FloatArray:
    """Absolute errors (n,) divided by the expected errors (n,); 0 where 0 is expected."""
    with np.errstate(invalid="ignore", divide="ignore"):
        scores: FloatArray = np.where(expected > 0, errors / expected, 0.0)
    return scores


def _table(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Sorted scores (n,) of equal weight that have the same quantiles as the weighted scores.

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
