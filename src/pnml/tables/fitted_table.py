"""A learner together with how rows of a table become its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pnml.core.arrays import FloatArray
from pnml.core.conditions import ANY_NUMBER
from pnml.core.trust import Evidence, Thresholds
from pnml.errors import InputError
from pnml.estimators.base import learner_of
from pnml.learners.protocol import Learner
from pnml.tables.comparison import LearnerScore
from pnml.tables.encoder import BoolArray, Encoded, Encoder, NumberColumn
from pnml.tables.explanation import Drivers, Explainer
from pnml.tables.learner_answers import LearnerAnswers, answers_of
from pnml.tables.main_reasons import main_reasons
from pnml.tables.profile import ColumnProfile
from pnml.tables.roles import Role, nearest
from pnml.tables.scores import Answer, Outcome, Scores
from pnml.tables.targets import Target

USUAL = "like the training rows"


@dataclass(frozen=True)
class FittedTable:
    """The model of a table, which `pnml fit` learns and `pnml score` asks.

    `estimator` is the fitted learner, `encoder` turns rows of a table into its numbers, `losses`
    are the learners tried with their leave-one-out log-losses in nats.
    """

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
    mean_weight: float | None = None  # of weights of a survey before they were scaled; None: none

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels of a classification, in the order of their probabilities; () for a regression."""
        if self.target.task == "regression":
            return ()
        return tuple(map(str, self.estimator.classes_))

    @property
    def is_of_use(self) -> bool | None:
        """Whether the model beat a constant guess on rows left out; None if that is unknown."""
        ours = [score for score in self.comparison if score.name == self.learner]
        return ours[0].log_loss < self.comparison[-1].log_loss if ours else None

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.estimator, self.encoder, self._answers)

    @cached_property
    def _answers(self) -> LearnerAnswers:
        return answers_of(self.learner, self.estimator, self.encoder)

    @property
    def numeric_columns(self) -> list[str]:
        """Names of columns to be read as numbers; those of times are in `time_columns`."""
        types = dict(self.types)
        return [name for name in self.encoder.numbers() if not types[name].startswith("time")]

    @property
    def date_columns(self) -> dict[str, bool | None]:
        """Names of columns to be read as dates, and whether with a time zone; None: unknown."""
        columns = self.encoder.columns
        dates = (c for c in columns if isinstance(c, NumberColumn) and c.is_date)
        return {column.name: column.has_zone for column in dates}

    @property
    def time_columns(self) -> list[str]:
        """Names of columns to be read as times of day."""
        kinds = dict(self.types)
        return [name for name in self.encoder.numbers() if kinds[name].startswith("time")]

    @property
    def text_columns(self) -> list[str]:
        """Names of columns to be read as words, whatever they look like: 007 keeps its zeros."""
        target = [self.target.name] if "string" in self.target.kind else []
        return [*self.encoder.words(), *self.id_columns, *target]

    def threshold(self, level: float) -> float:
        """Regret, in nats, up to which a row is trusted, at a level of trust such as 0.99."""
        return self._limits(level).regret

    @cached_property
    def _known_limits(self) -> dict[float, Thresholds]:
        return {}

    def _limits(self, level: float) -> Thresholds:
        """Largest regret, leverage and excess of trusted rows at a level, computed once."""
        if level not in self._known_limits:
            self._known_limits[level] = self.estimator.reference_.thresholds(level)
        return self._known_limits[level]

    def usual_share(self, level: float) -> float | None:
        """Share of the training rows, each left out, that are trusted; None for a regression.

        `level` is the level of trust, such as 0.99; in a regression this share is `level` itself.
        """
        if self.target.task == "regression":
            return None
        return float(self.estimator.reference_.trusted_share(level))

    def check_columns(self, names: Iterable[str], table: str) -> None:
        """Raise InputError if a table lacks columns that the model needs.

        `names` are the columns of the table, `table` is its name in the message.
        """
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

    def rows_of(self, encoded: Encoded) -> FloatArray:
        """Encoded rows as the learner takes them: (n, width) one-hot, or (n, columns) of codes."""
        return self._answers.rows(encoded)

    def score(self, batch: pa.RecordBatch, coverage: float, level: float) -> Scores:
        """Predictions, regrets and reasons for a batch; outcomes too if the batch has the target.

        `coverage` is that of the intervals, such as 0.9; `level` is the level of trust, such as
        0.99.
        """
        encoded = self.encoder.encode(batch)
        rows = self._answers.read(encoded)
        ask = self._classify if self.target.task == "classification" else self._regress
        answer = ask(batch, rows, encoded, coverage)
        evidence = self._evidence(answer, encoded, rows)
        limits = self._limits(level)
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
        """The columns that drive each row's regret, as numbers and as a sentence.

        To find them costs a model that is not linear ten times its prediction, so that only rows
        that are not trusted, and the tenth of ordinary rows with the largest regrets, have reasons.
        """
        if self._explainer.is_cheap:
            drivers = self._explainer.drivers(encoded, rows, np.arange(len(trusted)))
            return drivers, self._explainer.texts(drivers, encoded, batch)
        n = len(trusted)
        asked = ~trusted | (answer.regret > self._usual)
        at = np.flatnonzero(asked)
        because = pa.array(np.full(n, USUAL, dtype=object), pa.string())
        if not len(at):
            return self._explainer.none(n), because
        some = encoded.at(at)
        drivers = self._explainer.drivers(some, rows, at)
        texts = self._explainer.texts(drivers, some, batch.take(pa.array(at)))
        because = pc.replace_with_mask(because, pa.array(asked), texts)
        return self._explainer.spread(drivers, at, n), because

    @cached_property
    def _usual(self) -> float:
        """Regret, in nats, that nine of ten training rows do not exceed."""
        return float(np.quantile(self.estimator.reference_.regrets, 0.9))

    def _evidence(self, answer: Answer, encoded: Encoded, rows: Any) -> Evidence:
        """What the verdict on each row is based on: regret, leverage, and what was never seen."""
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
        dist, expected, regret = self._answers.amounts(rows, encoded)
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

    def _classify(
        self, batch: pa.RecordBatch, rows: Any, encoded: Encoded, coverage: float
    ) -> Answer:
        probabilities, expected, regret = self._answers.classes(rows, encoded)
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
