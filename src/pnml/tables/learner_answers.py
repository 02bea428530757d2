"""What a table's learner is asked, and in which form it takes rows: one-hot numbers, or codes."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.core.geometry.attribution import fractions
from pnml.estimators.base import learner_of
from pnml.learners.kernel import KernelRidge
from pnml.learners.last_step import log_probabilities
from pnml.tables.coded_rows import coded_rows
from pnml.tables.encoder import NEVER_SEEN, Encoded, Encoder
from pnml.tables.learners import LEARNERS, ridge_in

Places = npt.NDArray[np.intp]  # (m,) of rows among all that were read


class Amounts(NamedTuple):
    """Answers of a regression: distribution, expected absolute error and regret of each row."""

    dist: Any
    expected_error: FloatArray  # (n,)
    regret: FloatArray  # (n,)


class Classes(NamedTuple):
    """Answers of a classification: probabilities, expected share of errors and regret."""

    probabilities: FloatArray  # (n, classes)
    expected_error: FloatArray  # (n,)
    regret: FloatArray  # (n,)


class LearnerAnswers(Protocol):
    """The questions that a table asks its learner."""

    def rows(self, encoded: Encoded) -> FloatArray:
        """Encoded rows in the form that the learner takes."""

    def read(self, encoded: Encoded) -> Any:
        """Encoded rows as the learner takes them, prepared once for all questions."""

    def amounts(self, rows: Any, encoded: Encoded) -> Amounts:
        """Answers of a regression, regrets raised where something was never seen."""

    def classes(self, rows: Any, encoded: Encoded) -> Classes:
        """Answers of a classification, regrets raised where something was never seen."""

    def shares(self, encoded: Encoded, rows: Any, at: Places) -> FloatArray:
        """Shares (m, 1 + columns) of what was never seen and of each column in the leverage.

        They are those of some rows: `encoded` holds these alone, `rows` all that were read.
        """


def answers_of(learner: str, estimator: Any, encoder: Encoder) -> LearnerAnswers:
    """The questions to a fitted estimator of the learner of this name."""
    coded = LEARNERS[learner].make_coded is not None
    return CodedAnswers(estimator, encoder) if coded else OneHotAnswers(estimator, encoder)


class OneHotAnswers:
    """Answers of an estimator that takes encoded rows as they are; words are one-hot numbers."""

    def __init__(self, estimator: Any, encoder: Encoder) -> None:
        self._estimator, self._encoder = estimator, encoder

    def rows(self, encoded: Encoded) -> FloatArray:
        """The encoded rows."""
        return encoded.X

    def read(self, encoded: Encoded) -> FloatArray:
        """The encoded rows."""
        return encoded.X

    def amounts(self, rows: FloatArray, encoded: Encoded) -> Amounts:
        """Answers of a regression; errors are as normal ones of that spread."""
        dist = self._estimator.predict_dist(rows)
        return Amounts(dist, dist.std * np.sqrt(2 / np.pi), self._raised(rows, dist.regret))

    def classes(self, rows: FloatArray, encoded: Encoded) -> Classes:
        """Answers of a classification; an error is as probable as all other classes."""
        dist = self._estimator.predict_dist(rows)
        return Classes(dist.prob, 1 - dist.prob.max(axis=1), dist.regret)

    def shares(self, encoded: Encoded, rows: FloatArray, at: Places) -> FloatArray:
        """The shares of the places of each column, together."""
        members = [(NEVER_SEEN,), *(column.places for column in self._encoder.columns)]
        learner = learner_of(self._estimator)
        if isinstance(learner, KernelRidge):  # fewer columns than places, at a cost for each
            return fractions(learner.explain_groups(encoded.X, members))
        split = self._estimator.explain(encoded.X)
        return fractions(np.column_stack([split[:, list(m)].sum(axis=1) for m in members]))

    def _raised(self, X: FloatArray, regret: FloatArray) -> FloatArray:
        """Regrets, those of rows with something never seen above what they would be without it.

        pNML's own regret rises by itself. That of luckiness may fall where the prediction is far
        from 0, so what pNML's would rise by is added to its regret without the novelty. Other
        learners may not look at a direction without training rows at all; theirs rises by at
        least what pNML's would at the penalty 1.
        """
        strange = np.flatnonzero(X[:, NEVER_SEEN])
        if not len(strange):
            return regret
        ridge = ridge_in(self._estimator)
        rows = X[strange]
        novelty = rows[:, NEVER_SEEN] ** 2
        rows[:, NEVER_SEEN] = 0.0
        without = self._estimator.regret(rows)
        if ridge is not None and ridge.alpha > 0:
            leverage = ridge.geometry.leverage(rows, ridge.alpha)
            without = without + np.log1p(novelty / ridge.alpha / (1 + leverage))
        elif ridge is None:
            without = without + np.log1p(novelty)
        raised = regret.copy()
        raised[strange] = np.maximum(regret[strange], without)
        return raised


class CodedAnswers:
    """Answers of a wrapped model of trees, which takes codes of words and is read by its leaves.

    What was never seen has no leaf, so that it is put beside the leverage of the leaves.
    """

    def __init__(self, estimator: Any, encoder: Encoder) -> None:
        self._estimator, self._encoder = estimator, encoder

    def rows(self, encoded: Encoded) -> FloatArray:
        """A number or a code for each column."""
        return coded_rows(self._encoder, encoded)

    def read(self, encoded: Encoded) -> Any:
        """The rows with their leaves."""
        return self._estimator.learner_.base.read(self.rows(encoded))

    def amounts(self, rows: Any, encoded: Encoded) -> Amounts:
        """Answers of a regression; errors are those of rows left out."""
        learner = self._estimator.learner_
        dist = learner.predictive(learner.errors, rows)
        return Amounts(dist, dist.scale, dist.regret + np.log1p(_novelty(encoded)))

    def classes(self, rows: Any, encoded: Encoded) -> Classes:
        """Answers of a classification, with the probabilities of the model itself."""
        learner = self._estimator.learner_
        log_p = log_probabilities(learner.base.model, rows.X)
        leverage = (1 + learner.base.leverage(rows)) * (1 + _novelty(encoded)) - 1
        return Classes(np.exp(log_p), learner.wrong.at(log_p), softmax.regret(log_p, leverage))

    def shares(self, encoded: Encoded, rows: Any, at: Places) -> FloatArray:
        """The shares by the leaves, one number for each column."""
        split = self._estimator.learner_.base.shares(rows.mapped[at])
        return fractions(np.column_stack([_novelty(encoded), split]))


def _novelty(encoded: Encoded) -> FloatArray:
    """Squared distance (n,) of rows in the direction that no training row has."""
    novelty: FloatArray = encoded.X[:, NEVER_SEEN] ** 2
    return novelty
