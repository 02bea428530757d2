"""A learner together with how rows of a table become its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pnml.core import softmax
from pnml.core.arrays import FloatArray
from pnml.core.conditions import ANY_NUMBER
from pnml.core.trust import Evidence
from pnml.errors import InputError
from pnml.estimators.base import learner_of
from pnml.learners.last_step import log_probabilities
from pnml.learners.protocol import Learner
from pnml.tables.coded_rows import coded_rows
from pnml.tables.comparison import LearnerScore
from pnml.tables.encoder import NEVER_SEEN, BoolArray, Encoded, Encoder
from pnml.tables.explanation import Drivers, Explainer
from pnml.tables.learners import LEARNERS, ridge_in
from pnml.tables.main_reasons import main_reasons
from pnml.tables.profile import ColumnProfile
from pnml.tables.roles import Role, nearest
from pnml.tables.scores import Answer, Outcome, Scores
from pnml.tables.targets import Target

USUAL = "like the training rows"


@dataclass(frozen=True)
class FittedTable:
    """The model of a table, which `pnml fit` learns and `pnml score` asks."""

    estimator: Any
    encoder: Encoder
    target: Target
    learner: str
    losses: tuple[
        tuple[str, Annotated[float, ANY_NUMBER]], ...
    ]  # leave-one-out log-loss of the learners tried
    roles: tuple[Role, ...]
    types: tuple[tuple[str, str], ...]  # arrow types of the training columns
    id_columns: tuple[str, ...]
    rows: int
    remarks: tuple[str, ...]
    # how those learners, and last a constant guess, do on rows left out; () in files of format 1
    comparison: tuple[LearnerScore, ...] = ()
    profiles: tuple[ColumnProfile, ...] = ()  # of the columns of the encoder; the same

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
    def date_columns(self) -> list[str]:
        """Columns that must be read as dates."""
        columns = self.encoder.columns
        return [column.name for column in columns if getattr(column, "is_date", False)]

    @property
    def time_columns(self) -> list[str]:
        """Columns that must be read as times of day."""
        kinds = dict(self.types)
        return [name for name in self.encoder.numbers() if kinds[name].startswith("time")]

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

    @property
    def is_coded(self) -> bool:
        """Whether the learner takes codes of words, as trees do, and not one-hot numbers."""
        return LEARNERS[self.learner].make_coded is not None

    def rows_of(self, encoded: Encoded) -> FloatArray:
        """Encoded rows in the form that the learner takes."""
        return coded_rows(self.encoder, encoded) if self.is_coded else encoded.X

    def score(self, batch: pa.RecordBatch, coverage: float, level: float) -> Scores:
        """Predictions, regrets and reasons; outcomes too where the batch has the target."""
        encoded = self.encoder.encode(batch)
        rows = self.rows_of(encoded)
        if self.is_coded:  # read once for all questions
            rows = self.estimator.learner_.base.read(rows)
        ask = self._classify if self.target.task == "classification" else self._regress
        answer = ask(batch, rows, encoded, coverage)
        evidence = self._evidence(answer, encoded, rows)
        limits = self.estimator.reference_.thresholds(level)
        trusted: BoolArray = limits.trusts(*evidence)
        drivers, because = self._reasons(batch, rows, encoded, answer, trusted)
        return Scores(
            answer=answer,
            prediction=self.target.cells(answer.prediction),
            trusted=trusted,
            never_seen=encoded.never_seen,
            encoded=encoded,
            drivers=drivers,
            because=because,
            reason=main_reasons(self.encoder, encoded, drivers, evidence, limits, trusted),
        )

    def _reasons(
        self,
        batch: pa.RecordBatch,
        rows: Any,
        encoded: Encoded,
        answer: Answer,
        trusted: BoolArray,
    ) -> tuple[Drivers, pa.Array]:
        """The columns that drive each row's regret, and in words.

        To find them costs a model that is not linear ten times its prediction, so that only rows
        that are not trusted, and the tenth of ordinary rows with the largest regrets, have reasons.
        """
        if self._explainer.is_cheap:
            drivers = self._explainer.drivers(encoded, rows)
            return drivers, self._explainer.texts(drivers, encoded, batch)
        n = len(trusted)
        asked = ~trusted | (answer.regret > self._usual)
        at = np.flatnonzero(asked)
        because = pa.array(np.full(n, USUAL, dtype=object), pa.string())
        if not len(at):
            return self._explainer.none(n), because
        some = encoded.at(at)
        drivers = self._explainer.drivers(some, self.rows_of(some))
        texts = self._explainer.texts(drivers, some, batch.take(pa.array(at)))
        because = pc.replace_with_mask(because, pa.array(asked), texts)
        return self._explainer.spread(drivers, at, n), because

    @cached_property
    def _usual(self) -> float:
        """Regret that nine of ten training rows do not pass."""
        return float(np.quantile(self.estimator.reference_.regrets, 0.9))

    def _evidence(self, answer: Answer, encoded: Encoded, rows: Any) -> Evidence:
        """What the verdict on rows looks at, by the regrets that are known already."""
        evidence = self._learner.evidence(rows, answer.regret)
        strange = encoded.never_seen
        if evidence.never_seen is not None:
            strange = strange | evidence.never_seen
        return evidence._replace(never_seen=strange)

    @property
    def _learner(self) -> Learner:
        learner = learner_of(self.estimator)
        if learner is None:
            raise InputError(f"A {type(self.estimator).__name__} has no fitted learner; fit again.")
        return learner

    def _regress(
        self, batch: pa.RecordBatch, rows: Any, encoded: Encoded, coverage: float
    ) -> Answer:
        if self.is_coded:
            learner = self.estimator.learner_
            dist = learner.predictive(learner.errors, rows)
            expected = dist.scale
            regret = dist.regret + np.log1p(encoded.X[:, NEVER_SEEN] ** 2)
        else:
            dist = self.estimator.predict_dist(rows)
            expected = dist.std * np.sqrt(2 / np.pi)
            regret = self._raised(rows, dist.regret)
        interval = self.target.amounts(dist.interval(coverage))
        prediction = self.target.amounts(dist.mean)
        expected = self.target.error_in_amounts(dist.mean, expected)
        outcome = None
        if self.target.name in batch.schema.names:
            y = self.target.outcomes(batch.column(self.target.name))
            missing = ~np.isfinite(y)
            y = np.where(missing, np.nan, y)
            amounts = self.target.amounts(y)
            covered = (interval[:, 0] <= amounts) & (amounts <= interval[:, 1])
            with np.errstate(divide="ignore", invalid="ignore"):
                log_loss = -dist.log_prob(y) + self.target.log_slope(y)
            log_loss[np.isinf(dist.std) & ~missing] = np.inf
            outcome = Outcome(
                np.where(missing, np.nan, log_loss),
                (amounts - prediction) ** 2,
                np.where(missing, np.nan, covered),
                np.where(missing, np.nan, np.abs(2 * dist.cdf(y) - 1)),
            )
        return Answer(prediction, prediction, interval, None, expected, regret, outcome)

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

    def _classify(
        self, batch: pa.RecordBatch, rows: Any, encoded: Encoded, coverage: float
    ) -> Answer:
        if self.is_coded:
            learner = self.estimator.learner_
            log_p = log_probabilities(learner.base.model, rows.X)
            probabilities = np.exp(log_p)
            novelty = encoded.X[:, NEVER_SEEN] ** 2
            leverage = (1 + learner.base.leverage(rows)) * (1 + novelty) - 1
            regret = softmax.regret(log_p, leverage)
            expected = learner.wrong.at(log_p)
        else:
            dist = self.estimator.predict_dist(rows)
            probabilities, regret = dist.prob, dist.regret
            expected = 1 - probabilities.max(axis=1)
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
                np.full(len(best), np.nan),
            )
        prediction = np.array(self.classes, dtype=object)[best]
        strength = probabilities[every, best]
        return Answer(prediction, strength, None, probabilities, expected, regret, outcome)
