"""A model of the latest rows of a stream; rows that left the window have no effect on it."""

from __future__ import annotations

from typing import Self

from sklearn.base import BaseEstimator, clone

from pnml.core.statistic.exact_sum import GramSum, added
from pnml.core.statistic.gram import Gram
from pnml.core.user_types import ArrayOrFrame
from pnml.errors import InputError
from pnml.estimators.regressor import StreamingRegressor
from pnml.estimators.validation import check_training_rows, check_weights
from pnml.runtime.checks import is_whole
from pnml.scale.from_gram import check_additive, fitted


class SlidingWindow:
    """An estimator that is always fitted to the last batches of a stream, e.g. the last 24 hours.

    Nothing is ever subtracted. Batches wait in two stacks, one of which holds the sums of a
    batch and all newer ones of its stack, so that the oldest goes by a pop; a push and a pop cost
    two additions on average, and no round-off of rows that have left stays behind. Eq. (B4).
    Memory is that of one statistic for each batch.

    Parameters
    ----------
    estimator : PNMLRegressor, or LpNMLRegressor with penalty="l2"
    batches : int
        Batches in the window; when one more comes, the oldest leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from pnml import PNMLRegressor
    >>> rng = np.random.default_rng(0)
    >>> window = SlidingWindow(PNMLRegressor(), batches=2)
    >>> for slope in (1.0, 5.0, 5.0):
    ...     X = rng.normal(size=(50, 1))
    ...     _ = window.push(X, slope * X[:, 0])
    >>> window.rows, window.model.coef_.round(3)
    (100, array([5.]))
    """

    def __init__(self, estimator: BaseEstimator, *, batches: int) -> None:
        if not isinstance(estimator, StreamingRegressor):
            raise InputError(
                f"estimator is a {type(estimator).__name__}, but windows slide over the sums of "
                'PNMLRegressor or LpNMLRegressor with penalty="l2"; pass one of them.'
            )
        check_additive(estimator)
        if not is_whole(batches, 1):
            raise InputError(
                f"batches is {batches!r}, but it is how many the window holds; pass a whole "
                "number of 1 or more."
            )
        self.estimator = estimator
        self.batches = int(batches)
        self._validator: BaseEstimator = clone(estimator)  # knows the columns after the first batch
        self._pushed = 0
        self._old: list[GramSum] = []  # each the sum of a batch and of the newer ones below it
        self._new: list[GramSum] = []  # batches as they came
        self._new_sum: GramSum | None = None
        self._model: BaseEstimator | None = None

    def push(
        self, X: ArrayOrFrame, y: ArrayOrFrame, sample_weight: ArrayOrFrame | None = None
    ) -> Self:
        """Add a batch of rows (n, d) with labels (n,); a full window drops its oldest batch."""
        X, y = check_training_rows(self._validator, X, y, reset=not self._pushed)
        weights = check_weights(sample_weight, X)
        part = GramSum.of(Gram.of(X, y, weights, block=self._pushed))
        self._pushed += 1
        self._new.append(part)
        self._new_sum = added(self._new_sum, part)
        self._model = None
        if len(self) > self.batches:
            self.drop_oldest()
        return self

    def drop_oldest(self) -> Self:
        """Remove the oldest batch from the window; returns the window itself."""
        if not len(self):
            raise InputError("The window holds no batch that could leave; push one first.")
        if not self._old:
            for part in reversed(self._new):
                self._old.append(part + self._old[-1] if self._old else part)
            self._new, self._new_sum = [], None
        self._old.pop()
        self._model = None
        return self

    def __len__(self) -> int:
        """Number of batches in the window."""
        return len(self._old) + len(self._new)

    @property
    def rows(self) -> int:
        """Number of rows in the window."""
        total = self._total()
        return 0 if total is None else total.rows

    @property
    def model(self) -> BaseEstimator:
        """A copy of the estimator, fitted to the rows in the window; raises if there are none."""
        if self._model is None:
            total = self._total()
            if total is None:
                raise InputError("The window holds no rows to learn from; push some first.")
            names = getattr(self._validator, "feature_names_in_", None)
            known = None if names is None else list(names)
            self._model = fitted(clone(self.estimator), total, known)
        return self._model

    def _total(self) -> GramSum | None:
        if not self._old:
            return self._new_sum
        return self._old[-1] if self._new_sum is None else self._old[-1] + self._new_sum
