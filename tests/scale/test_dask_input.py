"""What cannot be learnt from a Dask collection is refused in one sentence."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pnml import (
    InputError,
    KernelPNMLRegressor,
    LpNMLRegressor,
    PNMLClassifier,
    PNMLRegressor,
    scale,
)

dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

X = da.ones((12, 2), chunks=(3, 2))
y = da.arange(12, chunks=3)
TABLE = pd.DataFrame({"a": np.arange(8.0), "b": 1.0, "s": list("abcdefgh"), "t": np.arange(8.0)})
FRAME = dd.from_pandas(TABLE, npartitions=2)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def spoiled(values, at, value):
    values = np.array(values, dtype=float)
    values[at] = value
    return values


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: scale.fit_dask(PNMLRegressor(), np.ones((3, 2)), y),
            ["X is a ndarray", "in memory"],
        ),
        (lambda: scale.fit_dask(PNMLRegressor(), X[:, 0], y), ["shape (12,)", "2d Dask array"]),
        (lambda: scale.fit_dask(PNMLRegressor(), X.astype(object), y), ["dtype object", "astype"]),
        (lambda: scale.fit_dask(PNMLRegressor(), X, None), ["y is None"]),
        (lambda: scale.fit_dask(PNMLRegressor(), X, y[:-1]), ["12 rows but y has 11"]),
        (lambda: scale.fit_dask(PNMLRegressor(), X, np.ones(11)), ["(11,)", "12 rows"]),
        (lambda: scale.fit_dask(PNMLRegressor(), X, X), ["one number per row", "(12, 2)"]),
        (lambda: scale.fit_dask(PNMLRegressor(), X, "t"), ["'t'", "no columns with names"]),
        (lambda: scale.fit_dask(PNMLRegressor(), FRAME, "u"), ["'u'", "'a', 'b', 's', 't'"]),
        (lambda: scale.fit_dask(PNMLRegressor(), FRAME, "t"), ["Column 's'", "get_dummies"]),
        (
            lambda: scale.fit_dask(
                PNMLRegressor(), FRAME[["a"]], FRAME["t"].repartition(npartitions=1)
            ),
            ["2 partitions but y has 1"],
        ),
        (
            lambda: scale.fit_dask(PNMLRegressor(), FRAME[["a"]], FRAME[FRAME.t != 5.0]["t"]),
            ["Partition 1", "4 rows but y has 3"],
        ),
        (
            lambda: scale.fit_dask(PNMLRegressor(), X[y > 20], y[y > 20]),
            ["nothing to fit", "all 4 partitions are without rows that count"],
        ),
        (
            lambda: scale.fit_dask(
                PNMLRegressor(), da.from_array(spoiled(X, (7, 1), np.nan), chunks=3), y
            ),
            ["Partition 2", "NaN (row 1, column 1)"],
        ),
        (
            lambda: scale.fit_dask(
                PNMLRegressor(), X, da.from_array(spoiled(y, 3, np.inf), chunks=3)
            ),
            ["Partition 1", "y contains infinity"],
        ),
        (
            lambda: scale.fit_dask(PNMLRegressor(), X, y, -da.ones(12, chunks=3)),
            ["Partition ", "sample_weight has a negative value"],
        ),
        (
            lambda: scale.fit_dask(PNMLRegressor(), FRAME[["a"]], FRAME["s"]),
            ["Partition ", "y holds text"],
        ),
        (lambda: scale.fit_dask(PNMLRegressor(alpha=-1), X, y), ["alpha is -1"]),
        (
            lambda: scale.fit_dask(KernelPNMLRegressor(), X, y),
            ["KernelPNMLRegressor", "PNMLRegressor"],
        ),
        (lambda: scale.fit_dask(LpNMLRegressor(penalty="l1"), X, y), ["l1", "l2"]),
        (lambda: scale.fit_dask(PNMLClassifier(), X, y), ["LogisticRegression", "FrozenEstimator"]),
        (lambda: scale.k_fold_dask(PNMLClassifier(), X, y), ["PNMLClassifier has no penalty"]),
        (lambda: scale.k_fold_dask(PNMLRegressor(), X, y, folds=5), ["folds is 5", "4 partitions"]),
        (lambda: scale.k_fold_dask(PNMLRegressor(), X, y, folds=True), ["folds is True"]),
        (
            lambda: scale.k_fold_dask(PNMLRegressor(), X[y > 4], y[y > 4], folds=4),
            ["Fold 0 of 4 has no rows"],
        ),
        (lambda: scale.k_fold_dask(PNMLRegressor(), X, y, folds=2, alphas=[-1.0]), ["alphas"]),
        (lambda: PNMLRegressor().fit(X, y), ["X is a Dask Array", "pnml.scale.fit_dask"]),
        (lambda: PNMLRegressor().fit(FRAME[["a"]], FRAME["t"]), ["Dask DataFrame", "fit_dask"]),
        (lambda: PNMLRegressor().fit(np.ones((12, 2)), y), ["y is a Dask Array"]),
        (lambda: scale.lazily(PNMLRegressor()).predict_proba(X), ["has no predict_proba"]),
        (
            lambda: scale.lazily(
                PNMLRegressor().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
            ).regret(X),
            ["2 features", "1 features"],
        ),
        (
            lambda: scale.lazily(PNMLRegressor().fit([[0.0], [1.0]], [0.0, 1.0])).regret(TABLE),
            ["X is a DataFrame, not a Dask array"],
        ),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises(InputError) as caught:
        call()
    text = str(caught.value)
    assert text.endswith(".")
    assert not re.search(r"[.!?] [A-Z]", text), text
    assert "\n" not in text
    for word in words:
        assert word in text, text


def test_the_geometry_of_a_trained_classifier_adds_up(rng):
    rows = rng.normal(size=(900, 3)) * [1.0, 5.0, 1.0]
    labels = np.where(rows[:, 0] + rng.normal(size=900) > 0, "yes", "no")
    inside = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, labels)
    whole = PNMLClassifier(FrozenEstimator(inside)).fit(rows, labels)
    kept = da.from_array(np.arange(900) >= 0, chunks=100)
    model = scale.fit_dask(
        PNMLClassifier(FrozenEstimator(inside)),
        da.from_array(rows, chunks=(100, 3))[kept],
        da.from_array(labels, chunks=100)[kept],
    )
    new = rng.normal(size=(50, 3)) * 4
    np.testing.assert_allclose(model.regret(new), whole.regret(new), rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(new), whole.predict_proba(new), rtol=1e-10)
    np.testing.assert_array_equal(model.trusted(new), whole.trusted(new))
    told = scale.lazily(model).predict_proba(da.from_array(new, chunks=(20, 3)))
    assert told.chunks == ((20, 20, 10), (2,))
    np.testing.assert_allclose(told.compute(), model.predict_proba(new), rtol=1e-13)


@pytest.fixture
def fitted(rng):
    rows = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    return PNMLRegressor().fit(rows, rows.sum(axis=1) + rng.normal(size=60)), rows


ASKED = ["predict", "regret", "trusted", "predict_interval", "explain"]


@pytest.mark.parametrize("method", ASKED)
def test_answers_to_dataframes_are_lazy_and_keep_the_index(fitted, method):
    model, rows = fitted
    rows.index = np.arange(60) * 10
    frame = dd.from_pandas(rows.assign(number=range(60)), npartitions=4)
    some = frame[frame.number >= 20][list("abc")]  # leaves a partition without rows
    told = getattr(scale.lazily(model), method)(some)
    assert hasattr(told, "__dask_graph__")
    found, expected = told.compute(), getattr(model, method)(rows[20:])
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-13)
    np.testing.assert_array_equal(found.index, rows.index[20:])
    columns = {"predict_interval": ["lower", "upper"], "explain": list("abc")}
    names = {"predict": "prediction"}
    if found.ndim == 2:
        assert list(found.columns) == list(told.columns) == columns[method]
    else:
        assert found.name == told.name == names.get(method, method)


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_answers_to_arrays_are_lazy_and_have_the_same_chunks(rng, method, dtype):
    rows = (10 * rng.normal(size=(50, 3))).astype(dtype)
    model = PNMLRegressor().fit(rows, rng.normal(size=50))
    expected, tolerance = getattr(model, method)(rows), 1e-6 if dtype == "float32" else 1e-13
    told = getattr(scale.lazily(model), method)(da.from_array(rows, chunks=(20, 2)))
    assert told.chunks[0] == (20, 20, 10)
    assert (told.shape, told.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(told.compute(), expected, rtol=tolerance)
    lazy = da.from_array(rows, chunks=(20, 3))
    unknown = lazy[da.from_array(np.arange(50) >= 25, chunks=20)]
    np.testing.assert_array_equal(
        getattr(scale.lazily(model), method)(unknown).compute(), expected[25:]
    )


def test_options_reach_the_estimator(fitted):
    model, rows = fitted
    frame = dd.from_pandas(rows, npartitions=2)
    wide = scale.lazily(model).predict_interval(frame, coverage=0.99).compute()
    np.testing.assert_allclose(wide, model.predict_interval(rows, coverage=0.99), rtol=1e-13)
    strict = scale.lazily(model).trusted(frame, level=0.5).compute()
    np.testing.assert_array_equal(strict, model.trusted(rows, level=0.5))


def test_to_fit_lazily_is_to_fit_where_the_rows_are(rng):
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abt"))
    frame = dd.from_pandas(table, npartitions=4)
    both = scale.lazily(PNMLRegressor()).fit(frame, "t")
    assert isinstance(both, type(scale.lazily(PNMLRegressor())))
    truth = PNMLRegressor().fit(table[["a", "b"]], table["t"])
    told = both.regret(frame[["a", "b"]]).compute()
    np.testing.assert_allclose(told, truth.regret(table[["a", "b"]]), rtol=1e-10)
