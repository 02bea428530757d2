"""Values survive with their types; what cannot survive is refused before anything is written."""

from __future__ import annotations

import dataclasses
import inspect
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.gaussian_process.kernels import RBF, PairwiseKernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

import child
from pnml import (
    ConformalRegressor,
    InputError,
    KernelPNMLRegressor,
    PNMLRegressor,
    UniversalRegressor,
    save,
)
from pnml.models import container, registry
from pnml.models.decode import decode
from pnml.models.encode import SCALARS, encode
from sentences import assert_refused

X = np.array([[0.0], [1.0], [2.0], [4.0]])
Y = np.array([0.0, 1.0, 3.0, 2.0])


def carrier(value):
    """A fitted model that carries a value along."""
    model = KernelPNMLRegressor(alpha=1.0, noise_variance=1.0).fit(X, Y)
    return model.set_params(kernel_params={"value": value})


def there_and_back(value):
    described, tensors = encode(carrier(value))
    text = json.dumps(described, allow_nan=False)
    copies = {name: array.copy() for name, array in tensors.items()}
    return decode(json.loads(text), copies).kernel_params["value"]


def strides(array):
    """Order and direction of the axes in memory, where there is more than one element."""
    return (
        [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1] if array.size else []
    )


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        assert_same(list(a.values()), list(b.values()))
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
        assert strides(a) == strides(b)
    elif isinstance(a, float | np.floating):
        assert np.array_equal(a, b, equal_nan=True)
        assert np.signbit(a) == np.signbit(b) or np.isnan(a)
    else:
        assert a == b


def numpy_scalars():
    def of(name):
        kind = SCALARS[name][0]
        values = st.text() if name == "str" else npst.from_dtype(np.dtype(kind))
        return values.map(kind)

    return st.sampled_from(sorted(SCALARS)).flatmap(of)


@st.composite
def arrays(draw):
    """Dense arrays with their axes in any order and direction."""
    dtype = draw(st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.bool_]))
    array = draw(npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0)))
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    axes = draw(st.sets(st.integers(0, array.ndim - 1))) if array.ndim else set()
    return np.flip(array, tuple(axes))


def values():
    plain = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text()
    return st.recursive(
        plain | numpy_scalars() | arrays(),
        lambda inner: (
            st.lists(inner)
            | st.lists(inner).map(tuple)
            | st.dictionaries(st.text(), inner, max_size=4)
        ),
        max_leaves=8,
    )


@given(values())
def test_every_value_comes_back_as_it_was(value):
    assert_same(there_and_back(value), value)


@given(st.lists(st.text()))
def test_names_of_columns_come_back_as_they_were(names):
    array = np.array(names, dtype=object)
    back = there_and_back(array)
    assert back.dtype == object
    assert back.tolist() == names


@given(
    npst.arrays(
        npst.unicode_string_dtypes(endianness="=", max_len=5), npst.array_shapes(max_dims=1)
    )
)
def test_texts_of_fixed_width_come_back_as_they_were(texts):
    assert_same(there_and_back(texts), texts)


def test_half_of_a_character_survives():
    assert there_and_back("\ud800") == "\ud800"


def test_a_shared_array_is_stored_once_and_stays_shared():
    shared = np.arange(3.0)
    first, second = there_and_back([shared, shared])
    assert first is second


@pytest.mark.parametrize(
    "cls", [codec.cls for codec in registry.CODECS.values() if not codec.build]
)
def test_the_registry_lists_exactly_what_a_constructor_takes(cls):
    listed = set(registry.CODEC_OF[cls].params)
    assert listed == set(inspect.signature(cls).parameters)
    if dataclasses.is_dataclass(cls):
        assert listed == {field.name for field in dataclasses.fields(cls)}


class Mine(PNMLRegressor):
    pass


def strange():
    model = PNMLRegressor().fit(X, Y)
    model.note = "mine"
    return model


def endless():
    knot = []
    knot.append(knot)
    return carrier(knot)


def foreign_class():
    model = UniversalRegressor([("ridge", PNMLRegressor())]).fit(X, Y)
    return model.set_params(estimators=[("vectors", SVR())])


REFUSED = {
    "a pipeline": (lambda: make_pipeline(PNMLRegressor()).fit(X, Y), "save the one inside"),
    "a subclass": (lambda: Mine().fit(X, Y), "Mine"),
    "nothing fitted": (PNMLRegressor, "call fit first"),
    "another attribute": (strange, "'note'"),
    "a function as kernel": (
        lambda: KernelPNMLRegressor(kernel=np.dot, alpha=1.0, noise_variance=1.0).fit(X, Y),
        "pass the name of a kernel",
    ),
    "another kernel": (
        lambda: KernelPNMLRegressor(kernel=RBF() + PairwiseKernel(), alpha=1.0).fit(X, Y),
        "RBF",
    ),
    "a generator": (
        lambda: ConformalRegressor(random_state=np.random.RandomState(0)).fit(X, Y),
        "pass an integer",
    ),
    "another regressor": (foreign_class, "estimators holds a SVR"),
    "a list inside itself": (endless, "nested too deep"),
    "a long integer": (lambda: carrier(2**70), "71 bits"),
    "half precision": (lambda: carrier(np.zeros(2, np.float16)), "array of float16"),
    "long texts": (lambda: carrier(np.array(["a" * 2**24, "b"])), "array of <U"),
    "complex": (lambda: carrier(np.complex128(1)), "complex128"),
    "other keys": (lambda: carrier({1: 2}), "a dict"),
    "a set": (lambda: carrier({1}), "a set"),
    "objects": (lambda: carrier(np.array([None])), "array of object"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_cannot_hold_is_refused_in_one_sentence(name, tmp_path):
    make, words = REFUSED[name]
    assert_refused(lambda: save(make(), tmp_path / "model.pnml"), words)
    assert list(tmp_path.iterdir()) == []


def test_a_description_that_no_reader_would_accept_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MOST_HEADER_BYTES", 500)
    with pytest.raises(InputError, match="fewer or shorter column names"):
        save(PNMLRegressor().fit(X, Y), tmp_path / "model.pnml")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_could_not_be_read_back_is_not_written(tmp_path):
    model = PNMLRegressor().fit(X, Y)
    model.n_features_in_ = 7
    with pytest.raises(InputError, match="cannot be saved"):
        save(model, tmp_path / "model.pnml")
    assert list(tmp_path.iterdir()) == []


def test_naming_save_and_load_does_not_load_safetensors():
    code = "import sys, pnml; pnml.save, pnml.load; print('safetensors' in sys.modules)"
    done = child.python(code, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "document",
    [
        {"class": "A" * 10**6, "params": {}},
        {"class": "Gram", "params": {"A" * 10**6: 1}},
        {"class": "Span", "params": {"scale": {"A" * 10**6: 1}}},
        {"class": "Span", "params": {"scale": {"array": "A" * 10**6}}},
        {"class": "Span", "params": {"scale": {"object": [1] * 10**6}}},
        {"class": "Span", "params": {"scale": {"named": "A" * 10**6}}},
    ],
)
def test_names_of_a_million_characters_are_cut_in_messages(document):
    with pytest.raises(InputError) as raised:
        decode({"objects": [document], "layouts": {}, "model": None}, {})
    assert len(str(raised.value)) < 200
    assert "…" in str(raised.value)
