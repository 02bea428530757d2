"""Classifiers of any make inside: pipelines, frames, weights, frozen ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from pnml import InputError, PNMLClassifier


@pytest.fixture
def table(rng):
    """A table with numbers, gaps and words."""
    n = 120
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, size=n),
            "dose": rng.normal(size=n),
            "town": rng.choice(["Ghent", "Turin"], size=n),
        }
    )
    y = np.where(frame["dose"] + 0.5 * rng.normal(size=n) > 0, "ill", "well")
    frame.loc[3, "age"] = np.nan
    return frame, y


def pipeline(sparse=False):
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose"]),
        (OneHotEncoder(sparse_output=sparse), ["town"]),
        sparse_threshold=1.0 if sparse else 0.0,
    )
    return make_pipeline(encode, LogisticRegression())


def test_of_a_pipeline_the_last_step_decides_what_a_row_looks_like(table):
    X, y = table
    model = PNMLClassifier(pipeline()).fit(X, y)
    steps = clone(pipeline()).fit(X, y)
    by_hand = PNMLClassifier().fit(steps[:-1].transform(X), y)
    np.testing.assert_allclose(model.regret(X), by_hand.regret(steps[:-1].transform(X)), rtol=1e-9)
    assert model.feature_names_in_.tolist() == ["age", "dose", "town"]
    assert model.n_features_in_ == 3
    assert model.explain(X).shape == (120, 4)
    assert [name.split("__")[-1] for name in model.explain_names_] == [
        "age",
        "dose",
        "town_Ghent",
        "town_Turin",
    ]
    assert model.set_params(estimator__logisticregression__C=2.0).estimator[-1].C == 2.0


def test_sparse_features_are_the_same_features(table):
    X, y = table
    dense, sparse = (PNMLClassifier(pipeline(sparse=s)).fit(X, y) for s in (False, True))
    np.testing.assert_allclose(sparse.regret(X), dense.regret(X), rtol=1e-6)


def test_steps_that_name_no_features_get_numbered_ones(three):
    X, y = three
    model = PNMLClassifier(make_pipeline(FunctionTransformer(np.tanh), GaussianNB())).fit(X, y)
    assert model.explain_names_.tolist() == ["x0", "x1", "x2"]
    alone = PNMLClassifier(make_pipeline(make_pipeline(GaussianNB()))).fit(X, y)
    assert alone.explain(X).shape == X.shape


def test_weights_reach_the_last_step_of_a_pipeline(three):
    X, y = three
    w = np.random.default_rng(1).integers(1, 4, size=60).astype(float)
    steps = make_pipeline(FunctionTransformer(), LogisticRegression(tol=1e-10))
    model = PNMLClassifier(steps).fit(X, y, sample_weight=w)
    plain = PNMLClassifier(LogisticRegression(tol=1e-10)).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.regret(X), plain.regret(X), rtol=1e-12)


def test_a_frame_stays_a_frame_for_the_classifier_inside(three):
    X, y = three
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    inside = make_pipeline(make_column_transformer(("passthrough", ["a", "c"])), GaussianNB())
    model = PNMLClassifier(CalibratedClassifierCV(inside)).fit(frame, y)
    assert model.explain_names_.tolist() == ["a", "b", "c"]
    assert model.regret(frame).shape == (60,)
    with pytest.raises(InputError, match="feature names should match"):
        model.regret(frame[["b", "a", "c"]])


def test_a_fitted_classifier_goes_in_frozen(three):
    X, y = three
    base = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    frozen = PNMLClassifier(FrozenEstimator(base)).fit(X[:50], y[:50])
    assert frozen.estimator_.estimator[-1] is base[-1]
    assert frozen.classes_.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="not among the classes"):
        PNMLClassifier(FrozenEstimator(base)).fit(X, y + 1)


def test_its_settings_can_be_searched(three):
    X, y = three
    search = GridSearchCV(PNMLClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}, cv=3)
    assert search.fit(X, y).best_estimator_.regret(X).shape == (60,)
