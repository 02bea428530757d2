"""Models of tables (``pnml fit``) as ONNX graphs, with one input for each column."""

from __future__ import annotations

import json
from itertools import product

import numpy as np

import onnx
from onnx import TensorProto
from pnml.core import gaussian
from pnml.errors import InputError, shorten
from pnml.learners.least_squares import LUCKY, LeastSquares
from pnml.onnx import learners
from pnml.onnx.graph import ROWS, Graph, element_of
from pnml.onnx.operations import columns, concatenate, number, xp
from pnml.onnx.pipelines import classes_json, finished
from pnml.onnx.steps import log_probabilities
from pnml.onnx.traced import Traced, as_traced
from pnml.tables.encoder import (
    LARGEST,
    NEVER_SEEN,
    CategoryColumn,
    ConstantColumn,
    Encoder,
    HashedColumn,
    NumberColumn,
)
from pnml.tables.fitted_table import FittedTable

_TRUTH = ("true", "false")
_EQUAL = 1e-6  # numbers in units of their spread that float32 cannot tell apart


def table_graph(model: FittedTable, dtype: str) -> onnx.ModelProto:
    """The ONNX model of a table model made by `pnml fit`, with one input for each column.

    `dtype` is that of numeric inputs and of outputs. A missing number is NaN and a missing word is
    the empty text; dates are days since 1970, always in float64.
    """
    if model.target.log:
        raise InputError(
            "A model of the logarithm of a target cannot be exported to ONNX, since its numbers "
            "would be logarithms; fit without --log-target."
        )
    learner = learners.learner_in(model.estimator)
    _refuse_hashed(model.encoder)
    graph = Graph()
    X = _encoded(graph, model.encoder, dtype)
    dates = [c.name for c in model.encoder.columns if isinstance(c, NumberColumn) and c.is_date]
    about = {"target": model.target.name, "days_since_1970": json.dumps(dates, ensure_ascii=False)}
    if model.classes:
        log_p = log_probabilities(model.estimator.estimator_, X)
        outputs = learners.outputs(learner, X, log_p)
        return finished(graph, outputs, dtype, about | {"classes": classes_json(model.classes)})
    outputs = learners.outputs(learner, X, None)
    if model.target.least is not None:
        outputs["prediction"] = xp.maximum(outputs["prediction"], model.target.least)
    if learner.method is LUCKY and learner.choice.alpha > 0:
        outputs["regret"] = _raised(learner, X, outputs["regret"])
    return finished(graph, outputs, dtype, about)


def _refuse_hashed(encoder: Encoder) -> None:
    for column in encoder.columns:
        if isinstance(column, HashedColumn):
            raise InputError(
                f"Column {shorten(column.name)!r} has {len(column.known):,} words, which are "
                "hashed, and ONNX has no such operation; fit without it by --drop, or score with "
                "pnml itself."
            )


def _encoded(graph: Graph, encoder: Encoder, dtype: str) -> Traced:
    """Encoded rows (n, width) in the graph; every column that varies becomes an input."""
    places: list[int] = []
    parts, missing, strange = [], [], []
    varies = [not isinstance(column, ConstantColumn) for column in encoder.columns]
    for column in encoder.columns:
        if isinstance(column, ConstantColumn | HashedColumn):
            continue
        if isinstance(column, CategoryColumn):
            part, gap, never_seen = _words(graph, column)
        else:
            part, gap, never_seen = _amounts(graph, column, dtype)
        if column.missing is None and encoder.patterns.seen is None:
            never_seen = never_seen + gap
        parts.append(part)
        missing.append(gap)
        strange.append(never_seen)
        places += column.places
    novelty = xp.sum(concatenate(strange), axis=1, keepdims=True)
    if encoder.patterns.seen is not None:
        seen = encoder.patterns.seen[:, varies].astype(float)  # (p, columns)
        gaps = concatenate(missing)
        ones = np.ones((seen.shape[1], 1))
        differ = gaps @ ones + (seen.sum(axis=1) - 2 * (gaps @ seen.T))
        novelty = novelty + number(xp.min(differ, axis=1, keepdims=True) > 0.5)
    encoded = concatenate([xp.sqrt(novelty), *parts])
    order = np.argsort([NEVER_SEEN, *places])
    return columns(encoded, order.tolist())


def _amounts(graph: Graph, column: NumberColumn, dtype: str) -> tuple[Traced, Traced, Traced]:
    """A numeric column in units of its spread, which cells are missing, and which never seen."""
    dtype = "float64" if column.is_date else dtype  # float32 resolves dates to minutes only
    x = as_traced(graph, graph.input(column.name, element_of(dtype), [ROWS, 1]), dtype, (-1, 1))
    z = (x - column.fill) / column.scale
    usual = xp.abs(z) < LARGEST
    value, missing = xp.where(usual, z, 0.0), number(xp.isnan(x))
    part = value if column.missing is None else concatenate([value, missing])
    strange = 1.0 - number(usual) - missing
    if column.low is not None and column.low == column.high:  # constant where it is not missing
        strange = 1.0 - number(xp.abs(z) <= _EQUAL) - missing
    return part, missing, strange


def _words(graph: Graph, column: CategoryColumn) -> tuple[Traced, Traced, Traced]:
    """One-hot columns of a text column, which cells are missing, and which words are never seen."""
    name = graph.input(column.name, TensorProto.STRING, [ROWS, 1])
    levels = len(column.levels)
    codes = {word: code for code, word in enumerate(column.levels)}
    if set(_TRUTH).issuperset(column.levels):
        for word in _TRUTH:  # True and TRUE are the truth value true
            cases = ("".join(letters) for letters in product(*((c, c.upper()) for c in word)))
            codes |= {case: codes[word] for case in cases if word in codes}
    codes = {"": levels} | codes
    coded = graph.add(
        "LabelEncoder",
        name,
        domain="ai.onnx.ml",
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=levels + 1,
    )
    flat = graph.add("Reshape", coded, graph.constant(np.array([-1])))
    table = np.eye(levels + 2)  # a place for each word, then missing, then never seen
    gathered = graph.add("Gather", graph.constant(table), flat, axis=0)
    whole = Traced(graph, gathered, (-1, levels + 2))
    width = levels + (column.missing is not None)
    return columns(whole, [*range(width)]), columns(whole, [levels]), columns(whole, [levels + 1])


def _raised(learner: LeastSquares, X: Traced, regret: Traced) -> Traced:
    """Regret (n,) that is larger for a row with a never-seen value than without that value."""
    mask = np.ones(X.shape[1])
    mask[NEVER_SEEN] = 0.0
    rows = X * mask
    novelty = columns(X, [NEVER_SEEN])[..., 0]
    terms = learners.lucky_terms(learner, rows)
    K = 1.0 + terms.leverage
    alpha = learner.choice.alpha
    rise = gaussian.regret(novelty * novelty / (alpha * K))
    raised: Traced = xp.maximum(regret, learners.regression(learner, rows)["regret"] + rise)
    return raised
