"""Columns that a model never reads have no say in the verdict on its predictions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVR

import pnml
from pnml import TrustedClassifier, TrustedRegressor
from pnml.learners.unread_columns import unread_columns

pandas = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
FRAME = pandas.DataFrame(
    {
        "id": [f"row {i}" for i in range(200)],
        "a": RNG.normal(size=200),
        "day": pandas.date_range("2024-01-01", periods=200),
        "word": RNG.choice(["x", "y"], 200),
        "constant": 3.0,
        "b": RNG.normal(size=200),
    }
)
Y = FRAME["a"] + (FRAME["word"] == "x") + 0.1 * RNG.normal(size=200)
READ = ["a", "word", "b"]
NEW = FRAME.assign(id="new", day=pandas.Timestamp("2030-01-01"), constant=-1e9)


def columns(**options):
    parts = [("numbers", StandardScaler(), ["a", "b"]), ("words", OneHotEncoder(), ["word"])]
    return ColumnTransformer(parts, **options)


MODELS = {
    "linear": Ridge(),
    "trees": RandomForestRegressor(5, min_samples_leaf=20, random_state=0),
    "other": SVR(),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_columns_that_a_column_transformer_drops_change_no_answer(model):
    pipe = make_pipeline(columns(), model)
    trusted = TrustedRegressor(pipe, cv=3, random_state=0).fit(FRAME, Y)
    without = TrustedRegressor(pipe, cv=3, random_state=0).fit(FRAME[READ], Y)
    assert trusted.trusted(NEW).mean() > 0.9
    # the same sums of the same numbers, in other products at most
    np.testing.assert_allclose(trusted.regret(NEW), without.regret(FRAME[READ]), rtol=1e-9)
    np.testing.assert_array_equal(trusted.trusted(NEW), without.trusted(FRAME[READ]))
    shares = trusted.explain(NEW)
    assert shares.shape == FRAME.shape
    assert not shares[:, [0, 2, 4]].any()
    np.testing.assert_allclose(
        shares[:, [1, 3, 5]], without.explain(FRAME[READ]), rtol=1e-7, atol=1e-12
    )


def test_what_is_read_still_counts():
    pipe = make_pipeline(columns(), Ridge())
    trusted = TrustedRegressor(pipe, cv=3, random_state=0).fit(FRAME, Y)
    assert not trusted.trusted(FRAME.assign(a=50.0)).any()
    because = trusted.score_frame(NEW.assign(a=50.0))["because"]
    assert because.str.startswith("a 50 is outside").all()
    assert not because.str.contains("row [0-9]|day|constant|new").any()


def test_a_model_file_keeps_which_columns_are_not_read(tmp_path):
    pipe = make_pipeline(columns(), LogisticRegression())
    trusted = TrustedClassifier(pipe, cv=3, random_state=0).fit(FRAME, Y > 0.5)
    pnml.save(trusted, tmp_path / "model.pnml")
    again = pnml.load(tmp_path / "model.pnml")
    np.testing.assert_array_equal(again.trusted(NEW), trusted.trusted(NEW))
    np.testing.assert_array_equal(again.explain(NEW), trusted.explain(NEW))
    assert again.trusted(NEW).mean() > 0.9


def test_only_columns_that_provably_go_nowhere_are_left_out():
    X = FRAME[["a", "constant", "b"]].to_numpy()
    best = SelectKBest(f_regression, k=1)
    some = ColumnTransformer([("some", StandardScaler(), [0])], remainder="drop")
    for model, unread in [
        (make_pipeline(StandardScaler(), best, Ridge()), (1, 2)),
        (make_pipeline(Normalizer(), best, Ridge()), ()),
        (make_pipeline("passthrough", some, Ridge()), (1, 2)),
        (make_pipeline(clone(some).set_params(remainder="passthrough"), Ridge()), ()),
        (make_pipeline(ColumnTransformer([("no", "drop", [1])], remainder=best), Ridge()), (1, 2)),
        (make_pipeline(FeatureUnion([("best", best), ("none", "drop")]), Ridge()), (1, 2)),
        (GridSearchCV(make_pipeline(best, Ridge()), {"ridge__alpha": [1.0]}, cv=2), (1, 2)),
        (Ridge(), ()),
    ]:
        with np.errstate(all="ignore"):  # a constant column has no F score
            fitted = model.fit(X + 1e-9 * RNG.normal(size=X.shape), Y)
        assert unread_columns(fitted, 3) == unread


def test_arrays_of_numbers_are_read_without_their_unread_columns():
    X = np.column_stack([np.arange(200.0), FRAME["a"], FRAME["b"]])
    some = ColumnTransformer([("some", "passthrough", [1, 2])])
    trusted = TrustedRegressor(make_pipeline(some, Ridge()), cv=3, random_state=0).fit(X, Y)
    far = X.copy()
    far[:, 0] = [np.nan, np.inf, -1e300, 1e9] * 50
    np.testing.assert_array_equal(trusted.trusted(far), trusted.trusted(X))
