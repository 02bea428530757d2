"""A learner together with how rows of a table become its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml.estimators.base import learner_of
from pnml.learners.protocol import Learner
from pnml.tables.encoder import NEVER_SEEN, BoolArray, Encoded, Encoder
from pnml.tables.explanation import Drivers, Explainer
from pnml.tables.learners import ridge_in
from pnml.tables.roles import Role, nearest
from pnml.tables.targets import Target


@dataclass(frozen=True)
class Outcome:
    """How the labels came out by a table's model; NaN where a row has none."""

    log_loss: FloatArray  # (n,) nats
    loss: FloatArray  # (n,) squared error, or 1 where the label is wrong
    covered: FloatArray  # (n,) whether the interval holds the label; NaN in classification


@dataclass(frozen=True)
class Answer:
    """What the estimator of a table's model says of each row."""

    prediction: npt.NDArray[Any]  # (n,) numbers or words
    strength: FloatArray  # (n,) the prediction, or the probability of the predicted class
    interval: FloatArray | None  # (n, 2); None in classification
    probabilities: FloatArray | None  # (n, classes); None in regression
    regret: FloatArray  # (n,) nats
    outcome: Outcome | None  # None where the batch has no labels


@dataclass(frozen=True)
class Scores:
    """What a table's model says of each row of a batch, and why."""

    answer: Answer
    prediction: pa.Array  # in the type of the target
    trusted: BoolArray  # (n,)
    never_seen: BoolArray  # (n,)
    drivers: Drivers
    because: pa.Array


@dataclass(frozen=True)
class TableModel:
    """The model of a table, which `pnml fit` learns and `pnml score` asks."""

    estimator: Any
    encoder: Encoder
    target: Target
    learner: str
    losses: tuple[tuple[str, float], ...]  # leave-one-out log-loss of the learners tried
    roles: tuple[Role, ...]
    types: tuple[tuple[str, str], ...]  # arrow types of the training columns
    id_columns: tuple[str, ...]
    rows: int
    remarks: tuple[str, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels of a classification, in the order of their probabilities."""
        if self.target.task == "regression":
            return ()
        return tuple(map(str, self.estimator.classes_))

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.estimator, self.encoder)

    @property
    def numeric_columns(self) -> list[str]:
        """Columns that must be read as numbers; times of day are told by their cells."""
        types = dict(self.types)
        return [name for name in self.encoder.numbers() if not types[name].startswith("time")]

    @property
    def text_columns(self) -> list[str]:
        """Columns that must be read as words, whatever they look like: 007 keeps its zeros."""
        target = [self.target.name] if "string" in self.target.kind else []
        return [*self.encoder.words(), *self.id_columns, *target]

    def threshold(self, level: float) -> float:
        """Regret up to which a row is trusted."""
        return float(self.estimator.reference_.thresholds(level).regret)

    def usual_share(self, level: float) -> float | None:
        """Share of the training rows that are trusted, each left out; None where it is `level`."""
        if self.target.task == "regression":
            return None
        return float(self.estimator.reference_.trusted_share(level))

    def check_columns(self, names: Iterable[str], table: str) -> None:
        """Raise where the table lacks columns that the model needs."""
        names = list(names)
        lacking = [name for name in self.encoder.used if name not in names]
        if not lacking:
            return
        listed = ", ".join(map(repr, lacking[:10])) + (", …" if len(lacking) > 10 else "")
        spare = [name for name in names if name not in self.encoder.names]
        meant = nearest(lacking[0], spare) if len(lacking) == 1 else None
        cure = "it" if len(lacking) == 1 else "them"
        hint = f"; is it called {meant!r} there?" if meant else f"; give a table that has {cure}."
        what = "column" if len(lacking) == 1 else f"{len(lacking)} columns"
        raise InputError(f"{table} lacks the {what} {listed} that the model learnt from{hint}")

    def score(self, batch: pa.RecordBatch, coverage: float, level: float) -> Scores:
        """Predictions, regrets and reasons; outcomes too where the batch has the target."""
        encoded = self.encoder.encode(batch)
        ask = self._classify if self.target.task == "classification" else self._regress
        answer = ask(batch, encoded.X, coverage)
        drivers = self._explainer.drivers(encoded)
        return Scores(
            answer=answer,
            prediction=self.target.cells(answer.prediction),
            trusted=self._trusted(answer, encoded, level),
            never_seen=encoded.never_seen,
            drivers=drivers,
            because=self._explainer.texts(drivers, encoded, batch),
        )

    def _trusted(self, answer: Answer, encoded: Encoded, level: float) -> BoolArray:
        """Rows (n,) that are like those of training, by the regrets that are known already."""
        evidence = self._learner.evidence(encoded.X, answer.regret)
        strange = encoded.never_seen
        if evidence.never_seen is not None:
            strange = strange | evidence.never_seen
        thresholds = self.estimator.reference_.thresholds(level)
        trusted: BoolArray = thresholds.trusts(evidence.regret, evidence.leverage, strange)
        return trusted

    @property
    def _learner(self) -> Learner:
        learner = learner_of(self.estimator)
        if learner is None:
            raise InputError(f"A {type(self.estimator).__name__} has no fitted learner; fit again.")
        return learner

    def _regress(self, batch: pa.RecordBatch, X: FloatArray, coverage: float) -> Answer:
        dist = self.estimator.predict_dist(X)
        interval = dist.interval(coverage)
        regret = self._raised(X, dist.regret)
        outcome = None
        if self.target.name in batch.schema.names:
            y = self.target.outcomes(batch.column(self.target.name))
            missing = np.isnan(y)
            covered = np.where(missing, np.nan, (interval[:, 0] <= y) & (y <= interval[:, 1]))
            with np.errstate(divide="ignore", invalid="ignore"):
                log_loss = -dist.log_prob(y)
            log_loss[np.isinf(dist.std) & ~missing] = np.inf
            outcome = Outcome(log_loss, (y - dist.mean) ** 2, covered)
        return Answer(dist.mean, dist.mean, interval, None, regret, outcome)

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
        ridge = ridge_in(self.estimator)
        rows = X[strange]
        novelty = rows[:, NEVER_SEEN] ** 2
        rows[:, NEVER_SEEN] = 0.0
        without = self.estimator.regret(rows)
        if ridge is not None and ridge.alpha > 0:
            leverage = ridge.geometry.leverage(rows, ridge.alpha)
            without = without + np.log1p(novelty / ridge.alpha / (1 + leverage))
        elif ridge is None:
            without = without + np.log1p(novelty)
        raised = regret.copy()
        raised[strange] = np.maximum(regret[strange], without)
        return raised

    def _classify(self, batch: pa.RecordBatch, X: FloatArray, coverage: float) -> Answer:
        dist = self.estimator.predict_dist(X)
        probabilities = dist.prob
        best = probabilities.argmax(axis=1)
        every = np.arange(len(best))
        outcome = None
        if self.target.name in batch.schema.names:
            words = self.target.outcomes(batch.column(self.target.name))
            place = {label: k for k, label in enumerate(self.classes)}
            label = np.array([place.get(word, -1) for word in words], dtype=np.intp)
            missing = np.array([word is None for word in words], dtype=bool)
            with np.errstate(divide="ignore"):
                log_loss = -np.log(np.where(label < 0, 0.0, probabilities[every, label]))
            outcome = Outcome(
                np.where(missing, np.nan, log_loss),
                np.where(missing, np.nan, label != best),
                np.full(len(best), np.nan),
            )
        prediction = np.array(self.classes, dtype=object)[best]
        strength = probabilities[every, best]
        return Answer(prediction, strength, None, probabilities, dist.regret, outcome)
