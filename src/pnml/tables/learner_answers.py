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
    """Answers of a regression for n rows: distribution of the label, expected error and regret.

    `expected_error` (n,) is absolute, in units of the learnt label; `regret` (n,) is in nats.
    """

    dist: Any
    expected_error: FloatArray  # (n,)
    regret: FloatArray  # (n,)


class Classes(NamedTuple):
    """Answers of a classification for n rows: probabilities, expected error and regret.

    `probabilities` is (n, classes), `expected_error` (n,) the probability that the most probable
    class is wrong, and `regret` (n,) is in nats.
    """

    probabilities: FloatArray  # (n, classes)
    expected_error: FloatArray  # (n,)
    regret: FloatArray  # (n,)


class LearnerAnswers(Protocol):
    """What a table's model asks of its learner, whichever form of rows the learner takes."""

    def rows(self, encoded: Encoded) -> FloatArray:
        """Encoded rows as the learner takes them: (n, width) one-hot, or (n, columns) of codes."""

    def read(self, encoded: Encoded) -> Any:
        """Encoded rows prepared for the learner; the other methods take the result as `rows`."""

    def amounts(self, rows: Any, encoded: Encoded) -> Amounts:
        """Answers of a regression; something never seen in training raises a row's regret.

        `rows` is the result of `read` for `encoded`.
        """

    def classes(self, rows: Any, encoded: Encoded) -> Classes:
        """Answers of a classification; something never seen in training raises a row's regret.

        `rows` is the result of `read` for `encoded`.
        """

    def shares(self, encoded: Encoded, rows: Any, at: Places) -> FloatArray:
        """Shares (m, 1 + columns) of the leverage: of what was never seen, then of each column.

        `encoded` holds the m rows only, `rows` is the result of `read` for the whole batch, and
        `at` (m,) are the indices of the m rows in it.
        """


def answers_of(learner: str, estimator: Any, encoder: Encoder) -> LearnerAnswers:
    """The object that asks a fitted estimator, with rows in the form that its learner takes.

    `learner` is the name of the learner on the command line.
    """
    coded = LEARNERS[learner].make_coded is not None
    return CodedAnswers(estimator, encoder) if coded else OneHotAnswers(estimator, encoder)


class OneHotAnswers:
    """Answers of an estimator that takes encoded rows as they are; words are one-hot numbers."""

    def __init__(self, estimator: Any, encoder: Encoder) -> None:
        self._estimator, self._encoder = estimator, encoder

    def rows(self, encoded: Encoded) -> FloatArray:
        """The encoded rows (n, width), as they are."""
        return encoded.X

    def read(self, encoded: Encoded) -> FloatArray:
        """The encoded rows (n, width), as they are."""
        return encoded.X

    def amounts(self, rows: FloatArray, encoded: Encoded) -> Amounts:
        """Answers of a regression; the expected error is std · √(2/π), as of a normal."""
        dist = self._estimator.predict_dist(rows)
        return Amounts(dist, dist.std * np.sqrt(2 / np.pi), self._raised(rows, dist.regret))

    def classes(self, rows: FloatArray, encoded: Encoded) -> Classes:
        """Answers of a classification; the expected error is 1 − the largest probability."""
        dist = self._estimator.predict_dist(rows)
        return Classes(dist.prob, 1 - dist.prob.max(axis=1), dist.regret)

    def shares(self, encoded: Encoded, rows: FloatArray, at: Places) -> FloatArray:
        """Shares (m, 1 + columns) of the leverage: of what was never seen, then of each column.

        A column has the share of all its positions together. `encoded` holds the m rows; `rows` and
        `at` are not used.
        """
        members = [(NEVER_SEEN,), *(column.places for column in self._encoder.columns)]
        learner = learner_of(self._estimator)
        if isinstance(learner, KernelRidge):  # fewer columns than places, at a cost for each
            return fractions(learner.explain_groups(encoded.X, members))
        split = self._estimator.explain(encoded.X)
        return fractions(np.column_stack([split[:, list(m)].sum(axis=1) for m in members]))

    def _raised(self, X: FloatArray, regret: FloatArray) -> FloatArray:
        """Regrets (n,), raised for rows with something never seen if the learner's are too small.

        pNML's own regret rises by itself. The regret with luckiness may fall where the prediction
        is far from 0, so the rise of pNML's regret is added to its regret without the novelty.
        Other learners may ignore a direction without training rows; their regret rises by at least
        what pNML's regret would at penalty 1.
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
    """Answers of a model of trees, which takes one number, or the code of a word, per column.

    The leverage comes from the leaves that a row falls into. What was never seen in training has no
    leaf, so it is added to that leverage.
    """

    def __init__(self, estimator: Any, encoder: Encoder) -> None:
        self._estimator, self._encoder = estimator, encoder

    def rows(self, encoded: Encoded) -> FloatArray:
        """Rows (n, columns) with a number, or the code of a word, for each column."""
        return coded_rows(self._encoder, encoded)

    def read(self, encoded: Encoded) -> Any:
        """The coded rows together with the leaves of the trees that they fall into."""
        return self._estimator.learner_.base.read(self.rows(encoded))

    def amounts(self, rows: Any, encoded: Encoded) -> Amounts:
        """Answers of a regression; expected errors are learnt from training rows left out."""
        learner = self._estimator.learner_
        dist = learner.predictive(learner.errors, rows)
        return Amounts(dist, dist.scale, dist.regret + np.log1p(_novelty(encoded)))

    def classes(self, rows: Any, encoded: Encoded) -> Classes:
        """Answers of a classification, with the probabilities of the model itself.

        Expected errors are learnt from training rows left out.
        """
        learner = self._estimator.learner_
        log_p = log_probabilities(learner.base.model, rows.X)
        leverage = (1 + learner.base.leverage(rows)) * (1 + _novelty(encoded)) - 1
        return Classes(np.exp(log_p), learner.wrong.at(log_p), softmax.regret(log_p, leverage))

    def shares(self, encoded: Encoded, rows: Any, at: Places) -> FloatArray:
        """Shares (m, 1 + columns) of the leverage: of what was never seen, then of each column.

        `encoded` holds the m rows, which have the indices `at` (m,) in `rows`, the result of
        `read`.
        """
        split = self._estimator.learner_.base.shares(rows.mapped[at])
        return fractions(np.column_stack([_novelty(encoded), split]))


def _novelty(encoded: Encoded) -> FloatArray:
    """Number (n,) of cells and sets of gaps in each row that training never had."""
    novelty: FloatArray = encoded.X[:, NEVER_SEEN] ** 2
    return novelty
