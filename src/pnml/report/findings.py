"""The content of a report: plain values, bounded in size for tables of any length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray


@dataclass(frozen=True)
class ModelFacts:
    """The model in words and numbers."""

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
class Row:
    """One row of the new table, as the report lists it."""

    number: int  # 1 = the first row below the header
    id: str  # text of the --id columns, "" without any
    prediction: str
    interval: str  # "" in classification
    regret: float
    trusted: bool
    because: str
    cells: tuple[tuple[str, str], ...]  # (column, value) of the columns that drive the regret


@dataclass(frozen=True)
class Group:
    """Results of the trusted, the untrusted, or all rows. NaN where not defined."""

    name: str  # "trusted", "not trusted", "all rows"
    rows: int  # with a label
    coverage: float  # share of labels inside their interval; NaN in classification
    log_loss: float  # mean, nats
    error: float  # root mean squared error, or share of wrong labels


@dataclass(frozen=True)
class Findings:
    """The new table as the model sees it."""

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
    # a uniform sample of the new rows, at most a few thousand, for the charts
    prediction: FloatArray  # (s,) numbers; in classification the probability of the prediction
    regret: FloatArray  # (s,)
    is_trusted: npt.NDArray[np.bool_]  # (s,)
    loss: FloatArray | None  # (s,) squared error or 0/1 error; None where labels are not known
    least_trusted: tuple[Row, ...]  # the largest regrets first
    groups: tuple[Group, ...]  # () where labels are not known
    warnings: tuple[str, ...]  # one sentence each, about the new table
