"""Training, ordinary and shifted rows of a table, made in the same way for every table.

1. Columns with gaps in more than a third of the rows and words of more than 20 kinds are left out,
   then rows with gaps. Words become one column of 0 and 1 for every kind; all methods get the same
   numbers.
2. ``nat``: rows that meet the table's rule for shifted rows, against rows that meet its rule for
   ordinary ones. The columns of the rule are no features.
3. ``cov``: ordinary rows are cut at the median of their first principal component, columns in
   standard units; one half is ordinary, the other is shifted.
4. Of the ordinary rows three fifths, at most 1,500, are for training and at most 600 of the others
   are fresh ordinary rows, ``id``; of shifted rows at most 300 are kept.
5. ``unit``, ``stuck`` and ``swap`` are made of rows of ``id`` of the first kind of file. Columns of
   more than 7 values count as continuous. ``unit`` multiplies one continuous cell of each row by a
   factor between units; ``stuck`` sets one of the three continuous columns of largest gain in
   LightGBM to its 5 or 95 % quantile; ``swap`` swaps two continuous columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml_experiments.studies.trust_files import FRESH, ORDINARY, RowSet, ShiftedTable, scales
from pnml_experiments.studies.trust_scorers import lightgbm, lightgbm_classifier

MOST_TRAINING, MOST_ORDINARY, MOST_SHIFTED = 1_500, 600, 300
_TRAINING_SHARE = 0.6
_MOST_GAPS, _MOST_WORDS, _CONTINUOUS = 1 / 3, 20, 7
# Tens, feet and metres, pounds and kilograms, inches and centimetres.
_UNITS = (10.0, 0.1, 3.2808, 0.3048, 2.2046, 0.4536, 0.3937)
_TOP = 3

Bools = npt.NDArray[np.bool_]


def as_numbers(frame: Any, target: str) -> tuple[FloatArray, FloatArray, Bools, list[str]]:
    """Features (n, d), labels, which rows have no gap, and the names of the features."""
    import pandas as pd

    columns = [name for name in frame.columns if name != target]
    columns = [name for name in columns if frame[name].isna().mean() <= _MOST_GAPS]
    words = [name for name in columns if not pd.api.types.is_numeric_dtype(frame[name])]
    kept = [n for n in columns if n not in words or frame[n].nunique() <= _MOST_WORDS]
    whole = frame[[*kept, target]].notna().all(axis=1).to_numpy()
    coded = pd.get_dummies(frame[kept], columns=[n for n in kept if n in words], dtype=float)
    y = frame[target]
    codes = y if pd.api.types.is_numeric_dtype(y) else pd.Categorical(y).codes
    return coded.to_numpy(float), np.asarray(codes, dtype=float), whole, list(coded.columns)


def shifted_tables(
    name: str, X: FloatArray, y: FloatArray, ordinary: Bools, shifted: Bools
) -> Iterator[ShiftedTable]:
    """The files ``NAME_nat`` and ``NAME_cov`` of a table."""
    rng = np.random.default_rng(list(name.encode()))
    base = rng.permutation(np.flatnonzero(ordinary))
    other = rng.permutation(np.flatnonzero(shifted))[:MOST_SHIFTED]
    train, fresh = _parted(base)
    sets = {ORDINARY: fresh, "nat": other}
    rows = {kind: RowSet(X[at], y[at]) for kind, at in sets.items()}
    learned = RowSet(X[train], y[train])
    made = _corrupted(learned, rows[ORDINARY], name.startswith("c_"), rng)
    yield ShiftedTable(f"{name}_nat", FRESH, learned, rows | made)
    low = _lower_half(X[base])
    train, fresh = _parted(base[low])
    sets = {ORDINARY: fresh, "cov": base[~low][:MOST_SHIFTED]}
    rows = {kind: RowSet(X[at], y[at]) for kind, at in sets.items()}
    yield ShiftedTable(f"{name}_cov", FRESH, RowSet(X[train], y[train]), rows)


def _parted(rows: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Training rows and fresh ordinary rows."""
    cut = int(_TRAINING_SHARE * len(rows))
    return rows[:cut][:MOST_TRAINING], rows[cut:][:MOST_ORDINARY]


def _lower_half(X: FloatArray) -> Bools:
    """Which rows are below the median of the first principal component."""
    mean, spread = scales(X)
    Z = (X - mean) / spread
    _, directions = np.linalg.eigh(Z.T @ Z)
    along = directions[:, -1]
    along = along * np.sign(along[np.argmax(np.abs(along))])
    score = Z @ along
    low: Bools = score < np.median(score)
    return low


def _corrupted(
    train: RowSet, fresh: RowSet, classes: bool, rng: np.random.Generator
) -> dict[str, RowSet]:
    """Rows of ``id`` with a cell in another unit, a stuck column, or two columns swapped."""
    values = [len(np.unique(column)) for column in train.X.T]
    continuous = np.flatnonzero(np.array(values) > _CONTINUOUS)

    def some() -> tuple[FloatArray, FloatArray]:
        at = rng.permutation(len(fresh.X))[:MOST_SHIFTED]
        return fresh.X[at].copy(), fresh.y[at]

    unit, unit_y = some()
    each = np.arange(len(unit))
    unit[each, rng.choice(continuous, len(unit))] *= rng.choice(_UNITS, len(unit))
    stuck, stuck_y = some()
    gains = _gains(train, classes)
    top = continuous[np.argsort(-gains[continuous], kind="stable")][:_TOP]
    column = rng.choice(top)
    stuck[:, column] = np.quantile(train.X[:, column], rng.choice([0.05, 0.95]))
    swap, swap_y = some()
    pair = rng.choice(continuous, 2, replace=False)
    swap[:, pair] = swap[:, pair[::-1]]
    return {
        "unit": RowSet(unit, unit_y),
        "stuck": RowSet(stuck, stuck_y),
        "swap": RowSet(swap, swap_y),
    }


def _gains(train: RowSet, classes: bool) -> FloatArray:
    """Gain of every column in LightGBM."""
    model = lightgbm_classifier() if classes else lightgbm()
    fitted = model.set_params(importance_type="gain").fit(train.X, train.y)
    gains: FloatArray = np.asarray(fitted.feature_importances_, dtype=float)
    return gains
