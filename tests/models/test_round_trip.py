"""What comes back from a file is the model that went in."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

import child
from pnml import (
    ConformalRegressor,
    InputError,
    KernelPNMLRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLRegressor,
    RegretDifficulty,
    UniversalRegressor,
    load,
    save,
)

# Small models of ConformalRegressor say so.
pytestmark = pytest.mark.filterwarnings("ignore:The intervals are infinite")

EVERY_KERNEL = (
    RBF([1.0, 2.0, 3.0]) + ConstantKernel(2.0) * Matern(np.array([1.0, 2.0, 3.0]), nu=np.inf)
) ** 2 + ExpSineSquared() * (DotProduct() + RationalQuadratic()) * WhiteKernel(1e-3)

MODELS = {
    "ordinary": PNMLRegressor(),
    "ordinary, no intercept": PNMLRegressor(fit_intercept=False, noise_variance=0.5),
    "ridge": PNMLRegressor(alpha=np.float64(0.3)),
    "ridge by leave-one-out": PNMLRegressor(alpha="loo"),
    "luckiness": LpNMLRegressor(),
    "lasso": LpNMLRegressor(penalty="l1"),
    "lasso at a penalty": LpNMLRegressor(penalty="l1", alpha=0.7, fit_intercept=False),
    "norm ball": NormBallRegressor(),
    "norm ball at a radius": NormBallRegressor(radius=0.4, fit_intercept=True),
    "kernel": KernelPNMLRegressor(),
    "kernel by name": KernelPNMLRegressor(kernel=np.str_("poly"), degree=2, gamma=0.1),
    "kernel of scikit-learn": KernelPNMLRegressor(kernel=EVERY_KERNEL, alpha=0.1),
    "universal": UniversalRegressor(),
    "universal over a list": UniversalRegressor(
        [("kernel", KernelPNMLRegressor(kernel=RBF(2.0))), ("ridge", PNMLRegressor(alpha=0.1))]
    ),
    "split": ConformalRegressor(random_state=0),
    "split around another": ConformalRegressor(NormBallRegressor(), random_state=np.int64(1)),
    "split around a list": ConformalRegressor(UniversalRegressor(), random_state=0),
    "jackknife+": ConformalRegressor(PNMLRegressor(alpha=0.1), method="jackknife+"),
    "difficulty": RegretDifficulty(LpNMLRegressor()),
}


def rows(n=24, d=3):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] - X[:, -1] ** 2 + 0.3 * rng.normal(size=n)


def new_rows(d=3):
    X = np.random.default_rng(2).normal(size=(9, d))
    X[5:] *= 20
    return X


def fitted(name, X=None, y=None):
    return clone(MODELS[name]).fit(*(rows() if X is None else (X, y)))


def back(model, folder):
    path = folder / "model.pnml"
    save(model, path)
    return load(path)


def answers(model, X):
    """Everything that a model says of rows, by name."""
    said = {"predict": model.predict(X)}
    for name in ("predict_interval", "regret", "regret_bound", "trusted", "explain"):
        if hasattr(model, name):
            said[name] = getattr(model, name)(X)
    if hasattr(model, "predict_dist"):
        dist = model.predict_dist(X)
        said |= {"std": dist.std, "log_prob": dist.log_prob(said["predict"] + 1)}
    if hasattr(model, "loo_"):
        said |= {f"loo_ {k}": v for k, v in vars(model.loo_).items() if k != "path"}
        if model.loo_.path is not None:
            said |= {f"path {name}": value for name, value in vars(model.loo_.path).items()}
    for name in ("coef_", "intercept_", "alpha_", "noise_variance_", "radius_", "gamma_"):
        if hasattr(model, name):
            said[name] = getattr(model, name)
    return said


def assert_same(model, again, X):
    assert type(again) is type(model)
    before, after = answers(model, X), answers(again, X)
    assert before.keys() == after.keys()
    for name, value in before.items():
        same_kind = np.asarray(value).dtype == np.asarray(after[name]).dtype
        assert same_kind, name
        assert np.asarray(value).tobytes() == np.asarray(after[name]).tobytes(), name


def assert_same_params(model, again):
    before, after = model.get_params(), again.get_params()
    assert before.keys() == after.keys()
    for name, value in before.items():
        if isinstance(value, BaseEstimator):
            assert type(after[name]) is type(value)
        elif name != "estimators":
            assert type(after[name]) is type(value)
            assert np.all(after[name] == value), name
    assert repr(again) == repr(model)


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_answers_the_same_to_the_last_bit(name, tmp_path):
    model = fitted(name)
    again = back(model, tmp_path)
    assert_same(model, again, new_rows())
    assert_same_params(model, again)
    assert set(vars(again)) == set(vars(model))


@pytest.mark.parametrize("name", MODELS)
def test_models_of_float32_rows_survive(name, tmp_path):
    X, y = rows()
    model = fitted(name, X.astype(np.float32), y.astype(np.float32))
    assert_same(model, back(model, tmp_path), new_rows().astype(np.float32))


@pytest.mark.parametrize("name", ["ordinary", "ridge by leave-one-out", "luckiness", "lasso"])
def test_more_features_than_rows_and_infinite_regrets_survive(name, tmp_path):
    model = fitted(name, *rows(n=6, d=9))
    again = back(model, tmp_path)
    assert_same(model, again, new_rows(9))
    if name == "ordinary":
        assert np.isinf(again.regret(new_rows(9))).all()


@pytest.mark.parametrize("name", MODELS)
def test_saving_a_loaded_model_writes_the_same_bytes(name, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    save(fitted(name), first)
    save(load(first), second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("model", [PNMLRegressor(), LpNMLRegressor(), PNMLRegressor(alpha=0.2)])
@pytest.mark.parametrize("asked_before", [False, True])
def test_a_stream_goes_on_as_if_nothing_had_happened(model, asked_before, tmp_path):
    X, y = rows(n=9000, d=2)
    weights = np.random.default_rng(3).uniform(0.5, 2, size=9000)
    model = clone(model)
    model.partial_fit(X[:5000], y[:5000], weights[:5000])  # more rows than the sample keeps
    if asked_before:
        model.predict(X[:1])
    again = back(model, tmp_path)
    for part in (slice(5000, 5010), slice(5010, 9000)):
        model.partial_fit(X[part], y[part], weights[part])
        again.partial_fit(X[part], y[part], weights[part])
        assert_same(model, again, new_rows(2))


def test_rows_in_memory_go_on_as_a_stream_after_loading(tmp_path):
    X, y = rows(n=60)
    model = PNMLRegressor(alpha="loo").fit(X[:40], y[:40])
    again = back(model, tmp_path)
    assert_same(model.partial_fit(X[40:], y[40:]), again.partial_fit(X[40:], y[40:]), new_rows())
    assert_same(model, back(again, tmp_path), new_rows())


@pytest.mark.parametrize("name", ["ordinary", "lasso", "norm ball", "kernel", "universal", "split"])
def test_column_names_are_still_checked_after_loading(name, tmp_path):
    X, y = rows()
    table = pd.DataFrame(X, columns=["age", "größe", 'a "quoted"\nname \\ 𝛼'])
    again = back(fitted(name, table, y), tmp_path)
    assert again.feature_names_in_.tolist() == table.columns.tolist()
    again.predict(table)
    with pytest.raises(InputError, match="feature names should match"):
        again.predict(table[table.columns[::-1]])


def test_float32_rows_still_get_float32_answers(tmp_path):
    again = back(PNMLRegressor().fit(*rows()), tmp_path)
    assert again.regret(new_rows().astype(np.float32)).dtype == np.float32


def test_what_is_one_object_stays_one_object(tmp_path):
    again = back(UniversalRegressor().fit(*rows()), tmp_path)
    assert list(again.named_estimators_) == ["ordinary", "ridge", "luckiness"]
    named = again.named_estimators_.values()
    assert all(a is b for a, b in zip(named, again.estimators_, strict=True))
    folds = back(ConformalRegressor(method="jackknife+").fit(*rows()), tmp_path)
    assert folds._calibration.spectrum is folds.estimator_.spectrum_


def test_another_process_gets_the_same_bits(tmp_path):
    model = KernelPNMLRegressor().fit(*rows())
    save(model, tmp_path / "model.pnml")
    np.save(tmp_path / "rows.npy", new_rows())
    code = (
        "import sys, numpy, pnml; model = pnml.load('model.pnml'); "
        "print(model.regret(numpy.load('rows.npy')).tobytes().hex())"
    )
    done = child.python(code, check=True, cwd=tmp_path)
    assert done.stdout.strip() == model.regret(new_rows()).tobytes().hex()


def test_pickle_has_no_part_in_it(tmp_path, monkeypatch):
    model = fitted("kernel of scikit-learn")

    def refuse(*_, **__):
        raise AssertionError("pickle was used")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    back(model, tmp_path)
