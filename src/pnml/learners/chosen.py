"""Learners whose penalty and noise were chosen by leave-one-out."""

from __future__ import annotations

from pnml.core.leave_one_out import LeaveOneOut
from pnml.core.selection import Choice
from pnml.core.trust import Reference


class Chosen:
    """Base of learners whose penalty and noise were chosen by leave-one-out."""

    choice: Choice

    @property
    def loo(self) -> LeaveOneOut:
        """Training rows, each judged by the others."""
        return self.choice.loo

    @property
    def reference(self) -> Reference:
        """Regrets of training rows, each left out."""
        return self.choice.loo.reference
