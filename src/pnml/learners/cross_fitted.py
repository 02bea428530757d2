"""Errors of a model on its training rows, each predicted by a fit without the row's fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.conditions import NOT_NAN, NOT_NEGATIVE, POSITIVE
from pnml.core.distributions.tabulated import Tabulated
from pnml.core.leave_one_out import NOISE_FLOOR
from pnml.learners.expected_error import standardised

_TABLES = 5  # parts of the rows, each scored by the table of the others


@dataclass(frozen=True)
class CrossFitted:
    """Cross-validated errors and log-losses of training rows: each by a fit without its fold."""

    absolute_errors: Annotated[
        FloatArray, "n", NOT_NEGATIVE
    ]  # absolute errors, or 1 where the class is wrong
    log_losses: Annotated[FloatArray, "n", NOT_NAN]  # nats
    weights: Annotated[FloatArray, "n", POSITIVE]

    @property
    def log_loss(self) -> float:
        """Mean log-loss over the rows, in nats."""
        return float(np.average(self.log_losses, weights=self.weights))

    @property
    def mean_error(self) -> float:
        """Weighted mean absolute error; of a classifier, the share of wrong classes."""
        return float(np.average(self.absolute_errors, weights=self.weights))

    @property
    def mean_squared_error(self) -> float:
        """Weighted mean squared error; of a classifier, the share of wrong classes."""
        return float(np.average(self.absolute_errors**2, weights=self.weights))


def value_log_losses(
    errors: FloatArray, expected: FloatArray, spread: float, weights: FloatArray
) -> FloatArray:
    """Log-losses (n,), in nats, of rows with absolute errors `errors` (n,).

    The distribution is that of (C3): scores |error| / expected error of other rows, times the row's
    `expected` error. `spread` is the standard deviation of the labels; expected errors are taken to
    be at least spread/1000, and losses at least log(spread/1000).

    >>> value_log_losses(np.zeros(50), np.zeros(50), 1.0, np.ones(50))[:2].round(2)
    array([-6.91, -6.91])
    """
    least = np.sqrt(NOISE_FLOOR) * spread
    scale = np.maximum(expected, least)
    scores = standardised(errors, scale)
    losses = np.empty(len(errors))
    place = np.arange(len(errors)) % _TABLES
    for part in range(min(_TABLES, len(errors))):
        here = place == part
        table = np.sort(scores[~here & (weights > 0)])
        none = np.zeros(int(here.sum()))
        if len(table) and table[-1] > 0:
            dist = Tabulated(none, scale[here], none, table)
            losses[here] = -dist.log_prob(errors[here])
        else:
            losses[here] = -np.inf
    return np.maximum(losses, np.log(least) if least > 0 else 0.0)
