"""Findings about a new table, and the class that collects them while it is scored."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pnml.core.arrays import FloatArray
from pnml.report.listed_rows import Row, RowReader
from pnml.report.quality import LabelTally, Quality
from pnml.report.reasons import Reason, Reasons
from pnml.tables import describe
from pnml.tables.drift import Drift, DriftRow
from pnml.tables.fitted_table import FittedTable
from pnml.tables.scores import Scores
from pnml.tables.summary import Summary, Tally

__all__ = ["DriftRow", "Findings", "Gatherer", "Group", "ModelFacts", "Quality", "Reason", "Row"]


@dataclass(frozen=True)
class ModelFacts:
    """The part of the findings that is about the model and its training rows."""

    facts: tuple[tuple[str, str], ...]  # (name, value), in the order to be shown
    columns: tuple[tuple[str, str, str], ...]  # (column, role, remark), one per training column
    remarks: tuple[str, ...]  # one sentence each: what was left out and why
    singular_values: FloatArray  # (r,) of the standardised training rows, largest first
    penalty: float  # α; it dominates directions with singular value² below it
    regrets: FloatArray  # (m,) leave-one-out regrets of training rows, inf among them
    threshold: float  # regret up to which a row is trusted
    level: float  # quantile of the training regrets that the threshold is
    usual: float | None = None  # share of training rows trusted, where more than the regret counts


@dataclass(frozen=True)
class Group:
    """Errors of the model on one group of rows: trusted, not trusted, or all. NaN if undefined."""

    name: str  # "trusted", "not trusted", "all rows"
    rows: int  # with a label
    coverage: float  # share of labels inside their interval; NaN in classification
    log_loss: float  # mean, nats
    error: float  # root mean squared error, or share of wrong labels


@dataclass(frozen=True)
class Findings:
    """All that a report shows: what a model says of a new table, and of itself."""

    title: str  # names of the model file and of the table
    task: str  # "regression" or "classification"
    target: str
    coverage: float  # of the intervals
    model: ModelFacts
    rows: int
    trusted: int
    never_seen: int  # rows with a category or a missing pattern never seen in training
    infinite: int  # rows of infinite regret
    mean_regret: float  # of the rows of finite regret
    # a uniform sample of s new rows, at most a few thousand, for the charts
    prediction: FloatArray  # (s,) numbers; in classification the probability of the prediction
    regret: FloatArray  # (s,)
    is_trusted: npt.NDArray[np.bool_]  # (s,)
    loss: FloatArray | None  # (s,) squared error or 0/1 error; None where labels are not known
    least_trusted: tuple[Row, ...]  # those not trusted first, and each group by severity
    groups: tuple[Group, ...]  # () where labels are not known
    warnings: tuple[str, ...]  # one sentence each, about the new table
    bad_cells: int = 0  # cells that cannot be read
    reasons: tuple[Reason, ...] = ()  # why rows are not trusted, most rows first
    drift: tuple[DriftRow, ...] = ()
    quality: tuple[Quality, ...] = ()
    of_use: bool | None = None  # whether the model beat a guess on training rows left out
    verdict_on_model: str = ""  # a sentence where it did not, and one where it does not here
    expected_error: FloatArray | None = None  # (s,) of the sample
    calibration: tuple[tuple[float, float], ...] = ()  # (nominal, covered) shares of intervals


_LISTED = 100
_TRAINING = 4000


class Gatherer:
    """Collects the findings about a table, batch by batch, while it is scored."""

    def __init__(self, model: FittedTable, title: str, coverage: float, level: float) -> None:
        self._model, self._title = model, title
        self._coverage, self._level = coverage, level
        self.summary = Summary()
        self._worst: list[tuple[tuple[bool, float, int], Row]] = []  # a heap, best row first
        self._reader = RowReader(model)
        self._reasons = Reasons()
        self._drift = Drift(model.encoder, model.profiles, model.rows)
        self._labels = LabelTally(model.target.task)

    def add(self, batch: pa.RecordBatch, scores: Scores) -> None:
        """Add a batch of the table's rows, and the scores that the model gave them."""
        offset = self.summary.rows
        self.summary.add(scores)
        self._drift.add(scores.encoded)
        reasons = scores.reason
        self._reasons.add(batch, scores, reasons, offset, self._reader)
        self._add_worst(batch, scores, reasons, offset)
        outcome = scores.answer.outcome
        if outcome is not None:
            target = self._model.target
            labels = target.outcomes(batch.column(target.name))
            if target.task == "regression":
                labels = target.amounts(labels)
            self._labels.add(labels, outcome.loss)

    def _add_worst(
        self, batch: pa.RecordBatch, scores: Scores, reasons: pa.Array, offset: int
    ) -> None:
        severity = np.nan_to_num(scores.severity, posinf=1e300)
        key = np.where(scores.trusted, severity, severity + 1e6)  # rows not trusted come first
        candidates = np.arange(len(key))
        if len(key) > _LISTED:
            candidates = np.argpartition(-key, _LISTED)[:_LISTED]
        worst_first = candidates[np.lexsort((candidates, -key[candidates]))]
        for i in worst_first.tolist():
            number = offset + i + 1
            rank = (not scores.trusted[i], float(severity[i]), -number)
            if len(self._worst) == _LISTED and rank <= self._worst[0][0]:
                break
            reason = reasons[i].as_py() or ""
            item = (rank, self._reader.row(batch, scores, i, number, reason))
            if len(self._worst) < _LISTED:
                heapq.heappush(self._worst, item)
            else:
                heapq.heapreplace(self._worst, item)

    def findings(self) -> Findings:
        """The findings about all rows that were added so far."""
        summary, model = self.summary, self._model
        return Findings(
            title=self._title,
            task=model.target.task,
            target=model.target.name,
            coverage=self._coverage,
            model=self._model_facts(),
            rows=summary.rows,
            trusted=summary.trusted.rows,
            never_seen=summary.never_seen,
            infinite=summary.infinite,
            mean_regret=summary.mean_regret,
            prediction=summary.sampled("strength"),
            regret=summary.sampled("regret"),
            is_trusted=summary.sampled("trusted").astype(bool),
            loss=summary.sampled("loss") if summary.labelled else None,
            least_trusted=tuple(row for _, row in sorted(self._worst, key=_rank, reverse=True)),
            groups=self._groups(),
            warnings=(),
            bad_cells=summary.bad_cells,
            reasons=self._reasons.listed(summary.rows),
            quality=self._labels.qualities(),
            of_use=model.is_of_use,
            verdict_on_model=" ".join(
                filter(None, [describe.warning_of_use(model), self._labels.verdict()])
            ),
            expected_error=summary.sampled("expected_error") if summary.rows else None,
            calibration=summary.calibration,
            drift=self._drift.table(),
        )

    def _model_facts(self) -> ModelFacts:
        model = self._model
        regrets = np.asarray(model.estimator.reference_.regrets)
        if len(regrets) > _TRAINING:
            regrets = np.random.default_rng(0).choice(regrets, _TRAINING, replace=False)
        return ModelFacts(
            facts=tuple(describe.facts(model, self._level)),
            columns=tuple(describe.columns(model)),
            remarks=(*model.remarks, *describe.left_out(model)),
            singular_values=describe.singular_values(model),
            penalty=describe.penalty(model),
            regrets=regrets,
            threshold=model.threshold(self._level),
            level=self._level,
            usual=model.usual_share(self._level),
        )

    def _groups(self) -> tuple[Group, ...]:
        summary = self.summary
        if not summary.labelled:
            return ()
        parts = {
            "trusted": summary.trusted,
            "not trusted": summary.untrusted,
            "all rows": summary.all,
        }
        return tuple(self._group(name, tally) for name, tally in parts.items())

    def _group(self, name: str, tally: Tally) -> Group:
        loss = tally.mean(tally.loss)
        return Group(
            name=name,
            rows=tally.labelled,
            coverage=tally.mean(tally.covered),
            log_loss=tally.mean(tally.log_loss),
            error=float(np.sqrt(loss)) if self._model.target.task == "regression" else loss,
        )


def _rank(item: tuple[tuple[bool, float, int], Row]) -> tuple[bool, float, int]:
    return item[0]
