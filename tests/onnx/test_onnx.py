"""Exported regressors and classifiers say in onnxruntime what the library says."""

from __future__ import annotations

import builtins
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from examples import examples

onnx_sessions = pytest.importorskip("onnx_sessions")

import onnx  # noqa: E402
import pnml  # noqa: E402
from pnml import (  # noqa: E402
    InputError,
    KernelPNMLRegressor,
    LpNMLRegressor,
    PNMLClassifier,
    PNMLRegressor,
    export_onnx,
)
from pnml.onnx.graph import Graph, element_of  # noqa: E402
from pnml.onnx.operations import xp  # noqa: E402
from pnml.onnx.traced import as_traced  # noqa: E402

DTYPES = ["float64", "float32"]
REGRESSORS = [
    PNMLRegressor(),
    PNMLRegressor(alpha=0.1, fit_intercept=False),
    PNMLRegressor(alpha="loo", noise_variance=0.5),
    LpNMLRegressor(alpha=0.1),
    LpNMLRegressor(alpha=0.0),
    LpNMLRegressor(fit_intercept=False),
]


def table(rng, kind, n=60, d=6):
    """Training rows of a kind, and rows to judge: seen ones, others, and one far out."""
    X = rng.normal(size=(n, d))
    if kind == "rank-deficient":
        X = X[:, :3] @ rng.normal(size=(3, d))
    if kind == "wide":
        X = X[:4]
    if kind == "units":
        X = X * np.array([1e9, 1e-9, 1.0, 1e5, 1e-4, 1.0]) + np.array([1e11, 0.0, 50.0, 0, 1, 0])
    spread = X.std(axis=0)
    other = X.mean(axis=0) + 3 * spread * rng.normal(size=(9, d))
    return X, np.vstack([X[:9], other, X.mean(axis=0) + 1e4 * spread])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["plain", "rank-deficient", "wide", "units"])
@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_a_regressor_is_the_same_in_onnxruntime(model, kind, dtype, rng, tmp_path):
    X, new = table(rng, kind)
    y = X[:, 2] / X[:, 2].std() + 0.1 * rng.normal(size=len(X))
    new = new.astype(dtype)
    model.fit(X, y)
    path = tmp_path / "model.onnx"
    export_onnx(model, path, dtype=dtype)
    with np.errstate(over="ignore"):
        outputs, said = onnx_sessions.run(path, new), model.predict_dist(new)
    onnx_sessions.assert_same(outputs, said, dtype, atol=1e-12 * np.abs(said.mean).max())
    assert list(outputs) == ["prediction", "std", "regret"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_direction_never_seen_has_infinite_regret_and_std_and_a_finite_prediction(
    dtype, rng, tmp_path
):
    X = rng.normal(size=(30, 3)) * [1.0, 1.0, 0.0]
    model = PNMLRegressor().fit(X, X[:, 0] + 0.1 * rng.normal(size=30))
    export_onnx(model, tmp_path / "m.onnx", dtype=dtype)
    rows = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1e-3], [np.nan, 0.0, 0.0]], dtype=dtype)
    found = onnx_sessions.run(tmp_path / "m.onnx", rows)
    assert np.isfinite(found["prediction"][:2]).all()
    np.testing.assert_array_equal(np.isinf(found["regret"]), [False, True, False])
    np.testing.assert_array_equal(np.isinf(found["std"]), [False, True, False])
    assert np.isnan([found[name][2] for name in found]).all()  # never a number for no number


@settings(max_examples=examples(25))
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    d=st.integers(1, 8),
    rank=st.integers(1, 8),
    alpha=st.sampled_from([0.0, 1e-6, 1.0]),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e30]),
    lucky=st.booleans(),
)
def test_any_least_squares_is_the_same_in_float64(
    seed, n, d, rank, alpha, scale, lucky, tmp_path_factory
):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, min(rank, d))) @ rng.normal(size=(min(rank, d), d))
    model = (LpNMLRegressor if lucky else PNMLRegressor)(alpha=alpha, noise_variance=0.3)
    model.fit(X, rng.normal(size=n))
    path = tmp_path_factory.mktemp("onnx") / "m.onnx"
    export_onnx(model, path, dtype="float64")
    new = np.vstack([X[:1], scale * rng.normal(size=(3, d))])
    said = model.predict_dist(new)
    onnx_sessions.assert_same(
        onnx_sessions.run(path, new), said, "float64", atol=1e-9 * np.abs(said.mean).max()
    )


def test_a_stream_and_its_weights_are_exported_too(rng, tmp_path):
    X = rng.normal(size=(50, 4))
    model = PNMLRegressor().partial_fit(X, X[:, 0] + rng.normal(size=50), rng.uniform(size=50))
    export_onnx(model, tmp_path / "m.onnx", dtype="float64")
    found = onnx_sessions.run(tmp_path / "m.onnx", 2 * X)
    onnx_sessions.assert_same(found, model.predict_dist(2 * X), "float64", atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("classes", "settings"),
    [
        (2, {}),
        (2, {"alpha": 0.0}),
        (5, {"normalize": True}),
        (5, {"estimator": LogisticRegression(C=1e6, max_iter=1000)}),
        (100, {"estimator": LogisticRegression()}),
    ],
)
@pytest.mark.filterwarnings("ignore:lbfgs failed")
def test_a_classifier_is_the_same_in_onnxruntime(classes, settings, dtype, rng, tmp_path):
    X = rng.normal(size=(400, 6)) * [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    labels = np.array([f"class {k}" for k in range(classes)])
    y = labels[np.arange(400) % classes]
    model = PNMLClassifier(**settings).fit(X + 2 * (np.arange(400) % classes == 0)[:, None], y)
    export_onnx(model, tmp_path / "m.onnx", dtype=dtype)
    new = np.vstack([X[:20], 50 * rng.normal(size=(20, 6))]).astype(dtype)
    found = onnx_sessions.run(tmp_path / "m.onnx", new)
    onnx_sessions.assert_same(found, model.predict_dist(new), dtype)
    assert list(found) == ["log_prob", "regret"]
    metadata = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(metadata["classes"]) == model.classes_.tolist()


def test_tiny_regrets_of_confident_rows_keep_their_digits(tmp_path):
    X = np.linspace(-1, 1, 2000)[:, None]
    model = PNMLClassifier(LogisticRegression(C=100.0)).fit(X, X[:, 0] > 0)
    export_onnx(model, tmp_path / "m.onnx", dtype="float64")
    regret = model.regret(X)
    assert regret.min() < 1e-15
    found = onnx_sessions.run(tmp_path / "m.onnx", X)["regret"]
    np.testing.assert_allclose(found, regret, rtol=1e-9)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        ("log1p", np.concatenate([[0.0, np.inf], np.logspace(-300, 300, 2000)])),
        ("expm1", -np.concatenate([[0.0, np.inf], np.logspace(-300, 3, 2000)])),
    ],
)
def test_functions_that_onnx_lacks_are_exact(function, values, tmp_path):
    graph = Graph()
    x = as_traced(graph, graph.input("X", element_of("float64"), ["rows"]), "float64", (-1,))
    y = getattr(xp, function)(x)
    model = graph.model({"y": (y.name, element_of("float64"), ["rows"])}, {})
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    found = onnx_sessions.run(tmp_path / "m.onnx", values)["y"]
    np.testing.assert_allclose(found, getattr(np, function)(values), rtol=2e-15)


@pytest.mark.parametrize("rows", [1, 2, 700])
def test_a_graph_takes_any_number_of_rows(rows, rng, tmp_path):
    X = rng.normal(size=(30, 3))
    model = PNMLRegressor().fit(X, X[:, 0] + rng.normal(size=30))
    export_onnx(model, tmp_path / "m.onnx")
    found = onnx_sessions.run(tmp_path / "m.onnx", np.zeros((rows, 3), dtype=np.float32))
    assert {values.shape for values in found.values()} == {(rows,)}


def test_what_cannot_be_exported_says_so_in_a_sentence_and_leaves_no_file(rng, tmp_path):
    X = rng.normal(size=(30, 2))
    y, labels = X[:, 0] + rng.normal(size=30), X[:, 0] > 0
    refused = {
        "KernelPNMLRegressor cannot be exported": KernelPNMLRegressor().fit(X, y),
        'penalty="l2"': LpNMLRegressor(penalty="l1", alpha=0.1).fit(X, y),
        'method="analytic"': PNMLClassifier(method="refit").fit(X, labels),
        "A str cannot be exported": "model",
    }
    for words, model in refused.items():
        with pytest.raises(InputError, match=words):
            export_onnx(model, tmp_path / "m.onnx")
    with pytest.raises(NotFittedError):
        export_onnx(PNMLRegressor(), tmp_path / "m.onnx")
    model = PNMLRegressor().fit(X, y)
    with pytest.raises(InputError, match="dtype is 'float16'"):
        export_onnx(model, tmp_path / "m.onnx", dtype="float16")
    with pytest.raises(InputError, match="Cannot write"):
        export_onnx(model, tmp_path / "nowhere" / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named_with_the_extra(monkeypatch, rng, tmp_path):
    model = PNMLRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.5])
    plain = builtins.__import__

    def without(name, *rest):
        if name == "pnml.onnx.pipelines":
            raise ModuleNotFoundError("No module named 'onnx'", name="onnx")
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r'needs onnx, .*pip install "pnml\[onnx\]"'):
        pnml.export_onnx(model, tmp_path / "m.onnx")
