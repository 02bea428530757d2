"""Numbers in a file are what their fields say, or the file is refused before it is used."""

from __future__ import annotations

import copy
import warnings
from contextlib import suppress

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct

from pnml import (
    ConformalRegressor,
    InputError,
    KernelPNMLRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLClassifier,
    PNMLRegressor,
    PNMLTreeRegressor,
    load,
    save,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 2))
y = X[:, 0] + 0.3 * rng.normal(size=24)

MODELS = {
    "pnml": lambda: PNMLRegressor(alpha="loo").fit(X, y),
    "stream": lambda: PNMLRegressor(alpha=0.1).partial_fit(X, y),
    "lasso": lambda: LpNMLRegressor(penalty="l1", alpha=0.1).fit(X, y),
    "ball": lambda: NormBallRegressor().fit(X, y),
    "kernel": lambda: KernelPNMLRegressor(kernel=RBF() + DotProduct()).fit(X, y),
    "named kernel": lambda: KernelPNMLRegressor(kernel="poly").fit(X, y),
    "split": lambda: ConformalRegressor(PNMLRegressor(), random_state=0).fit(X, y),
    "jackknife": lambda: ConformalRegressor(PNMLRegressor(), method="jackknife+").fit(X, y),
    "classes": lambda: PNMLClassifier().fit(X, y > 0),
    "tree": lambda: PNMLTreeRegressor().fit(X, y),
}
NAN = {"float": "nan"}

# model, class, field, the number put there
REFUSED = [
    ("pnml", "Spectrum", "h2", -1.0),
    ("pnml", "Spectrum", "V", np.nan),
    ("pnml", "Spectrum", "center", np.inf),
    ("pnml", "Spectrum", "weight", -1.0),
    ("pnml", "Choice", "alpha", NAN),
    ("pnml", "Choice", "noise_variance", -1.0),
    ("pnml", "LeaveOneOut", "weights", -1.0),
    ("pnml", "LeaveOneOut", "regrets", np.nan),
    ("pnml", "Factor", "R", np.nan),
    ("pnml", "Factor", "rows", -1),
    ("pnml", "PNMLRegressor", "alpha", []),
    ("pnml", "PNMLRegressor", "fit_intercept", "x"),
    ("stream", "Gram", "xx", np.inf),
    ("stream", "RowSample", "keys", np.nan),
    ("stream", "RowSample", "size", -3),
    ("lasso", "ActiveSet", "magnitude", -1.0),
    ("ball", "Ball", "h2", 0.0),
    ("kernel", "KernelPNMLRegressor", "_h2", -1.0),
    ("kernel", "KernelPNMLRegressor", "gamma_", 0.0),
    ("kernel", "RBF", "length_scale", "x"),
    ("kernel", "Sum", "k1", 3),
    ("named kernel", "KernelPNMLRegressor", "kernel", "x"),
    ("named kernel", "KernelPNMLRegressor", "degree", None),
    ("split", "ConformalRegressor", "_calibration", 1e9),  # the first of scores in order
    ("jackknife", "RidgeFolds", "slack", -1.0),
    ("classes", "LogisticRegression", "coef_", np.nan),
    ("tree", "ValueLeaves", "weight", -1.0),
    ("tree", "PNMLTreeRegressor", "estimator", True),
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory, layout):
    """The parts of the file of each model."""
    path = tmp_path_factory.mktemp("values") / "model.pnml"
    parts = {}
    for name, make in MODELS.items():
        save(make(), path)
        parts[name] = layout.take_apart(path)
    return parts


def changed(parts, layout, item, part, field, value):
    """The parts with one number of one field of an object changed."""
    parts = copy.deepcopy(parts)
    held = parts.document["objects"][item][part]
    stored = held[field]
    if isinstance(stored, dict) and "array" in stored and isinstance(value, float):
        at = parts.entries[stored["array"]]["data_offsets"][0]
        data = np.array([value], dtype=float).tobytes()
        parts.payload = parts.payload[:at] + data + parts.payload[at + 8 :]
    else:
        held[field] = value
    return parts


@pytest.mark.parametrize(("model", "cls", "field", "value"), REFUSED)
def test_a_number_that_its_field_cannot_have_is_refused(
    model, cls, field, value, kept, layout, tmp_path
):
    objects = kept[model].document["objects"]
    places = [
        (i, part)
        for i, item in enumerate(objects)
        for part in ("params", "state")
        if item["class"] == cls and field in item.get(part, {})
    ]
    assert places
    path = tmp_path / "changed.pnml"
    for item, part in places:
        layout.put_together(path, changed(kept[model], layout, item, part, field, value))
        with pytest.raises(InputError, match=r" of a \w+ (must be|is of another kind)"):
            load(path)


def use(model):
    repr(model)
    for name in ("predict", "regret", "trusted", "explain", "predict_interval", "predict_proba"):
        method = getattr(model, name, None)
        if method is not None:
            method(X[:3])


@pytest.mark.parametrize("model", MODELS)
def test_a_file_with_one_odd_number_is_refused_or_answers(model, kept, layout, tmp_path):
    """No odd number gets as far as an error that is not a sentence."""
    path = tmp_path / "changed.pnml"
    for i, item in enumerate(kept[model].document["objects"]):
        for part in ("params", "state"):
            for field in item.get(part, {}):
                for value in (np.nan, -1.0, NAN, "x", None):
                    if isinstance(value, float) and "array" not in str(item[part][field]):
                        continue
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        layout.put_together(
                            path, changed(kept[model], layout, i, part, field, value)
                        )
                        with suppress(InputError):
                            use(load(path))


def test_what_may_be_infinite_still_may(tmp_path):
    """Rows alone in their direction have infinite regrets, which are no error."""
    alone = np.eye(4)
    model = PNMLRegressor(noise_variance=1.0, fit_intercept=False).fit(alone, np.arange(4.0))
    assert np.isinf(model.loo_.regrets).all()
    save(model, tmp_path / "m.pnml")
    assert np.isinf(load(tmp_path / "m.pnml").loo_.regrets).all()
