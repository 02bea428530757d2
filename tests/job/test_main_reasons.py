"""Every row that is not trusted has one main reason, and each kind of reason is told as it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from made_tables import classes, mixed
from pnml import fit_table


def plain(rows):
    """Rows without gaps, in the middle of the training rows."""
    frame = rows.to_pandas()
    return frame.assign(size=frame["size"].clip(-1, 1), age=40.0, city="Rome")


@pytest.fixture(scope="module")
def model():
    """Learnt from a table with one word always, and a column without cells."""
    rows = mixed(300).append_column("always", pa.array(["x"] * 300))
    return fit_table(rows.append_column("empty", pa.nulls(300)), target="y", learner="pnml")


# What is put into one cell or two, and the reason.
CELLS = {
    "bad number": ({"size": "abc"}, "size is not a number"),
    "bad date": ({"day": "2024-02-30"}, "day is not a date"),
    "gap": ({"size": None}, "size missing, never so in training"),
    "gap beside an ordinary gap": (
        {"age": None, "size": None},
        "size missing, never so in training",
    ),
    "gap in a constant": ({"always": None}, "always missing, never so in training"),
    "new word": ({"city": "Atlantis"}, "city never seen in training"),
    "changed constant": ({"always": "z"}, "always is new: always 'x' in training"),
    "filled": ({"empty": "1"}, "empty is new: never filled in training"),
    "infinite": ({"size": np.inf}, "size infinite"),
    "above": ({"size": 60.0}, "size above the "),
    "below": ({"size": -60.0}, "size below the "),
    "late": ({"day": "2039-01-01"}, "day above the "),
    "bad before new": ({"city": "Atlantis", "size": "abc"}, "size is not a number"),
}


@pytest.mark.parametrize("case", CELLS)
def test_each_kind_of_reason_is_told_once(case, model):
    cells, reason = CELLS[case]
    frame = plain(mixed(12, seed=2)).assign(always="x", empty=None)
    before = model.findings(frame)
    assert before.trusted == 12, before.reasons
    frame = frame.astype(object)
    frame["day"] = frame["day"].astype(str)
    for name, cell in cells.items():
        frame.loc[4, name] = cell
    found = model.findings(frame)
    assert found.trusted == 11
    assert len(found.reasons) == 1
    assert found.reasons[0].rows == 1
    assert found.reasons[0].text.startswith(reason)


def test_ranges_in_reasons_are_those_of_training(model):
    frame = plain(mixed(5, seed=2)).assign(size=60.0)
    size = mixed(300)["size"].to_numpy()
    found = model.findings(frame).reasons
    assert [(r.text, r.rows) for r in found] == [
        (f"size above the {size.min():.6g} to {size.max():.6g} of training", 5)
    ]


def test_gaps_that_were_never_together_are_told_so():
    """Either of two columns is missing now and then in training, but never both."""
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 200))
    y = a + b + c
    which = np.arange(200) % 5
    frame = pd.DataFrame({"a": np.where(which == 0, np.nan, a), "b": b, "c": c, "y": y})
    frame.loc[which == 1, "b"] = np.nan
    model = fit_table(frame, target="y", learner="pnml")
    new = pd.DataFrame({"a": [np.nan, 0.1], "b": [np.nan, 0.1], "c": [0.0, 0.0]})
    found = model.findings(new)
    text = "a missing together with other columns, never so in training"
    assert [(r.text, r.rows) for r in found.reasons] == [(text, 1)]


def test_an_unusual_row_inside_all_ranges_is_called_unusual():
    """Two columns that go together in training do not in one row, though each is usual alone."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    b = a + 0.01 * rng.normal(size=200)
    model = fit_table(pa.table({"a": a, "b": b, "y": a + rng.normal(size=200)}), "y", learner="ols")
    found = model.findings(pa.table({"a": [1.0, 0.1], "b": [-1.0, 0.1]}))
    assert found.trusted == 1
    assert [(r.text[:24], r.rows) for r in found.reasons] in (
        [("a unusual beside the oth", 1)],
        [("b unusual beside the oth", 1)],
    )


@pytest.mark.parametrize("learner", ["pnml", "boosting"])
def test_reasons_count_every_row_that_is_not_trusted(learner):
    model = fit_table(mixed(300), target="y", learner=learner)
    frame = mixed(200, seed=4, shift=1.5).to_pandas()
    frame.loc[::9, "city"] = "Atlantis"
    frame.loc[::11, "size"] = np.nan
    found = model.findings(frame)
    scored = model.score(frame)
    assert sum(reason.rows for reason in found.reasons) == (~scored["trusted"]).sum() > 0
    texts = {reason.text: reason.rows for reason in found.reasons}
    new, gap = np.arange(200) % 9 == 0, np.arange(200) % 11 == 0
    assert texts["city never seen in training"] + texts["size missing, never so in training"] == (
        (new | gap).sum()
    )


def test_reasons_of_classes_name_columns_too():
    model = fit_table(classes(300), target="kind", learner="logistic")
    found = model.findings(plain(classes(10, seed=2)).assign(size=80.0))
    assert sum(reason.rows for reason in found.reasons) == 10
    assert all("size" in reason.text for reason in found.reasons)
