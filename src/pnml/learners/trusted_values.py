"""A trusted regressor as a value: its regret, verdicts, expected errors and distributions."""

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
    """A regressor, how unlike its training rows a row is, and the errors to expect there."""

    base: TrustedModel
    errors: ExpectedError | None  # None: no errors on rows that the model has not seen are known
    cross_fitted: CrossFitted | None = None  # None: no folds were fitted

    inputs: ClassVar[Inputs] = Inputs(table=True)  # rows as the model takes them

    @property
    def reference(self) -> Reference:
        """Regrets and excesses of the training rows, each left out."""
        regrets: FloatArray = gaussian.regret(self.base.leverages)
        return Reference(regrets, self.base.weights, None, self.base.excesses)

    def regret(self, rows: ReadRows) -> FloatArray:
        """Regret (n,) in nats, log(1 + κ). Eq. (T15)."""
        regret: FloatArray = gaussian.regret(self.base.leverage(rows))
        return regret

    def evidence(self, X: Any, regret: FloatArray | None = None) -> Evidence:
        """Regret, excess, unseen values and broken relations of rows; X may be read rows."""
        rows, base = self.base.read(X), self.base
        regret = self.regret(rows) if regret is None else regret
        return Evidence(regret, None, base.never_seen(rows), base.excess(rows), base.broken(rows))

    def expected_error(self, errors: ExpectedError, rows: ReadRows) -> FloatArray:
        """Absolute error (n,) to expect. Eq. (T21)."""
        regions = self.base.trust_map.regions(rows.mapped)
        return errors.at(regions, self.base.leverage(rows))

    def predictive(self, errors: ExpectedError, rows: ReadRows) -> Tabulated:
        """Distribution of the label of each row, about the model's own prediction."""
        kappa = self.base.leverage(rows)
        expected = errors.at(self.base.trust_map.regions(rows.mapped), kappa)
        mean = np.asarray(self.base.model.predict(rows.X), dtype=float).ravel()
        return errors.distribution(mean, expected, gaussian.regret(kappa))


def expected_errors(
    base: TrustedModel, X: Any, leverages: FloatArray, errors: FloatArray, weights: FloatArray
) -> tuple[ExpectedError, FloatArray]:
    """Expected errors from absolute errors (n,) on rows X that the model has not seen.

    Also gives what was to be expected of these rows (n,), each without its own error.
    """

    def parts() -> LeafParts:
        for part, given in row_parts(X):
            yield part, base.trust_map.regions(base.read(given).mapped)

    return ExpectedError.of(parts, leverages, errors, weights, base.trust_map.region_count)
