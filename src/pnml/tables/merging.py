"""Merge models of tables into the model of all their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pnml.core.statistic.exact_sum import merged
from pnml.core.statistic.gram import Gram
from pnml.errors import InputError, shorten
from pnml.tables.column_roles import merged_roles
from pnml.tables.comparison import baseline_of_values, left_out_score
from pnml.tables.encoder import (
    NEVER_SEEN,
    BoolArray,
    Encoder,
    NumberColumn,
    Patterns,
)
from pnml.tables.fitted_table import FittedTable
from pnml.tables.learners import LEARNERS
from pnml.tables.merged_columns import joined_column, kind_of, move, zones_of
from pnml.tables.profile import profiles
from pnml.tables.targets import Target

_MOST_PATTERNS = 100_000


def merge_tables(models: Sequence[FittedTable], names: Sequence[str]) -> FittedTable:
    """The model of all training rows of several models; `names` of the models are for messages.

    The sums over the rows of each model are mapped to common columns, Eq. (B3): with the words of
    all models, and the mean and spread of all rows. Every learner that one of the models tried is
    fitted anew, and the best one is kept. Survey weights, which each model scaled to sum to its
    number of rows, are brought back to their own unit, and then scaled to sum to the number of all
    rows.
    """
    for model, name in zip(models, names, strict=True):
        _refuse_unlike(models[0], model, names[0], name)
    shared = _shared([model.encoder for model in models])
    total, mean_weight = _all_rows(models, shared)
    total, encoder = _standardised(total, shared)
    tried = dict.fromkeys(name for model in models for name, _ in model.losses)
    fitted = {
        name: LEARNERS[name].make().fit_gram(total) for name in tried if LEARNERS[name].streams
    }
    scores = [left_out_score(name, model) for name, model in fitted.items()]
    best = min(scores, key=lambda score: score.log_loss).name
    spread = float(total.yy[0, 0]) / total.weight
    remarks = dict.fromkeys(remark for model in models for remark in model.remarks)
    return replace(
        models[0],
        estimator=fitted[best],
        encoder=encoder,
        target=_target([model.target for model in models]),
        learner=best,
        losses=tuple((score.name, score.log_loss) for score in scores),
        comparison=(*scores, baseline_of_values(float(total.y_mean[0]), spread)),
        profiles=profiles(encoder, total.sample.rows[:, : encoder.width]),
        roles=merged_roles([model.roles for model in models], encoder),
        rows=total.rows,
        remarks=(*remarks, f"Put together from {len(models)} models."),
        mean_weight=mean_weight,
    )


def _all_rows(models: Sequence[FittedTable], shared: Encoder) -> tuple[Gram, float | None]:
    """The Gram of the rows of all models, and the mean of their survey weights or None."""
    grams = [_moved(_gram(model.estimator), model.encoder, shared) for model in models]
    means = [model.mean_weight for model in models if model.mean_weight is not None]
    if not means:
        return merged(grams).gram(), None
    own = [gram.reweighted(mean, whole=False) for gram, mean in zip(grams, means, strict=True)]
    total = merged(own).gram()
    equal = all(gram.whole for gram in grams) and len(set(means)) == 1
    mean = total.weight / total.rows
    return total.reweighted(1 / mean, whole=equal), mean


def _target(targets: Sequence[Target]) -> Target:
    """The target of all models; predictions have a bound where all models have it."""
    least = targets[0].least if len({target.least for target in targets}) == 1 else None
    return replace(targets[0], least=least)


def _gram(estimator: Any) -> Gram:
    gram: Gram = estimator._counted()
    return gram


def _refuse_unlike(first: FittedTable, other: FittedTable, name: str, other_name: str) -> None:
    for model, called in ((first, name), (other, other_name)):
        if not LEARNERS[model.learner].streams:
            raise InputError(
                f"{called} is of the learner {model.learner!r}, whose rows do not add up; only "
                "pnml, lpnml and ols can be put together: fit one model to all rows instead."
            )
    if first.target.name != other.target.name:
        raise InputError(
            f"{other_name} predicts {shorten(other.target.name)!r} but {name} "
            f"{shorten(first.target.name)!r}; put together models of one target."
        )
    if first.target.log != other.target.log:
        raise InputError(
            f"One of {name} and {other_name} has learnt the logarithm of "
            f"{shorten(first.target.name)!r} and the other has not; fit both with --log-target, or "
            "both without."
        )
    if (first.mean_weight is None) != (other.mean_weight is None):
        raise InputError(
            f"One of {name} and {other_name} has weights of a survey and the other has none, or "
            "copies, so that their rows do not count alike; fit both with the same --weight and "
            "--weight-kind."
        )
    ours, theirs = ({c.name: kind_of(c) for c in m.encoder.columns} for m in (first, other))
    for column in dict.fromkeys([*ours, *theirs]):
        kinds = {ours.get(column), theirs.get(column)} - {"gap"}
        if len(kinds) > 1:
            raise InputError(
                f"{other_name} and {name} do not both have {shorten(column)!r} as the same kind of "
                "column; fit both with the same columns, naming them with --categorical and --drop."
            )
    for column in ours:
        same = [c for m in (first, other) for c in m.encoder.columns if c.name == column]
        if len(zones_of(same) - {None}) > 1:
            raise InputError(
                f"The dates of {shorten(column)!r} name a time zone in one of {name} and "
                f"{other_name} but not in the other; fit both with dates of one kind."
            )


def _shared(encoders: Sequence[Encoder]) -> Encoder:
    """The columns of the first encoder, with the words and missing indicators of all."""
    width = NEVER_SEEN + 1
    columns = []
    for column in encoders[0].columns:
        same = [next(c for c in e.columns if c.name == column.name) for e in encoders]
        columns.append(joined_column(same, width))
        width += len(columns[-1].places)
    return Encoder(tuple(columns), width, _patterns(encoders))


def _patterns(encoders: Sequence[Encoder]) -> Patterns:
    """Sets of columns that were missing together in any of them."""
    names = encoders[0].names
    patterns: list[BoolArray] = []
    for encoder in encoders:
        seen = encoder.patterns.seen
        if seen is None:
            return Patterns(None)
        patterns.append(seen[:, [encoder.names.index(name) for name in names]])
    every = np.unique(np.vstack(patterns), axis=0)
    return Patterns(every if len(every) <= _MOST_PATTERNS else None)


def _moved(gram: Gram, encoder: Encoder, shared: Encoder) -> Gram:
    """The Gram of the same rows, encoded by `shared`. Eq. (B3)."""
    A, b = np.zeros((shared.width, encoder.width)), np.zeros(shared.width)
    A[NEVER_SEEN, NEVER_SEEN] = 1.0
    theirs = {column.name: column for column in encoder.columns}
    for new in shared.columns:
        move(A, b, new, theirs[new.name])
    return gram.mapped(A, b)


def _standardised(gram: Gram, encoder: Encoder) -> tuple[Gram, Encoder]:
    """Gram and encoder with numbers centred and scaled by the mean and spread of all rows."""
    columns = []
    for column in encoder.columns:
        if isinstance(column, NumberColumn):
            v, m = column.value, column.missing
            there = gram.weight * (1.0 if m is None else 1.0 - float(gram.x_mean[m]))
            mean = gram.weight * float(gram.x_mean[v]) / there
            squares = float(gram.xx[v, v]) + gram.weight * float(gram.x_mean[v]) ** 2
            spread = float(np.sqrt(max(squares / there - mean**2, 0.0))) or 1.0
            fill = column.fill + column.scale * mean
            column = replace(column, fill=fill, scale=column.scale * spread)
        columns.append(column)
    after = replace(encoder, columns=tuple(columns))
    return _moved(gram, encoder, after), after
