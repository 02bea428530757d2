"""Pipelines come back from a file the same to the last bit; other steps are refused by name."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import compose
from sklearn import pipeline as scikit_learn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from examples import examples
from pnml import (
    ConformalRegressor,
    InputError,
    Pipeline,
    PNMLClassifier,
    PNMLRegressor,
    PNMLTreeRegressor,
    TransformedTargetRegressor,
    load,
    make_pipeline,
    save,
)
from sentences import assert_done_or_refused, assert_refused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.2 * RNG.normal(size=60)
GAPS = X.copy()
GAPS[[2, 5], [1, 0]] = np.nan
TABLE = pd.DataFrame(
    {
        "size": X[:, 0],
        "town": RNG.choice(["Ulm", "Bonn", "Jena"], 60),
        "kind": RNG.choice(["u", "v"], 60),
        "rooms": RNG.integers(0, 3, 60),
    }
)
WORDS_WITH_GAPS = TABLE.assign(kind=TABLE["kind"].where(TABLE.index != 3, None))
RIDGE = PNMLRegressor(alpha=0.1)


def columns(**options):
    numbers = scikit_learn.make_pipeline(SimpleImputer(), StandardScaler())
    words = OneHotEncoder(drop="first")
    parts = [("n", numbers, ["size"]), ("w", words, ["town", "kind"]), ("p", "passthrough", [3])]
    return ColumnTransformer(parts, **options)


MODELS = {
    "scaler": (make_pipeline(StandardScaler(), PNMLRegressor()), X),
    "scalers": (make_pipeline(MinMaxScaler(), MaxAbsScaler(), RobustScaler(), RIDGE), X),
    "scalers that do less": (
        make_pipeline(StandardScaler(with_std=False), RobustScaler(with_centering=False), RIDGE),
        X,
    ),
    "products and components": (
        make_pipeline(VarianceThreshold(), PolynomialFeatures((1, 3)), PCA(4, whiten=True), RIDGE),
        X,
    ),
    "interactions": (make_pipeline(PolynomialFeatures(interaction_only=True), RIDGE), X),
    "imputer": (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), RIDGE), GAPS),
    "scaler before imputer": (make_pipeline(StandardScaler(), SimpleImputer(), RIDGE), GAPS),
    "powers": (
        make_pipeline(PowerTransformer(), QuantileTransformer(n_quantiles=9), RIDGE),
        X,
    ),
    "functions": (
        make_pipeline(FunctionTransformer(np.arcsinh), "passthrough", FunctionTransformer(), RIDGE),
        X,
    ),
    "columns": (make_pipeline(columns(), RIDGE), TABLE),
    "columns as frames": (
        make_pipeline(
            ColumnTransformer([("s", StandardScaler(), ["size"])], remainder="drop"), RIDGE
        ).set_output(transform="pandas"),
        TABLE,
    ),
    "columns by place": (
        make_pipeline(
            ColumnTransformer(
                [("s", StandardScaler(), [0]), ("d", "drop", slice(1, 2))], remainder=MinMaxScaler()
            ),
            RIDGE,
        ),
        X,
    ),
    "words with gaps": (
        make_pipeline(
            ColumnTransformer(
                [
                    ("n", StandardScaler(), make_column_selector(dtype_include=np.number)),
                    ("o", OrdinalEncoder(encoded_missing_value=-2), ["town", "kind"]),
                    ("h", OneHotEncoder(handle_unknown="ignore"), ["kind"]),
                ]
            ),
            RIDGE,
        ),
        WORDS_WITH_GAPS,
    ),
    "rare words": (
        make_pipeline(
            ColumnTransformer(
                [
                    ("h", OneHotEncoder(min_frequency=25, sparse_output=False), ["town", "kind"]),
                    ("o", OrdinalEncoder(max_categories=2), ["town", "rooms"]),
                ],
                remainder="passthrough",
            ),
            RIDGE,
        ),
        TABLE,
    ),
    "filled words": (
        make_pipeline(
            ColumnTransformer(
                [
                    (
                        "w",
                        make_pipeline(
                            SimpleImputer(strategy="most_frequent", missing_values=None),
                            OneHotEncoder(drop="if_binary"),
                        ),
                        ["kind"],
                    ),
                    ("n", StandardScaler(), ["size"]),
                ]
            ),
            RIDGE,
        ),
        TABLE.astype({"kind": object}),
    ),
    "frames": (
        make_pipeline(StandardScaler(), PCA(), RIDGE).set_output(transform="pandas"),
        pd.DataFrame(X, columns=["a", "b", "c"]),
    ),
    "nested": (
        make_pipeline(
            scikit_learn.make_pipeline(StandardScaler(), PCA(2)),
            make_pipeline(MinMaxScaler(), PNMLRegressor()),
        ),
        X,
    ),
    "classifier": (make_pipeline(StandardScaler(), PNMLClassifier(LogisticRegression())), X),
    "tree": (make_pipeline(StandardScaler(), PNMLTreeRegressor()), X),
    "conformal": (make_pipeline(StandardScaler(), ConformalRegressor(random_state=0)), X),
    "inside conformal": (
        ConformalRegressor(make_pipeline(StandardScaler(), PNMLRegressor()), random_state=0),
        X,
    ),
    "function of the label": (
        TransformedTargetRegressor(func=np.arcsinh, inverse_func=np.sinh),
        X,
    ),
    "transformer of the label": (
        make_pipeline(
            StandardScaler(),
            TransformedTargetRegressor(
                make_pipeline(PCA(), PNMLRegressor()), transformer=PowerTransformer()
            ),
        ),
        X,
    ),
    "chain for the label": (
        TransformedTargetRegressor(
            RIDGE,
            transformer=scikit_learn.make_pipeline(
                StandardScaler(), QuantileTransformer(n_quantiles=20)
            ),
        ),
        pd.DataFrame(X, columns=["a", "b", "c"]),
    ),
    "no monotone transform": (
        TransformedTargetRegressor(func=np.square, inverse_func=np.sqrt, check_inverse=False),
        X,
    ),
}


def fitted(name):
    model, rows = MODELS[name]
    return clone(model).fit(rows, Y > 0 if name == "classifier" else Y), rows


def back(model, folder):
    save(model, folder / "model.pnml")
    return load(folder / "model.pnml")


def answers(model, rows):
    """Everything that a model says of rows; a sentence where it refuses."""
    said = {}
    for name in ("predict", "predict_proba", "predict_interval", "regret", "trusted", "explain"):
        if hasattr(model, name):
            with contextlib.suppress(InputError):
                said[name] = getattr(model, name)(rows)
    with contextlib.suppress(InputError):
        dist = model.predict_dist(rows)
        said["dist"] = dist.prob if hasattr(dist, "prob") else dist.log_prob(Y)
    return said


@pytest.mark.filterwarnings("ignore:invalid value")  # a square root beyond its image
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_pipeline_answers_the_same_to_the_last_bit(name, tmp_path):
    model, rows = fitted(name)
    again = back(model, tmp_path)
    before, after = answers(model, rows), answers(again, rows)
    assert before.keys() == after.keys() >= {"predict", "regret", "trusted", "explain"}
    for key, value in before.items():
        assert np.asarray(value).dtype == np.asarray(after[key]).dtype
        assert np.asarray(value).tobytes() == np.asarray(after[key]).tobytes(), key


@pytest.mark.parametrize("name", [name for name in MODELS if name != "classifier"])
def test_saving_a_loaded_pipeline_writes_the_same_bytes(name, tmp_path):
    save(fitted(name)[0], tmp_path / "first")
    save(load(tmp_path / "first"), tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def parts(model):
    """An estimator and all those inside it."""
    yield model
    for _, value in sorted(vars(model).items()):
        items = value if isinstance(value, list) else [value]
        for item in items:
            inner = item[1] if isinstance(item, tuple) and len(item) > 1 else item
            if hasattr(inner, "get_params"):
                yield from parts(inner)


@pytest.mark.parametrize("name", MODELS)
def test_every_step_has_the_attributes_and_parameters_that_it_had(name, tmp_path):
    model, _ = fitted(name)
    pairs = zip(parts(model), parts(back(model, tmp_path)), strict=True)
    for before, after in pairs:
        assert type(after) is type(before)
        lost, new = set(vars(before)) - set(vars(after)), set(vars(after)) - set(vars(before))
        assert lost <= {"_transformers_feature_names_out"}  # which transform sets
        assert new <= {"_fill_dtype"}  # which older releases of scikit-learn do without
        assert before.get_params(deep=False).keys() == after.get_params(deep=False).keys()


@pytest.mark.parametrize("name", ["columns", "rare words", "words with gaps", "frames", "nested"])
def test_a_loaded_pipeline_can_be_cloned_and_fitted_again(name, tmp_path):
    model, rows = fitted(name)
    again = clone(back(model, tmp_path)).fit(rows, Y)
    np.testing.assert_allclose(again.predict(rows), model.predict(rows), rtol=1e-9)  # two fits
    assert again.explain_names_.tolist() == model.explain_names_.tolist()


def test_unknown_words_are_refused_after_loading_as_before(tmp_path):
    model, rows = fitted("columns")
    strange = rows.assign(town="Mars")
    for pipe in (model, back(model, tmp_path)):
        with pytest.raises(ValueError, match="unknown categories"):
            pipe.regret(strange)


def own(values):
    return values


class Mine(StandardScaler):
    pass


REFUSED = {
    "another step": (
        lambda: make_pipeline(KBinsDiscretizer(encode="ordinal"), RIDGE),
        "'kbinsdiscretizer' is a",
    ),
    "a step inside": (
        lambda: make_pipeline(make_pipeline(SelectKBest(k=2)), RIDGE),
        "holds a SelectKBest",
    ),
    "a step before a step inside": (
        lambda: make_pipeline(make_pipeline(SelectKBest(k=2), PCA()), RIDGE),
        "'selectkbest' is a SelectKBest",
    ),
    "a step for columns": (
        lambda: make_pipeline(
            ColumnTransformer([("bins", KBinsDiscretizer(encode="ordinal"), [0])]), RIDGE
        ),
        "'bins' is a KBinsDiscretizer",
    ),
    "a subclass": (lambda: make_pipeline(Mine(), RIDGE), "'mine' is a Mine"),
    "another function": (
        lambda: make_pipeline(FunctionTransformer(own), RIDGE),
        "func holds a function",
    ),
    "arguments of a function": (
        lambda: make_pipeline(FunctionTransformer(np.log1p, kw_args={"where": True}), RIDGE),
        "kw_args",
    ),
    "another model": (lambda: make_pipeline(StandardScaler(), LinearRegression()), "ends in a Lin"),
    "no model": (lambda: make_pipeline(StandardScaler()), "ends in a StandardScaler"),
    "scikit-learn's": (
        lambda: scikit_learn.make_pipeline(StandardScaler(), RIDGE),
        "scikit-learn's Pipeline",
    ),
    "scikit-learn's target": (
        lambda: compose.TransformedTargetRegressor(PNMLRegressor()),
        "scikit-learn's TransformedTargetRegressor",
    ),
    "another function of the label": (
        lambda: TransformedTargetRegressor(func=own, inverse_func=own),
        "func holds a function",
    ),
    "another transformer of the label": (
        lambda: TransformedTargetRegressor(transformer=Mine()),
        "transformer holds a Mine",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_cannot_hold_is_named_in_one_sentence(name, tmp_path):
    make, words = REFUSED[name]
    model = make().fit(np.exp(X), np.exp(Y))
    assert_refused(lambda: save(model, tmp_path / "model.pnml"), words)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_is_refused(tmp_path):
    model = make_pipeline(StandardScaler(), RIDGE, memory=str(tmp_path / "cache")).fit(X, Y)
    assert_refused(lambda: save(model, tmp_path / "model.pnml"), "memory=None")
    save(model.set_params(memory=None), tmp_path / "model.pnml")


def test_what_is_not_fitted_is_refused(tmp_path):
    for model in (make_pipeline(StandardScaler(), RIDGE), TransformedTargetRegressor()):
        assert_refused(lambda model=model: save(clone(model), tmp_path / "a"), "call fit first")


def changed(name, tmp_path, layout, change):
    """The sentence that refuses a file after a change of its parts."""
    path = tmp_path / "model.pnml"
    save(fitted(name)[0], path)
    found = layout.take_apart(path)
    change(found, {item["class"]: item for item in found.document["objects"]})
    layout.put_together(path, found)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).endswith(".")
    return str(caught.value)


def field(cls, part, name, value):
    return lambda _, objects: objects[cls][part].__setitem__(name, value)


def number(name, value):
    """Overwrite the first number of an array."""

    def change(found, _):
        key = next(key for key in found.entries if key.split(".", 1)[1] == name)
        at = found.entries[key]["data_offsets"][0]
        kind = {"F64": float, "I64": np.int64}[found.entries[key]["dtype"]]
        data = np.array([value], dtype=kind).tobytes()
        found.payload = found.payload[:at] + data + found.payload[at + 8 :]

    return change


CHANGES = {
    "infinite mean": ("scaler", number("mean_", np.inf), "not finite"),
    "no scale": ("scaler", number("scale_", 0.0), "not above 0"),
    "other width": ("scaler", field("StandardScaler", "state", "n_features_in_", 7), "length"),
    "a wrong parameter": ("scaler", field("StandardScaler", "params", "copy", "yes"), "parameter"),
    "an object as parameter": (
        "scaler",
        field("Pipeline", "params", "verbose", {"object": 0}),
        "another kind",
    ),
    "no state": ("scaler", lambda _, objects: objects["StandardScaler"].pop("state"), "not fitted"),
    "other degree": (
        "interactions",
        field("PolynomialFeatures", "params", "degree", 3),
        "what the one before gives",
    ),
    "a huge degree": (
        "interactions",
        field("PolynomialFeatures", "params", "degree", 10**9),
        "degrees",
    ),
    "columns without number": (
        "interactions",
        field("PolynomialFeatures", "state", "n_features_in_", 2**62),
        "what the one before gives",
    ),
    "a component that is none": (
        "products and components",
        number("components_", np.nan),
        "finite",
    ),
    "other components": (
        "products and components",
        field("PCA", "state", "n_components_", 3),
        "as many as it says",
    ),
    "a gap nowhere": ("imputer", number("features_", 9), "among its columns"),
    "cells of no type": ("imputer", field("SimpleImputer", "state", "_fit_dtype", "O8"), "type"),
    "a dtype that runs": (
        "imputer",
        field("SimpleImputer", "state", "_fill_dtype", "complex128"),
        "known type",
    ),
    "no categories": ("columns", field("OneHotEncoder", "state", "categories_", []), "columns"),
    "a rare word nowhere": ("rare words", number("_infrequent_indices", 99), "among its categ"),
    "rare words nobody asked for": (
        "rare words",
        field("OneHotEncoder", "params", "min_frequency", None),
        "rare",
    ),
    "a column nowhere": (
        "columns by place",
        field(
            "ColumnTransformer",
            "state",
            "_transformer_to_input_indices",
            {"dict": [["s", [7]], ["d", [1]], ["remainder", [2]]]},
        ),
        "do not have",
    ),
    "other columns": (
        "columns by place",
        field(
            "ColumnTransformer",
            "state",
            "_transformer_to_input_indices",
            {"dict": [["s", [0, 1]], ["d", [1]], ["remainder", [2]]]},
        ),
        "names other columns than it takes",
    ),
    "a class to call": (
        "columns by place",
        field("ColumnTransformer", "params", "verbose_feature_names_out", {"named": "object"}),
        "another kind",
    ),
    "a thousand processes": (
        "columns by place",
        field("ColumnTransformer", "params", "n_jobs", 1000),
        "another kind",
    ),
    "a scale that was asked for": (
        "scalers that do less",
        field("StandardScaler", "params", "with_std", True),
        "asks for",
    ),
    "a target that is dropped": (
        "function of the label",
        field("TransformedTargetRegressor", "state", "transformer_", "drop"),
        "no inverse",
    ),
    "a function not listed": (
        "functions",
        field("FunctionTransformer", "params", "func", {"named": "os.system"}),
        "not known here",
    ),
    "a dtype as function": (
        "functions",
        field("FunctionTransformer", "params", "func", {"named": "object"}),
        "another kind",
    ),
    "a text as function": (
        "functions",
        field("FunctionTransformer", "params", "func", "numpy.log"),
        "another kind",
    ),
    "arguments of a function": (
        "functions",
        field("FunctionTransformer", "params", "kw_args", {"dict": [["casting", "unsafe"]]}),
        "another kind",
    ),
    "a cache": ("scaler", field("Pipeline", "params", "memory", "/tmp"), "another kind"),
    "no steps": ("scaler", field("Pipeline", "params", "steps", []), "names of their own"),
    "one name twice": (
        "scaler",
        lambda _, objects: objects["Pipeline"]["params"]["steps"].append(
            objects["Pipeline"]["params"]["steps"][0]
        ),
        "names of their own",
    ),
    "steps turned round": (
        "scaler",
        lambda _, objects: objects["Pipeline"]["params"]["steps"].reverse(),
        "does not transform",
    ),
    "labels in no order": (
        "function of the label",
        field("LabelRange", "params", "low", {"float": "nan"}),
        "low of a LabelRange must be other than NaN",
    ),
    "quantiles in no order": ("chain for the label", number("quantiles_", 1e9), "in order"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_whose_steps_do_not_fit_is_refused(name, tmp_path, layout):
    model, change, words = CHANGES[name]
    assert words in changed(model, tmp_path, layout, change)


def places(value, at=()):
    """Paths to every part of a JSON value."""
    yield at
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, key))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipelines")
    for name in ("rare words", "imputer", "words with gaps", "transformer of the label"):
        save(fitted(name)[0], folder / name)
    return folder


def json_values():
    tags = ["array", "cells", "dict", "float", "named", "names", "object", "slice", "tuple"]
    texts = ["", "inf", "numpy.log", "object", "passthrough", "drop", "StandardScaler", "0.mean_"]
    plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    return st.recursive(
        plain | st.sampled_from(texts),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(tags), inner, max_size=2),
    )


@settings(max_examples=examples(250))
@given(data=st.data())
def test_any_document_gives_a_pipeline_or_one_sentence(data, files, layout):
    path = data.draw(st.sampled_from(sorted(files.glob("[a-z]*[a-z]"))))
    found, target = layout.take_apart(path), files / "changed.0"
    at = data.draw(st.sampled_from(list(places(found.document))[1:]))
    inside = found.document
    for key in at[:-1]:
        inside = inside[key]
    if data.draw(st.booleans()) and isinstance(inside, dict):
        del inside[at[-1]]
    else:
        inside[at[-1]] = data.draw(json_values())
    layout.put_together(target, found)
    assert_done_or_refused(lambda: load(target))


def test_a_saved_pipeline_is_ours(tmp_path):
    assert type(back(fitted("scaler")[0], tmp_path)) is Pipeline
