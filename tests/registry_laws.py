"""What every registered learner must keep to. A law is a function of one registration.

`tests/laws/` runs them over the registry, and over the learner of docs/add-a-learner.md.
"""

from __future__ import annotations

import dataclasses
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

from pnml import InputError, export_onnx, load, save
from pnml.core.trust import Reference
from pnml.estimators.base import learner_of
from pnml.learners.least_squares import LeastSquares
from pnml.learners.one_step import OneStep

LEVELS = (0.5, 0.9, 0.99, 1.0)
_HAVE_GRAPHS = (LeastSquares, OneStep)


def training(task, n=36, seed=3):
    """Rows (n, 3) and labels of a task."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [2.0, 1.0, 0.5]
    signal = X[:, 0] - X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    if task == "regression":
        return X, signal
    return X, np.where(signal > 0.3, "high", np.where(signal > -1, "middle", "low"))


def new_rows():
    """Rows near the training rows, and rows far from them."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(14, 3))
    X[9:] *= 30
    return np.vstack([X, training("regression")[0][:4]])


_FITTED: dict[str, object] = {}


def fitted(entry):
    """The learner, fitted once for all laws."""
    if entry.name not in _FITTED:
        _FITTED[entry.name] = entry.make().fit(*training(entry.task))
    return _FITTED[entry.name]


def evidence(model, X):
    """Regret and leverage of rows, asked one by one and not as the verdict asks them."""
    reference = model.reference_
    if reference.excesses is not None:
        base = model.learner_.base
        rows = base.read(X)
        leverage = None if reference.leverages is None else base.leverage(rows)
        return model.regret(X), leverage, base.never_seen(rows), base.excess(rows)
    if reference.leverages is None:
        return model.regret(X), None
    model = getattr(model, "estimator_", model) if not hasattr(model, "learner_") else model
    inside = [member.learner_ for member in getattr(model, "estimators_", [])]
    rows = [X for _ in inside] if inside else X
    return model.regret(X), model.learner_.leverage(rows)


def law_of_values(entry, folder):
    """A fitted learner is a frozen value."""
    model = fitted(entry)
    value = learner_of(model)
    assert dataclasses.is_dataclass(value)
    assert type(value).__dataclass_params__.frozen
    assert isinstance(value.reference, Reference)
    assert (is_regressor if entry.task == "regression" else is_classifier)(model)


def law_of_verdicts(entry, folder):
    """Row by row, trusted is the rule of core.trust on the learner's own reference."""
    model, X = fitted(entry), new_rows()
    known = evidence(model, X)
    for level in LEVELS:
        found = model.trusted(X, level)
        assert found.dtype == bool
        expected = model.reference_.thresholds(level).trusts(*known)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.trusted(X), model.trusted(X, level=0.99))


def law_of_displays(entry, folder):
    """The picture of regrets shows the model's threshold and its verdicts."""
    plots = pytest.importorskip("pnml.plots")
    plt = pytest.importorskip("matplotlib.pyplot")
    model, X = fitted(entry), new_rows()
    y = model.predict(X)
    for level in LEVELS:
        shown = plots.RegretDisplay.from_estimator(model, X, level=level)
        np.testing.assert_array_equal(shown.trusted, model.trusted(X, level))
        assert shown.threshold == model.reference_.thresholds(level).regret
        np.testing.assert_array_equal(shown.training, model.reference_.regrets)
    plots.RiskCoverageDisplay.from_estimator(model, X, y)
    if hasattr(model, "spectrum_"):
        plots.SpectrumDisplay.from_estimator(model, X)
    else:
        with pytest.raises(InputError, match="keeps no spectrum"):
            plots.SpectrumDisplay.from_estimator(model, X)
    plt.close("all")


def law_of_answers(entry, folder):
    """Regrets and explanations are numbers of at least 0, and rows do not matter to each other."""
    model, X = fitted(entry), new_rows()
    regret, shares = model.regret(X), model.explain(X)
    assert regret.shape == (len(X),)
    assert np.all(regret >= 0)
    assert np.all(shares >= 0)
    assert len(shares) == len(X)
    np.testing.assert_allclose(model.regret(X[4:7]), regret[4:7], rtol=1e-9, atol=1e-6)
    if entry.task == "classification":
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        assert np.all(regret <= np.log(len(model.classes_)) + 1e-9)
    else:
        interval = model.predict_interval(X)
        assert np.all(interval[:, 0] <= interval[:, 1])
        assert np.all(model.predict(X, return_std=True)[1] > 0)


def law_of_copies(entry, folder):
    """A pickled model answers alike, and a clone fitted again too."""
    model, X = fitted(entry), new_rows()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.regret(X), model.regret(X))
    other = clone(model).fit(*training(entry.task))
    np.testing.assert_array_equal(other.regret(X), model.regret(X))


def law_of_files(entry, folder):
    """What comes back from a model file is the model that went in."""
    model, X = fitted(entry), new_rows()
    save(model, folder / "model.pnml")
    again = load(folder / "model.pnml")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.regret(X), model.regret(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.trusted(X), model.trusted(X))
    np.testing.assert_array_equal(again.explain(X), model.explain(X))
    save(again, folder / "again.pnml")
    if entry.name.startswith("catboost"):  # its own format has a new identifier each time
        return
    assert (folder / "again.pnml").read_bytes() == (folder / "model.pnml").read_bytes()


def law_of_graphs(entry, folder):
    """A learner has an ONNX graph with its regret, or says in one sentence that it has none."""
    pytest.importorskip("onnx")
    model, X, path = fitted(entry), new_rows(), folder / "model.onnx"
    if type(learner_of(model)) not in _HAVE_GRAPHS or not hasattr(model, "learner_"):
        with pytest.raises(InputError, match=r"cannot be exported to ONNX.*\.$"):
            export_onnx(model, path, dtype="float64")
        assert not path.exists()
        return
    export_onnx(model, path, dtype="float64")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path)
    (given,) = session.get_inputs()
    names = [out.name for out in session.get_outputs()]
    said = dict(zip(names, session.run(None, {given.name: X}), strict=True))
    np.testing.assert_allclose(said["regret"], model.regret(X), rtol=1e-8, atol=1e-10)


def law_of_bad_input(entry, folder):
    """Bad rows, labels and levels are refused, each in one sentence."""
    X, y = training(entry.task)
    model = fitted(entry)
    for ask in ("predict", "regret", "trusted", "explain"):
        with pytest.raises(NotFittedError):
            getattr(entry.make(), ask)(X)
        _refused(lambda ask=ask: getattr(model, ask)(X[:, :2]), "expecting 3 features")
        _refused(lambda ask=ask: getattr(model, ask)(X[0]), "Expected 2D array")
        infinite = X.copy()
        infinite[2, 1] = np.inf
        if entry.make_coded is None:  # of others the model inside decides
            _refused(lambda ask=ask, X=infinite: getattr(model, ask)(X), "infinity")
    for level in (0, 1.5, "high", None, np.nan):
        _refused(lambda level=level: model.trusted(X, level), "quantile of the training regrets")
    _refused(lambda: entry.make().fit(X, y[:-1]), "36 rows but y has 35")
    _refused(lambda: entry.make().fit(X, None), "requires y to be passed")
    _refused(lambda: entry.make().fit(X[:, :0], y), "0 feature")
    words = X.astype(object)
    words[3, 0] = "three"
    if entry.make_coded is None:
        _refused(lambda: entry.make().fit(words, y), "text|could not convert")


def _refused(call, match):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=match):
            call()


LAWS = [
    law_of_values,
    law_of_verdicts,
    law_of_displays,
    law_of_answers,
    law_of_copies,
    law_of_files,
    law_of_graphs,
    law_of_bad_input,
]
