"""Bars of columns: the explanation of a row, and the drift of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import pnml
from pnml import InputError, PNMLRegressor, TrustedRegressor
from pnml.plots import DriftDisplay, ExplanationDisplay


@pytest.fixture
def table(rng):
    frame = pd.DataFrame(rng.normal(50, 10, size=(120, 3)), columns=["age", "bp", "bmi"])
    frame["town"] = rng.choice(["Bonn", "Ulm"], 120)
    return frame, frame["age"] - frame["bp"] + rng.normal(size=120)


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_the_shares_of_explain_and_carry_value_and_range(table, ax):
    frame, y = table
    numbers = frame.drop(columns="town")
    model = PNMLRegressor().fit(numbers, y)
    new = numbers.iloc[:2].assign(bp=9.5)
    display = ExplanationDisplay.from_estimator(model, new, row=1, training_rows=numbers, ax=ax)
    shares = model.explain(new)[1]
    drawn = [bar.get_width() for bar in display.bars_]
    lengths = sorted((100 * shares / shares.sum())[shares / shares.sum() >= 0.01], reverse=True)
    np.testing.assert_allclose(drawn[: len(lengths)], lengths)
    assert sum(drawn) == pytest.approx(100)
    low, high = (f"{edge:.6g}" for edge in (numbers["bp"].min(), numbers["bp"].max()))
    assert labels(ax)[0] == f"bp 9.5\ntraining {low}–{high}"
    assert display.bars_[0].get_facecolor() != display.bars_[1].get_facecolor()
    assert display.bars_[0].get_hatch()
    assert not display.bars_[1].get_hatch()


def test_a_trusted_model_remembers_ranges_and_words(table, ax):
    frame, y = table
    model = TrustedRegressor(RandomForestRegressor(20, random_state=0), random_state=0)
    model.fit(frame, y)
    new = frame.iloc[:1].assign(town="Mainz")
    display = ExplanationDisplay.from_estimator(model, new, ax=ax, most=4)
    j = list(display.columns).index("town")
    assert display.values[j] == "'Mainz'"
    assert display.training[j] == "one of 2 words"
    assert display.outside[j]


def test_shares_of_a_table_are_those_of_its_reasons(table, ax):
    frame, y = table
    model = pnml.fit_table(frame.assign(y=y), target="y", learner="pnml")
    new = frame.iloc[:3].copy()
    new.loc[1, "bmi"] = 900.0
    display = ExplanationDisplay.from_table(model, new, row=1, ax=ax)
    because = model.score(new)["because"][1]
    assert because.startswith("bmi 900")
    assert labels(ax)[0].startswith("bmi 900\ntraining ")
    assert f"({display.bars_[0].get_width():.0f}%)" in because
    assert display.outside[0]
    assert sum(bar.get_width() for bar in display.bars_) == pytest.approx(100)


def test_without_training_rows_columns_are_named_only(table, ax):
    frame, y = table
    model = PNMLRegressor().fit(frame[["age", "bp"]].to_numpy(), y)
    ExplanationDisplay.from_estimator(model, [[50.0, 900.0]], ax=ax)
    assert labels(ax)[0] == "x1"


def test_more_columns_than_shown_are_one_bar(ax):
    shares = np.arange(1.0, 11.0)
    display = ExplanationDisplay(shares=shares, columns=list("abcdefghij")).plot(ax, most=3)
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, 100 * np.array([10, 9, 8, 28]) / 55)
    assert labels(ax) == ["j", "i", "h", "7 other columns"]


def test_infinite_shares_take_all(ax):
    display = ExplanationDisplay(shares=[1.0, np.inf], columns=["a", "b"]).plot(ax)
    assert [bar.get_width() for bar in display.bars_] == [100, 0]


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"shares": [1.0]}, "shares does not have one entry"),
        ({"shares": [1.0, -1.0]}, "negative or NaN"),
        ({"values": ["1"]}, "values does not have one entry"),
        ({"shares": [], "columns": []}, "does not have one entry"),
    ],
)
def test_explanations_that_cannot_be_drawn_are_refused(broken, sentence):
    with pytest.raises(InputError, match=sentence):
        ExplanationDisplay(**{"shares": [1.0, 2.0], "columns": ["a", "b"], **broken}).plot()


def test_a_row_that_is_not_there_and_models_without_reasons_are_refused(table):
    frame, y = table
    model = PNMLRegressor().fit(frame[["age", "bp"]], y)
    with pytest.raises(InputError, match="row=120 is not one of the 120 rows"):
        ExplanationDisplay.from_estimator(model, frame[["age", "bp"]], row=120)
    with pytest.raises(InputError, match="training_rows has 4 columns but"):
        ExplanationDisplay.from_estimator(model, frame[["age", "bp"]], training_rows=frame)
    for cls in (ExplanationDisplay, DriftDisplay):
        with pytest.raises(InputError, match="no findings about a table"):
            cls.from_table(LinearRegression(), frame)
    with pytest.raises(InputError, match="most=0"):
        DriftDisplay(columns=["a"], psi=[0.1]).plot(most=0)
    with pytest.raises(InputError, match="most=0"):
        ExplanationDisplay(columns=["a"], shares=[0.1]).plot(most=0)


def test_drift_is_the_stability_index_of_the_shares(table, ax):
    frame, y = table
    model = pnml.fit_table(frame.assign(y=y), target="y", learner="pnml")
    new = frame.assign(bp=frame["bp"] * 0.1333)
    display = DriftDisplay.from_table(model, new, ax=ax)
    assert labels(ax)[0] == "bp"
    assert display.remarks_[0].get_text().startswith("100% outside the training range")
    assert [bool(bar.get_hatch()) for bar in display.bars_] == [True, False, False, False]
    # by hand: all cells in the first of ten bins, half a cell added to each
    edges = np.sort(frame["bp"])[[12 * i for i in range(1, 10)]]
    was = np.bincount(np.searchsorted(edges, frame["bp"], side="right"), minlength=10)
    now = np.bincount(np.zeros(120, dtype=int), minlength=10)
    p, q = ((c + 0.5) / (c + 0.5).sum() for c in (was, now))
    assert display.bars_[0].get_width() == pytest.approx(np.sum((q - p) * np.log(q / p)))
    same = DriftDisplay.from_findings(model.findings(new))
    assert list(same.psi) == list(display.psi)
    same.figure_.canvas.draw()
    for text in same.remarks_:
        assert text.get_window_extent().x1 <= same.figure_.bbox.x1


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"psi": [1.0]}, "psi does not have one entry"),
        ({"psi": [1.0, -1.0]}, "negative or infinite"),
        ({"remarks": ["1"]}, "remarks does not have one entry"),
    ],
)
def test_drift_that_cannot_be_drawn_is_refused(broken, sentence):
    with pytest.raises(InputError, match=sentence):
        DriftDisplay(**{"psi": [1.0, 2.0], "columns": ["a", "b"], **broken}).plot()


def test_columns_without_an_index_have_no_bar(ax):
    display = DriftDisplay(columns=["a", "b"], psi=[np.nan, 0.3]).plot(ax)
    assert [bar.get_width() for bar in display.bars_] == [0.3, 0.0]
