"""Summary of a scored table, of a size that does not depend on the number of rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.tables.encoder import BoolArray
from pnml.tables.sampling import Reservoir
from pnml.tables.scores import Scores

_CHART_ROWS = 4000
NOMINAL = (0.5, 0.8, 0.9, 0.95)  # coverages of the intervals that are checked


@dataclass
class Tally:
    """Sums over a group of scored rows; all but `rows` are over those with a known label.

    `covered` counts labels inside the interval; `log_loss` is in nats; `loss` is the squared error,
    or 1 for a wrong label.
    """

    rows: int = 0  # labelled or not
    labelled: int = 0
    covered: float = 0.0
    log_loss: float = 0.0
    loss: float = 0.0

    def add(self, scores: Scores, group: BoolArray) -> None:
        """Add the rows of a scored batch that are in the mask `group` (n,)."""
        self.rows += int(group.sum())
        outcome = scores.answer.outcome
        if outcome is None:
            return
        there = group & ~np.isnan(outcome.loss)
        self.labelled += int(there.sum())
        self.covered += float(outcome.covered[there].sum())
        self.log_loss += float(outcome.log_loss[there].sum())
        self.loss += float(outcome.loss[there].sum())

    def mean(self, total: float) -> float:
        """`total`, a sum over the labelled rows, divided by their number; NaN if there are none."""
        return total / self.labelled if self.labelled else float("nan")


@dataclass
class Summary:
    """Summary of the rows scored so far: counts, and a uniform sample of them."""

    trusted: Tally = field(default_factory=Tally)
    untrusted: Tally = field(default_factory=Tally)
    never_seen: int = 0
    infinite: int = 0
    regret: float = 0.0  # sum of the finite ones
    bad_cells: int = 0
    reached: list[int] = field(default_factory=lambda: [0] * len(NOMINAL))  # labels inside
    sample: Reservoir = field(default_factory=lambda: Reservoir(_CHART_ROWS))

    @property
    def rows(self) -> int:
        """Number of rows scored so far."""
        return self.trusted.rows + self.untrusted.rows

    @property
    def labelled(self) -> int:
        """Number of rows scored so far whose label is known."""
        return self.trusted.labelled + self.untrusted.labelled

    @property
    def mean_regret(self) -> float:
        """Mean of the finite regrets, in nats; inf if no regret is finite."""
        finite = self.rows - self.infinite
        return self.regret / finite if finite else float("inf")

    @property
    def all(self) -> Tally:
        """Sums over all rows, trusted or not."""
        a, b = self.trusted, self.untrusted
        return Tally(
            a.rows + b.rows,
            a.labelled + b.labelled,
            a.covered + b.covered,
            a.log_loss + b.log_loss,
            a.loss + b.loss,
        )

    @property
    def calibration(self) -> tuple[tuple[float, float], ...]:
        """Pairs of nominal coverage and share of labels in that interval; () for classes."""
        labelled = self.all.labelled
        if not labelled or np.isnan(self.all.covered):
            return ()
        return tuple(zip(NOMINAL, (count / labelled for count in self.reached), strict=True))

    def add(self, scores: Scores) -> None:
        """Add a scored batch."""
        self.trusted.add(scores, scores.trusted)
        self.untrusted.add(scores, ~scores.trusted)
        regret = scores.answer.regret
        finite = np.isfinite(regret)
        self.never_seen += int(scores.never_seen.sum())
        self.infinite += int((~finite).sum())
        self.regret += float(regret[finite].sum())
        self.bad_cells += int(scores.encoded.bad_cells.sum())
        outcome = scores.answer.outcome
        if outcome is not None:
            inside = [int(np.sum(outcome.reach <= share)) for share in NOMINAL]
            self.reached = [before + now for before, now in zip(self.reached, inside, strict=True)]
        loss = np.full(len(regret), np.nan) if outcome is None else outcome.loss
        columns = {
            "strength": scores.answer.strength,
            "regret": regret,
            "trusted": scores.trusted,
            "loss": loss,
            "expected_error": scores.answer.expected_error,
        }
        self.sample.add(pa.table({name: pa.array(c) for name, c in columns.items()}))

    def sampled(self, name: str) -> FloatArray:
        """Values (rows,) of one column of the sample, such as "regret", "trusted" or "loss"."""
        values: FloatArray = self.sample.rows()[name].to_numpy()
        return values
