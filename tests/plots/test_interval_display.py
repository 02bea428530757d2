"""Intervals are drawn as the model gives them, and untrusted rows are set apart."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pnml import InputError, PNMLRegressor, TrustedRegressor
from pnml.plots import PredictionIntervalDisplay


def bars(line):
    """Places, lower ends, predictions and upper ends, read back from the picture."""
    x, y = line.get_xdata().reshape(-1, 4), line.get_ydata().reshape(-1, 4)
    assert np.isnan(y[:, 3]).all()
    return x[:, 0], y[:, 0], y[:, 1], y[:, 2]


def test_bars_are_the_intervals_and_colours_the_verdicts(data, ax):
    X, y = data
    model = PNMLRegressor().fit(X, y)
    new = np.vstack([X, 8 * X[:5]])
    truth = np.append(y, y[:5])
    display = PredictionIntervalDisplay.from_estimator(model, new, truth, ax=ax, subsample=None)
    trusted, ends = model.trusted(new), model.predict_interval(new)
    order = np.argsort(model.predict(new), kind="stable")
    for line, verdict in ((display.trusted_line_, True), (display.untrusted_line_, False)):
        some = [i for i in order if trusted[i] == verdict]
        x, low, centre, high = bars(line)
        np.testing.assert_array_equal(x - 1, np.flatnonzero(trusted[order] == verdict))
        np.testing.assert_array_equal(np.stack([low, high], 1), ends[some])
        np.testing.assert_array_equal(centre, model.predict(new)[some])
        inside = np.mean([(ends[i, 0] <= truth[i] <= ends[i, 1]) for i in some])
        assert f"n = {len(some)}, {100 * inside:.0f} % inside" in line.get_label()
    assert display.trusted_line_.get_color() != display.untrusted_line_.get_color()
    assert display.trusted_line_.get_marker() != display.untrusted_line_.get_marker()
    np.testing.assert_array_equal(display.truth_line_.get_ydata(), truth[order])


def test_a_subsample_is_drawn_and_all_rows_are_counted(rng, ax):
    y = rng.normal(size=500)
    ends = np.stack([y - 1, y + 1], axis=1)
    display = PredictionIntervalDisplay.from_predictions(y, y, ends, subsample=30, ax=ax)
    assert len(bars(display.trusted_line_)[0]) == 30
    assert display.trusted_line_.get_label() == "rows (n = 500, 100 % inside)"
    assert display.untrusted_line_ is None


def test_a_feature_by_name_or_place_is_the_horizontal_axis(data, ax):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = PNMLRegressor().fit(frame, y)
    by_name = PredictionIntervalDisplay.from_estimator(model, frame, feature="c", ax=ax)
    by_place = PredictionIntervalDisplay.from_estimator(model, frame, feature=2, ax=ax)
    for display in (by_name, by_place):
        places = np.concatenate(
            [bars(line)[0] for line in (display.trusted_line_, display.untrusted_line_) if line]
        )
        np.testing.assert_array_equal(np.sort(places), np.sort(X[:, 2]))
    assert by_name.x_name == "c"
    with pytest.raises(InputError, match=r"no column 'e' to draw; the rows have a, b, c, d"):
        PredictionIntervalDisplay.from_estimator(model, frame, feature="e")
    with pytest.raises(InputError, match=r"no column 7 to draw; the rows have shape"):
        PredictionIntervalDisplay.from_estimator(model, frame, feature=7)


def test_infinite_intervals_leave_the_axes_and_are_counted(ax):
    display = PredictionIntervalDisplay.from_predictions(
        None, [1.0, 2.0], [[0.0, 2.0], [-np.inf, np.inf]], trusted=[True, False], ax=ax
    )
    low, high = ax.get_ylim()
    _, below, _, above = bars(display.untrusted_line_)
    assert -1 < low <= 0 < 2 <= high < 3
    assert below[0] < low < high < above[0]
    assert "1 infinite" in display.untrusted_line_.get_label()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_scored_table_of_any_kind_is_drawn(kind, data, ax):
    X, y = data
    model = TrustedRegressor(LinearRegression(), random_state=0).fit(X, y)
    frame = model.score_frame(8 * X)
    columns = {name: frame[name].to_numpy() for name in ("prediction", "lower", "upper", "trusted")}
    scored = kind({**columns, "y": y})
    display = PredictionIntervalDisplay.from_table(scored, "y", ax=ax)
    assert f"n = {int((~frame['trusted']).sum())}" in display.untrusted_line_.get_label()
    _, low, _, high = bars(display.untrusted_line_)
    rows = frame[~frame["trusted"]].sort_values("prediction", kind="stable")
    np.testing.assert_array_equal(low, rows["lower"])
    np.testing.assert_array_equal(high, rows["upper"])


def test_a_pipeline_is_seen_from_its_last_step(data, ax):
    X, y = data
    pipe = make_pipeline(StandardScaler(), PNMLRegressor()).fit(X, y)
    display = PredictionIntervalDisplay.from_estimator(pipe, X, ax=ax)
    np.testing.assert_allclose(display.prediction, pipe.predict(X))


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"interval": [0.0, 1.0]}, r"pass an array of shape \(n, 2\)"),
        ({"interval": [[1.0, 0.0], [0.0, 1.0]]}, "pass the lower end first"),
        ({"interval": [[np.nan, 0.0], [0.0, 1.0]]}, "lower holds nan"),
        ({"y_pred": [1.0, np.inf]}, "prediction holds inf"),
        ({"y_pred": ["a", "b"]}, "prediction holds values that are not numbers"),
        ({"y_true": [1.0]}, "y_true has shape"),
        ({"trusted": [True]}, "trusted has shape"),
        ({"subsample": 0}, "subsample=0 is not a number of rows"),
        ({"y_pred": [], "interval": np.zeros((0, 2)), "y_true": None}, "one number for each row"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(broken, sentence):
    given = {"y_true": [1.0, 2.0], "y_pred": [1.0, 2.0], "interval": [[0.0, 2.0], [1.0, 3.0]]}
    with pytest.raises(InputError, match=sentence):
        PredictionIntervalDisplay.from_predictions(**{**given, **broken})


def test_a_model_without_intervals_is_refused(data):
    X, y = data
    with pytest.raises(InputError, match="has no regret to draw"):
        PredictionIntervalDisplay.from_estimator(LinearRegression().fit(X, y), X)
    assert not plt.get_fignums()
