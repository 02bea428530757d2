"""A trusted regressor as one immutable object: regret, trust, expected errors, distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pnml.core import gaussian
from pnml.core.arrays import FloatArray
from pnml.core.distributions.tabulated import Tabulated
from pnml.core.leaves.local_noise import LeafParts
from pnml.core.trust import Evidence, Reference
from pnml.learners.cross_fitted import CrossFitted
from pnml.learners.expected_error import ExpectedError
from pnml.learners.protocol import Inputs
from pnml.learners.row_parts import row_parts
from pnml.learners.trusted_model import ReadRows, TrustedModel


@dataclass(frozen=True)
class TrustedValues:
    """A fitted regressor with all that `TrustedRegressor` needs to score new rows.

    `base` compares a row with the training rows.
    """

    base: TrustedModel
    errors: ExpectedError | None  # None: no errors on rows that the model has not seen are known
    cross_fitted: CrossFitted | None = None  # None: no folds were fitted

    inputs: ClassVar[Inputs] = Inputs(table=True)  # rows as the model takes them

    @property
    def reference(self) -> Reference:
        """Left-out regrets and excesses of training rows, for the thresholds of trust.

        Excess: distance beyond the training range of a column, in widths of that range.
        """
        regrets: FloatArray = gaussian.regret(self.base.leverages)
        return Reference(regrets, self.base.weights, None, self.base.excesses)

    def regret(self, rows: ReadRows) -> FloatArray:
        """Regret (n,) of rows, in nats: log(1 + leverage κ). Eq. (T15)."""
        regret: FloatArray = gaussian.regret(self.base.leverage(rows))
        return regret

    def evidence(self, X: Any, regret: FloatArray | None = None) -> Evidence:
        """All that decides whether rows are trusted; X are raw rows, or the result of `base.read`.

        Regret, excess beyond training ranges, values never seen, and broken relations of columns.
        Pass the `regret` (n,) if it is already known.
        """
        rows, base = self.base.read(X), self.base
        regret = self.regret(rows) if regret is None else regret
        return Evidence(regret, None, base.never_seen(rows), base.excess(rows), base.broken(rows))

    def expected_error(self, errors: ExpectedError, rows: ReadRows) -> FloatArray:
        """Expected absolute error (n,) of rows, in units of the target. Eq. (T21)."""
        regions = self.base.trust_map.regions(rows.mapped)
        return errors.at(regions, self.base.leverage(rows))

    def predictive(self, errors: ExpectedError, rows: ReadRows) -> Tabulated:
        """Distribution of the label of each row, centred at the model's own prediction."""
        kappa = self.base.leverage(rows)
        expected = errors.at(self.base.trust_map.regions(rows.mapped), kappa)
        mean = np.asarray(self.base.model.predict(rows.X), dtype=float).ravel()
        return errors.distribution(mean, expected, gaussian.regret(kappa))


def expected_errors(
    base: TrustedModel, X: Any, leverages: FloatArray, errors: FloatArray, weights: FloatArray
) -> tuple[ExpectedError, FloatArray]:
    """Calibrated expected errors, from absolute errors (n,) on rows X the model has not seen.

    `leverages` and `weights` (n,) are those of the same rows. Second result: the expected error
    (n,) of each of these rows, computed without its own error.
    """

    def parts() -> LeafParts:
        for part, given in row_parts(X):
            yield part, base.trust_map.regions(base.read(given).mapped)

    return ExpectedError.of(parts, leverages, errors, weights, base.trust_map.region_count)
