"""Columns have drifted where their cells are others than in training, and not by rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from made_tables import in_batches
from pnml.tables.drift import Drift
from pnml.tables.fitting import fit_table
from pnml.tables.roles import Request


def counts(n=600, seed=0, months=13):
    """Columns of few values, as counts, months, 0 or 1 and tenths are, with words and gaps."""
    rng = np.random.default_rng(seed)
    month, kids = rng.integers(1, months, n), rng.integers(0, 5, n)
    return pa.table(
        {
            "month": month,
            "kids": pa.array(kids, mask=rng.random(n) < 0.1),
            "comedy": rng.integers(0, 2, n),
            "depth": rng.integers(570, 650, n) / 10,
            "word": pa.array(["one", "two", "three"]).take(pa.array(kids % 3)),
            "y": month + rng.normal(size=n),
        }
    )


def _nudged(X, towards):
    """The next numbers towards 0 or away from it; 0 itself stands for no word, and stays."""
    goal = np.copysign(towards, X)
    return np.where(X == 0, X, np.nextafter(X, goal))


def drift(train, new, towards=None):
    """Row of each column; cells may be moved to the next number in a direction."""
    model = fit_table(in_batches(train, ()), Request(target="y"), "pnml", "t.csv")
    found = Drift(model.encoder, model.profiles, model.rows)
    for batch in new.to_batches():
        encoded = model.encoder.encode(batch)
        if towards is not None:
            encoded = replace(encoded, X=_nudged(encoded.X, towards))
        found.add(encoded)
    return {row.column: row for row in found.table()}


@pytest.mark.parametrize("towards", [None, 0.0, np.inf])  # by rounding, or not at all
@pytest.mark.parametrize("most", [100_000, 50])
def test_training_rows_have_not_drifted_from_themselves(most, towards, monkeypatch):
    monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", most)
    table = counts()
    found = drift(table, table, towards)
    assert len(found) == 5
    # equal counts have equal shares, and the logarithm of their ratio is 0
    assert {row.psi for row in found.values()} == {0.0}
    assert not any(row.flagged for row in found.values())


def test_new_rows_of_the_same_kind_have_not_drifted_and_those_of_another_season_have():
    table = counts()
    assert not any(row.flagged for row in drift(table, counts(seed=1)).values())
    moved = drift(table, counts(seed=1, months=5))
    assert [name for name, row in moved.items() if row.flagged] == ["month"]
