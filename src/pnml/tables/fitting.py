"""Fit a model to a table in one pass: roles of columns, encoded rows, their sums, learners."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.errors import MOST_PATH, InputError, shorten
from pnml.learners.one_step import OneStep
from pnml.tables.coded_rows import coded_rows, word_columns
from pnml.tables.column_roles import final_roles
from pnml.tables.comparison import (
    LearnerScore,
    baseline_of_classes,
    baseline_of_values,
    folded_score,
    left_out_score,
)
from pnml.tables.encoder import Encoder
from pnml.tables.encoder_builder import EncoderBuilder
from pnml.tables.first_rows import FirstRows, first_rows
from pnml.tables.fitted_table import FittedTable
from pnml.tables.labelled_rows import LabelledRows
from pnml.tables.learners import LEARNERS, MOST_ROWS, contenders, worth_trying
from pnml.tables.profile import profiles
from pnml.tables.roles import (
    SURVEY,
    Request,
    Role,
    check_request,
    infer,
    infer_task,
)
from pnml.tables.sampling import Reservoir, uniform_rows
from pnml.tables.table_statistic import TableStatistic
from pnml.tables.targets import Target, check_classes, survey_weights

_LOOK_BYTES = 2**28
_MOST_NUMBERS = 2**25  # in the encoded rows in memory
_CELL_SECONDS = 1.5e-5  # of a boosted model and its folds, measured on one core
_LONELY = 0.01  # share of rows with a missing pattern of their own, above which users are told


def fit_table(
    batches: Iterable[pa.RecordBatch], request: Request, learner: str, table: str
) -> FittedTable:
    """The model of a table that is read once, batch by batch.

    `request` says the target and the roles of other columns; `learner` is a name such as "pnml", or
    "auto" to choose among several; `table` is the name of the table in messages.

    Up to 100,000 rows are learnt in memory, to full accuracy. Longer tables are summed in a Gram
    (means and moments), with penalty and trust from a sample of the rows; learners that need the
    rows themselves get a uniform sample.
    """
    look, rest = first_look(iter(batches))
    if look is None:
        raise InputError(
            f"{shorten(table, MOST_PATH)} has no rows to learn from; give a table with some."
        )
    check_request(look.column_names, request, table)
    job = Job.of(look, request, learner, table)
    if rest is None or not job.streams:
        model = job.in_memory(look, rest)
    else:
        model = job.streamed(look, rest)
    return model


@dataclass
class Job:
    """One fit of a table: its columns, target and learners, as known after the first rows.

    `names` are the learners to try, `table` is the name of the table in messages, and `types` are
    the columns with their arrow types.
    """

    request: Request
    names: tuple[str, ...]
    table: str
    roles: list[Role]
    target: Target
    types: tuple[tuple[str, str], ...]
    unlabelled: int = 0  # rows left out
    weightless: int = 0
    lowest: float = -np.inf  # smallest label

    @classmethod
    def of(cls, look: pa.Table, request: Request, learner: str, table: str) -> Job:
        """The job of fitting a table, from its first rows `look` and the user's request.

        `learner` is the name of a learner, or "auto" for all that suit the task; `table` is the
        name of the table in messages. Raises InputError if the request cannot be met.
        """
        cells = look[request.target]
        task = infer_task(cells, request)
        target = Target.of(cells, request.target, task, log=request.log_target)
        names = contenders(learner, task, weighted=request.weight is not None)
        if request.weight and not all(LEARNERS[name].weighs for name in names):
            able = ", ".join(name for name, about in LEARNERS.items() if about.weighs)
            raise InputError(
                f"--learner {names[0]} takes no weights; leave --weight away, or pick one of "
                f"{able}."
            )
        types = tuple((field.name, str(field.type)) for field in look.schema)
        job = cls(request, names, table, [], target, types)
        job.roles = infer(look, request)
        return job

    @property
    def streams(self) -> bool:
        """Whether any learner to try can be fitted from a Gram (means and moments) alone."""
        return any(LEARNERS[name].streams for name in self.names)

    @property
    def most_sampled(self) -> int:
        """Rows to sample from a long table for learners that need rows; 0 if no learner does."""
        coded = [LEARNERS[name] for name in self.names if LEARNERS[name].make_coded is not None]
        return max((entry.rows for entry in coded), default=0)

    def in_memory(self, look: pa.Table, rest: Iterator[pa.RecordBatch] | None) -> FittedTable:
        """The model learnt from all rows in memory, or from a uniform sample of as many as fit.

        `look` are the first rows, `rest` the others; None if there are none.
        """
        limit = MOST_ROWS if len(self.names) > 1 else LEARNERS[self.names[0]].rows
        total, rows = look.num_rows, look
        if rest is not None or total > limit:
            rows, total = uniform_rows(chain(look.to_batches(), rest or ()), limit)
        labelled = self._labelled(rows)
        y, weights = labelled.y, self._weights(labelled)
        self.unlabelled, self.weightless = labelled.unlabelled, labelled.weightless
        self._refuse_too_few(len(y))
        builder = EncoderBuilder(self.roles, labelled.rows, weights)
        X = builder.encode(labelled.rows, weights)
        if X.size > _MOST_NUMBERS and self.streams:
            return self.streamed(look, None)
        if self.target.task == "classification":
            check_classes(y, self.target.name)
        else:
            self._refuse_constant(float(y[0]), bool(np.all(y == y[0])))
            self.lowest = float(y.min())
        self._refuse_useless(builder)
        finished = builder.finish()
        encoder, X = finished.encoder, finished.terms.rows(X)
        fitted: dict[str, Any] = {}
        scores: list[LearnerScore] = []
        for name in worth_trying(self.names, len(y)):
            if LEARNERS[name].make_coded is not None:
                fitted[name] = _fit_coded(name, encoder, labelled, weights)
            else:
                fitted[name] = _fitted(LEARNERS[name].make(), X, y, weights)
            if isinstance(getattr(fitted[name], "learner_", None), OneStep):
                scores.append(folded_score(name, fitted[name], X, y, weights))
            else:
                scores.append(left_out_score(name, fitted[name]))
        scores.append(self._baseline(y, weights))
        model = self._model(builder, encoder, fitted, scores, len(y), total)
        mean = None
        if labelled.weights is not None and self.request.weight_kind == SURVEY:
            mean = float(labelled.weights.mean())
        return replace(model, profiles=profiles(encoder, X), mean_weight=mean)

    def streamed(self, look: pa.Table, rest: Iterator[pa.RecordBatch] | None) -> FittedTable:
        """The model learnt batch by batch, from moments of all rows and a sample of them.

        `look` are the first rows, `rest` the others; None if there are none.
        """
        statistic = self.statistic(look)
        sample = Reservoir(self.most_sampled)
        for batch in chain(look.to_batches(), rest or ()):
            statistic.add(batch)
            if sample.size:
                sample.add(batch)
        return self.from_statistic(statistic, sample.rows() if sample.size else None)

    def statistic(self, look: pa.Table) -> TableStatistic:
        """An empty accumulator of sums over rows; `look`, the first rows, only fixes its units."""
        survey = self.request.weight_kind == SURVEY
        return TableStatistic(self.roles, self.target, self.request.weight, look, survey)

    def from_statistic(self, statistic: TableStatistic, sample: pa.Table | None) -> FittedTable:
        """The model of all rows that were added to a statistic (sums over the rows).

        `sample` holds rows for learners that cannot be fitted from sums; None: these are not tried.
        """
        self.unlabelled, self.weightless = statistic.unlabelled, statistic.weightless
        total, builder = statistic.total.high, statistic.builder
        self.lowest = statistic.lowest
        self._refuse_too_few(total.rows)
        mean = float(total.y_mean[0])
        self._refuse_constant(mean, bool(total.yy[0, 0] <= 1e-24 * total.weight * mean**2))
        self._refuse_useless(builder)
        gram, encoder = statistic.finish()
        streaming = [name for name in self.names if LEARNERS[name].streams]
        fitted = {name: LEARNERS[name].make().fit_gram(gram) for name in streaming}
        if sample is not None:
            labelled = self._labelled(sample)
            weights = self._weights(labelled)
            for name in worth_trying(self.names, len(labelled.y)):
                if LEARNERS[name].make_coded is not None:
                    fitted[name] = _fit_coded(name, encoder, labelled, weights)
        scores = [left_out_score(name, model) for name, model in fitted.items()]
        scores.append(baseline_of_values(mean, float(total.yy[0, 0]) / total.weight))
        model = self._model(builder, encoder, fitted, scores, gram.rows, gram.rows)
        known = profiles(encoder, gram.sample.rows[:, : encoder.width])
        return replace(model, profiles=known, mean_weight=statistic.mean_weight)

    def _baseline(self, y: Any, weights: FloatArray | None) -> LearnerScore:
        if self.target.task == "classification":
            return baseline_of_classes(y, weights)
        mean = float(np.average(y, weights=weights))
        return baseline_of_values(mean, float(np.average((y - mean) ** 2, weights=weights)))

    def _weights(self, labelled: LabelledRows) -> FloatArray | None:
        survey = self.request.weight_kind == SURVEY
        return survey_weights(labelled.weights) if survey else labelled.weights

    def _labelled(self, rows: pa.Table | pa.RecordBatch) -> LabelledRows:
        return LabelledRows.of(rows, self.target, self.request.weight)

    def _refuse_too_few(self, rows: int) -> None:
        if not rows and not self.weightless:
            raise InputError(
                f"The target {shorten(self.target.name)!r} holds no value at all; pick another "
                "--target."
            )
        if rows < 3:
            what = "row" if rows == 1 else "rows"
            raise InputError(
                f"{shorten(self.table, MOST_PATH)} has {rows} {what} with a value of "
                f"{shorten(self.target.name)!r}{' and a weight' if self.weightless else ''}, but "
                "each row is judged by the others; give at least 3."
            )

    def _refuse_constant(self, value: float, constant: bool) -> None:
        if constant:
            raise InputError(
                f"The target {shorten(self.target.name)!r} is {value:g} in every row, so there is "
                "nothing to predict; pick another --target."
            )

    def _refuse_useless(self, builder: EncoderBuilder) -> None:
        if builder.is_constant:
            raise InputError(
                f"Nothing can be learnt from {shorten(self.table, MOST_PATH)}, since every column "
                f"beside the target {shorten(self.target.name)!r} is empty, always the same or "
                "left out; give columns that vary."
            )

    def _model(
        self,
        builder: EncoderBuilder,
        encoder: Encoder,
        fitted: dict[str, Any],
        scores: list[LearnerScore],
        rows: int,
        total: int,
    ) -> FittedTable:
        tried = scores[:-1]
        best = min(tried, key=lambda score: score.log_loss).name
        return FittedTable(
            estimator=fitted[best],
            encoder=encoder,
            target=replace(self.target, least=0.0 if self.lowest >= 0 else None),
            learner=best,
            losses=tuple((score.name, score.log_loss) for score in tried),
            comparison=tuple(scores),
            roles=final_roles(self.roles, encoder),
            types=self.types,
            id_columns=self.request.id,
            rows=rows,
            remarks=tuple(self._remarks(builder, rows, total)),
        )

    def _remarks(self, builder: EncoderBuilder, rows: int, total: int) -> Iterator[str]:
        if self.unlabelled:
            name = shorten(self.target.name)
            yield f"{_rows(self.unlabelled)} without a value of {name!r} left out."
        if self.weightless:
            yield f"{_rows(self.weightless)} of weight 0 left out."
        if total > rows + self.unlabelled + self.weightless:
            yield f"Learnt from a uniform sample of {rows:,} of the {total:,} rows."
        elif rows > MOST_ROWS:
            yield (
                "The penalty, the noise and the line of trust come from a uniform sample of the "
                "rows, the rest from all of them."
            )
        if builder.lonely_patterns > _LONELY:
            yield (
                f"{builder.lonely_patterns:.0%} of the rows miss a set of columns that no other "
                "row misses, so about as many new rows will not be trusted for that alone."
            )


def _fitted(model: Any, X: FloatArray, y: Any, weights: FloatArray | None) -> Any:
    return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)


def _fit_coded(
    name: str, encoder: Encoder, labelled: LabelledRows, weights: FloatArray | None
) -> Any:
    """The learner of this name, fitted to codes of words as new rows will be coded."""
    make = LEARNERS[name].make_coded
    if make is None:
        raise InputError(f"{name} takes no codes; pick another learner.")
    rows = coded_rows(encoder, encoder.encode(labelled.rows))
    _warn_of_time(name, rows.size)
    return _fitted(make(word_columns(encoder)), rows, labelled.y, weights)


def _warn_of_time(name: str, cells: int) -> None:
    """Tell before a boosted model takes more than a minute."""
    minutes = round(cells * _CELL_SECONDS / 60)
    if minutes > 1:
        warnings.warn(
            f"The learner {name} takes about {minutes} minutes for {cells:,} cells; "
            "--learner pnml takes seconds.",
            stacklevel=2,
        )


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n:,} rows"


def first_look(batches: Iterator[pa.RecordBatch]) -> FirstRows:
    """The first rows of a table, at most 100,000 or 256 MiB, and an iterator over the others."""
    return first_rows(batches, MOST_ROWS, _LOOK_BYTES)
