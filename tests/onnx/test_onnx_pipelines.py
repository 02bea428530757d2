"""Exported Pipelines do their preprocessing themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

onnx_sessions = pytest.importorskip("onnx_sessions")
pytest.importorskip("skl2onnx")
pd = pytest.importorskip("pandas")

from pnml import (  # noqa: E402
    InputError,
    LpNMLRegressor,
    PNMLClassifier,
    PNMLRegressor,
    TransformedTargetRegressor,
    export_onnx,
)
from pnml import make_pipeline as our_pipeline  # noqa: E402

DTYPES = ["float64", "float32"]


@pytest.fixture
def X(rng):
    return rng.normal(size=(120, 4)) * [1.0, 10.0, 1e3, 1e-3] + [0.0, 1.0, 1e4, 5e-3]


@pytest.fixture
def y(X, rng):
    return X[:, 0] + X[:, 2] / 1e3 + 0.3 * rng.normal(size=len(X))


@pytest.fixture
def frame(X, rng):
    """Numbers with gaps, text, and whole numbers that are names."""
    X = X.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "a b": X[:, 0],
            "n": X[:, 2],
            "colour": rng.choice(["red", "green", "blue"], len(X)),
            "code": rng.integers(0, 4, len(X)).astype(float),
            "unused": 1.0,
        }
    )


def by_column(imputer):
    words = OneHotEncoder(handle_unknown="ignore")
    codes = OneHotEncoder(handle_unknown="ignore", drop="first")
    numbers = make_pipeline(imputer, StandardScaler())
    return make_column_transformer((numbers, ["a b", "n"]), (words, ["colour"]), (codes, ["code"]))


def said(model, new):
    """What the last step says of rows that went through the others."""
    return model[-1].predict_dist(model[:-1].transform(new))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(),),
        (MinMaxScaler(), PCA(3)),
        (make_pipeline(StandardScaler(), "passthrough"), PCA(2, whiten=True)),
        (make_column_transformer((StandardScaler(), [0, 2]), remainder="passthrough"),),
    ],
    ids=lambda steps: type(steps[0]).__name__,
)
def test_scaled_and_rotated_rows_are_the_same(steps, dtype, X, y, tmp_path):
    for learner in (PNMLRegressor(), LpNMLRegressor(alpha=0.5)):
        model = make_pipeline(*steps, learner).fit(X, y)
        export_onnx(model, tmp_path / "m.onnx", dtype=dtype)
        new = X.astype(dtype)
        onnx_sessions.assert_same(
            onnx_sessions.run(tmp_path / "m.onnx", new), said(model, new), dtype, atol=1e-9
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_our_own_pipelines_are_exported_as_those_of_scikit_learn_are(dtype, X, y, tmp_path):
    columns = (our_pipeline(SimpleImputer(), StandardScaler()), [0, 2])
    steps = make_column_transformer(columns, remainder="passthrough")
    model = our_pipeline(our_pipeline(steps, PCA(3)), our_pipeline(PNMLRegressor())).fit(X, y)
    export_onnx(model, tmp_path / "m.onnx", dtype=dtype)
    new = X.astype(dtype)
    found = onnx_sessions.run(tmp_path / "m.onnx", new)
    onnx_sessions.assert_same(found, model.predict_dist(new), dtype, atol=1e-9)


def test_a_transformed_target_is_refused_in_one_sentence(X, y, tmp_path):
    model = our_pipeline(StandardScaler(), TransformedTargetRegressor()).fit(X, y)
    with pytest.raises(InputError, match="TransformedTargetRegressor cannot be exported"):
        export_onnx(model, tmp_path / "m.onnx")


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize(
    "imputer", [SimpleImputer(), SimpleImputer(strategy="median", add_indicator=True)]
)
def test_columns_of_a_frame_are_inputs_of_their_own(imputer, alpha, dtype, frame, y, tmp_path):
    model = make_pipeline(by_column(imputer), PNMLRegressor(alpha=alpha)).fit(frame, y)
    export_onnx(model, tmp_path / "m.onnx", dtype=dtype, example=frame[:3])
    new = frame.astype({"a b": dtype, "n": dtype, "code": dtype})
    new.loc[:4, "colour"] = "violet"
    new.loc[5:9, "code"] = 1.5
    new.loc[10, "a b"] = 100.0
    feeds = onnx_sessions.columns(new.drop(columns="unused"), dtype)
    found = onnx_sessions.run(tmp_path / "m.onnx", feeds)
    expected = said(model, new)
    onnx_sessions.assert_same(found, expected, dtype, atol=1e-9)
    if alpha == 0:
        assert np.isinf(expected.regret[:5]).all()
        assert np.isinf(found["regret"][:5]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_pipeline_inside_or_around_a_classifier_is_exported(dtype, X, frame, y, tmp_path):
    labels = np.where(y > y.mean(), "high", "low")
    path, new = tmp_path / "m.onnx", X.astype(dtype)
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    inside = PNMLClassifier(logistic).fit(X, labels)
    frozen = PNMLClassifier(FrozenEstimator(logistic.fit(X, labels))).fit(X, labels)
    for model in (inside, frozen):
        export_onnx(model, path, dtype=dtype)
        onnx_sessions.assert_same(onnx_sessions.run(path, new), model.predict_dist(new), dtype)
    around = make_pipeline(StandardScaler(), PNMLClassifier()).fit(X, labels)
    export_onnx(around, path, dtype=dtype)
    onnx_sessions.assert_same(onnx_sessions.run(path, new), said(around, new), dtype)
    mixed = make_pipeline(by_column(SimpleImputer()), LogisticRegression())
    model = PNMLClassifier(mixed).fit(frame, labels)
    export_onnx(model, path, dtype=dtype, example=frame)
    cells = frame.astype({"a b": dtype, "n": dtype})
    feeds = onnx_sessions.columns(cells.drop(columns="unused"), dtype)
    onnx_sessions.assert_same(onnx_sessions.run(path, feeds), model.predict_dist(cells), dtype)


def test_classifiers_whose_small_probabilities_would_change_are_refused(X, y, tmp_path):
    for inside in (GaussianNB(), RandomForestClassifier(10, random_state=0)):
        model = PNMLClassifier(inside).fit(X, y > y.mean())
        with pytest.raises(InputError, match="strange rows may look safe; use a LogisticReg"):
            export_onnx(model, tmp_path / "m.onnx")


def test_a_single_scaled_column_keeps_its_digits(X, y, tmp_path):
    # onnxruntime would join the scaling and the product, with the factor in float32
    labels, column = y > y.mean(), X[:, 2:3]
    model = PNMLClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
    model.fit(column, labels)
    export_onnx(model, tmp_path / "m.onnx", dtype="float64")
    found = onnx_sessions.run(tmp_path / "m.onnx", column)
    onnx_sessions.assert_same(found, model.predict_dist(column), "float64")


def test_steps_known_in_float32_only_are_exported_in_it(X, y, tmp_path):
    model = make_pipeline(StandardScaler(), PolynomialFeatures(2), PNMLRegressor()).fit(X, y)
    with pytest.raises(InputError, match=r'in float64.*pass dtype="float32"'):
        export_onnx(model, tmp_path / "m.onnx", dtype="float64")
    export_onnx(model, tmp_path / "m.onnx")
    new = X.astype(np.float32)
    found = onnx_sessions.run(tmp_path / "m.onnx", new)
    np.testing.assert_allclose(found["regret"], said(model, new).regret, rtol=1e-4)


def test_what_a_pipeline_lacks_is_said_in_a_sentence(X, y, frame, tmp_path):
    path = tmp_path / "m.onnx"
    spline = make_pipeline(SplineTransformer(), PNMLRegressor(alpha=1.0)).fit(X, y)
    with pytest.raises(InputError, match="does not know SplineTransformer"):
        export_onnx(spline, path)
    model = make_pipeline(by_column(SimpleImputer()), PNMLRegressor(alpha=1.0)).fit(frame, y)
    with pytest.raises(InputError, match="pass example="):
        export_onnx(model, path)
    with pytest.raises(InputError, match="same columns"):
        export_onnx(model, path, example=frame.rename(columns={"n": "m"}))
    with pytest.raises(InputError, match="'colour' holds other cells"):
        export_onnx(model, path, example=frame.assign(colour=None))
    named = frame.rename(columns={"n": "regret"})
    numbers = make_column_transformer((SimpleImputer(), ["regret", "code"]))
    model = make_pipeline(numbers, PNMLRegressor()).fit(named, y)
    with pytest.raises(InputError, match="column is called 'regret'"):
        export_onnx(model, path)
    with pytest.raises(InputError, match="A LogisticRegression cannot be exported"):
        export_onnx(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y > 9), path)
    assert not path.exists()
