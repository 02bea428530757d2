"""The least and the largest training value of each column, and how far a cell lies beyond them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from made_tables import in_batches, mixed, one_batch, replaced
from pnml.tables.fitting import fit_table
from pnml.tables.roles import Request


@pytest.fixture(params=[(), (50, 90)], ids=["in memory", "streamed"])
def model(request, monkeypatch):
    if request.param:
        monkeypatch.setattr("pnml.tables.fitting.MOST_ROWS", 50)
    return fit_table(in_batches(mixed(150), request.param), Request(target="y"), "pnml", "t.csv")


def test_excess_is_the_distance_in_widths_of_the_range(model):
    size = mixed(150)["size"].to_numpy()
    low, high = size.min(), size.max()
    cells = [low, high, (low + high) / 2, high + 0.5 * (high - low), low - 2 * (high - low)]
    new = replaced(mixed(5, seed=2), "size", cells)
    encoded = model.encoder.encode(one_batch(new))
    # one subtraction and one division
    np.testing.assert_allclose(encoded.excess[:, 0], [0, 0, 0, 0.5, 2.0], rtol=1e-12)
    assert encoded.outside[:, 0].tolist() == [False, False, False, True, True]


def test_no_training_row_is_outside_and_words_and_gaps_never_are(model):
    encoded = model.encoder.encode(one_batch(mixed(150)))
    assert not encoded.outside.any()
    new = replaced(replaced(mixed(2, seed=2), "city", ["Atlantis", None]), "age", [None, None])
    encoded = model.encoder.encode(one_batch(new))
    names = model.encoder.names
    assert not encoded.outside[:, [names.index("city"), names.index("age")]].any()


def test_dates_have_a_range_too(model):
    days = mixed(150)["day"].to_pylist()
    column = next(c for c in model.encoder.columns if c.name == "day")
    first, last = (dt.date(1970, 1, 1) + dt.timedelta(days=v) for v in (column.low, column.high))
    assert (first, last) == (min(days), max(days))
    new = replaced(mixed(1, seed=2), "day", [max(days) + dt.timedelta(days=1)])
    assert model.encoder.encode(one_batch(new)).outside[0, model.encoder.names.index("day")]


def test_a_constant_with_gaps_notices_any_other_value():
    cells = pa.array([1.0] * 40, mask=np.arange(40) % 3 == 0)
    x = np.linspace(0, 1, 40)
    table = pa.table({"some": cells, "x": x, "y": np.sin(x)})
    model = fit_table(table.to_batches(), Request(target="y"), "pnml", "t.csv")
    new = pa.table({"some": [1.0, None, 2.0], "x": [0.5] * 3})
    scores = model.score(one_batch(new), 0.9, 1.0)
    assert scores.never_seen.tolist() == [False, False, True]
    assert scores.because[2].as_py().startswith("some 2; always 1 in training (")
