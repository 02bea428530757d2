"""Base class of learners that hold the choice of penalty and noise."""

from __future__ import annotations

from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.selection import Choice
from pnml.core.trust import Reference


class Chosen:
    """Base of learners whose penalty and noise are in `choice`, as given or by leave-one-out."""

    choice: Choice

    @property
    def loo(self) -> LeaveOneOut:
        """Leave-one-out results of the training rows, at the chosen penalty and noise."""
        return self.choice.loo

    @property
    def reference(self) -> Reference:
        """Left-out regrets of the training rows, from which thresholds of trust are taken."""
        return self.choice.loo.reference
