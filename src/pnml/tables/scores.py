"""Results of scoring a batch of a table: predictions, verdicts and reasons of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.tables.encoder import BoolArray, Encoded
from pnml.tables.explanation import Drivers


@dataclass(frozen=True)
class Outcome:
    """How the labels of rows compare with the predictions; arrays (n,), NaN without a label.

    `log_loss` is in nats; `loss` is the squared error, or 1 for a wrong label; `covered` is 1 if
    the interval holds the label; `reach` is the coverage of the smallest central interval that
    holds it.
    """

    log_loss: FloatArray  # (n,) nats
    loss: FloatArray  # (n,) squared error, or 1 where the label is wrong
    covered: FloatArray  # (n,) whether the interval holds the label; NaN in classification
    reach: FloatArray  # (n,) coverage of the least interval that holds it; NaN in classification


@dataclass(frozen=True)
class Answer:
    """What the learner of a table's model says of each row.

    `strength` (n,) is the prediction, or the probability of the predicted class; `interval` (n, 2)
    and `probabilities` (n, classes) are None in the other task.
    """

    prediction: npt.NDArray[Any]  # (n,) numbers or words
    strength: FloatArray  # (n,) the prediction, or the probability of the predicted class
    interval: FloatArray | None  # (n, 2); None in classification
    probabilities: FloatArray | None  # (n, classes); None in regression
    expected_error: FloatArray  # (n,) of the prediction; in classification that it is wrong
    regret: FloatArray  # (n,) nats
    outcome: Outcome | None  # None where the batch has no labels


@dataclass(frozen=True)
class Scores:
    """What a table's model says of each row of a batch, and why.

    `drivers` are the columns behind each regret, `because` names them in words, and `reason` is the
    main reason why a row is not trusted, null if it is.
    """

    answer: Answer
    prediction: pa.Array  # in the type of the target
    trusted: BoolArray  # (n,)
    never_seen: BoolArray  # (n,)
    encoded: Encoded
    drivers: Drivers
    because: pa.Array
    reason: pa.Array  # (n,) words, null where trusted; equal texts are one group

    @cached_property
    def severity(self) -> FloatArray:
        """How unlike training each row (n,) is, in nats, by which reports order rows. Eq. (W7).

        The regret, and what cells beyond the training range add: a direction without training
        rows, as for what was never seen. The regret of a kernel does not grow with the distance,
        and that of trees grows slowly.
        """
        beyond = self.encoded.excess
        far = np.where(np.isfinite(beyond), beyond, 0.0)  # another constant counts as never seen
        severity: FloatArray = self.answer.regret + np.log1p(np.square(far).sum(axis=1))
        return severity
