"""A trusted classifier as one immutable object: regret, trust and probability of being wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.core.softmax import Categorical
from pnml.core.trust import Evidence, Reference
from pnml.learners.cross_fitted import CrossFitted
from pnml.learners.last_step import log_probabilities
from pnml.learners.protocol import Inputs
from pnml.learners.trusted_model import ReadRows, TrustedModel
from pnml.learners.wrong_probability import WrongProbability


@dataclass(frozen=True)
class TrustedClasses:
    """A fitted classifier with all that `TrustedClassifier` needs to score new rows.

    `base` compares a row with the training rows; `wrong` gives the probability that the predicted
    class is wrong, and is None if no unseen rows could calibrate it. C is the number of classes.
    """

    base: TrustedModel
    regrets: Annotated[FloatArray, "n"]  # of left-out training rows; log C where not known
    wrong: WrongProbability | None
    cross_fitted: CrossFitted | None = None  # None: no folds were fitted

    inputs: ClassVar[Inputs] = Inputs(table=True)  # rows as the model takes them

    @property
    def reference(self) -> Reference:
        """Left-out regrets, leverages and excesses of training rows, for the thresholds of trust.

        Excess: distance beyond the training range of a column, in widths of that range.
        """
        base = self.base
        return Reference(self.regrets, base.weights, base.leverages, base.excesses)

    def predictive(self, rows: ReadRows) -> Categorical:
        """pNML log-probabilities (n, C) and regrets (n,).

        The higher a row's leverage, the more evenly the model's probabilities are spread.
        """
        log_p = log_probabilities(self.base.model, rows.X)
        return softmax.predictive(log_p, self.base.leverage(rows))

    def regret(self, rows: ReadRows) -> FloatArray:
        """Regret (n,) of rows, in nats, at most log((C + 1)/2) for C classes. Eq. (F3)."""
        regret: FloatArray = softmax.regret(
            log_probabilities(self.base.model, rows.X), self.base.leverage(rows)
        )
        return regret

    def evidence(self, X: Any, regret: FloatArray | None = None) -> Evidence:
        """All that decides whether rows are trusted; X are raw rows, or the result of `base.read`.

        Regret, leverage, excess beyond training ranges, values never seen, and broken relations of
        columns. Pass the `regret` (n,) if it is already known.
        """
        rows, base = self.base.read(X), self.base
        kappa = base.leverage(rows)
        if regret is None:
            regret = softmax.regret(log_probabilities(base.model, rows.X), kappa)
        return Evidence(regret, kappa, base.never_seen(rows), base.excess(rows), base.broken(rows))

    def expected_error(self, wrong: WrongProbability, rows: ReadRows) -> FloatArray:
        """Probability (n,) that the predicted class is wrong. Eq. (T23)."""
        return wrong.at(log_probabilities(self.base.model, rows.X))
