"""Whatever a file holds, `load` gives a model or one sentence that names the file."""

from __future__ import annotations

import copy
import os
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from pnml import InputError, LpNMLRegressor, load, save
from sentences import assert_done_or_refused


def refused(path):
    """The sentence that refuses a file, which names it and ends like one."""
    with pytest.raises(InputError) as caught:
        load(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_a_changed_byte_anywhere_is_noticed(saved, rng):
    whole = saved.read_bytes()
    changed = saved.with_name("changed")
    for at, mask in enumerate(rng.integers(1, 256, size=len(whole))):
        data = bytearray(whole)
        data[at] ^= int(mask)
        changed.write_bytes(data)
        refused(changed)


def test_a_file_cut_anywhere_is_noticed(saved, rng):
    whole = saved.read_bytes()
    cut = saved.with_name("cut")
    for length in [*range(20), *rng.integers(20, len(whole), size=300).tolist(), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        refused(cut)


def test_bytes_added_anywhere_are_noticed(saved, rng):
    whole = saved.read_bytes()
    longer = saved.with_name("longer")
    for at in [0, 8, len(whole), *rng.integers(0, len(whole), size=100).tolist()]:
        longer.write_bytes(whole[:at] + b" " + whole[at:])
        refused(longer)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 an archive of some kind",
        b"\x80\x04\x95 a pickle",
        b"\x02\0\0\0\0\0\0\0{}",
        b"\x02\0\0\0\0\0\0\0[]",
        b"\x02\0\0\0\0\0\0\0\xff\xfe",
        b"\x05\0\0\0\0\0\0\0[[[[[",
        (2**17).to_bytes(8, "little") + b"[" * 2**17,
        b"a,b,c\n1,2,3\n" * 100,
    ],
    ids=lambda data: repr(data[:12]),
)
def test_a_foreign_file_is_refused(data, tmp_path):
    path = tmp_path / "model.pnml"
    path.write_bytes(data)
    assert "not a model file" in refused(path)


def test_safetensors_of_others_are_refused(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "weights.safetensors"
    save_file({"weight": np.zeros(3)}, path)
    assert "not a model file" in refused(path)
    save_file({"weight": np.zeros(3)}, path, metadata={"pnml": "hello"})
    assert "not a model file" in refused(path)


def test_a_missing_file_a_folder_and_a_pipe_are_refused(tmp_path):
    assert "No such file" in refused(tmp_path / "nothing.pnml")
    assert "regular file" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "regular file" in refused(tmp_path / "pipe")
    for path in (None, 3, "", b"model.pnml"):
        with pytest.raises(InputError, match="must name a file"):
            load(path)


def test_numbers_in_a_file_never_decide_how_much_is_allocated(saved, layout):
    parts = layout.take_apart(saved)
    name = next(iter(parts.entries))
    huge = saved.with_name("huge")
    tracemalloc.start()
    for shape, end in [([2**40], 2**43), ([2**62, 0], 0), ([0, 2**62], 0), ([2**80], 8)]:
        entries = parts.entries | {name: {"dtype": "F64", "shape": shape, "data_offsets": [0, end]}}
        changed = copy.copy(parts)
        changed.entries = entries
        layout.put_together(huge, changed)
        refused(huge)
    with huge.open("wb") as file:
        file.write((65 * 2**20).to_bytes(8, "little"))
        file.truncate(80 * 2**20)
    refused(huge)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


def changed_document(saved, layout, change):
    parts = layout.take_apart(saved)
    change(parts)
    layout.put_together(saved, parts)
    return refused(saved)


def test_a_newer_format_says_so(saved, layout):
    def newer(parts):
        parts.document |= {"format": 2, "pnml": "9.9"}

    sentence = changed_document(saved, layout, newer)
    assert "format 2, written by pnml 9.9" in sentence
    assert "upgrade" in sentence


@pytest.mark.parametrize("name", ["Ridge", "os.system", "builtins.eval", "__class__", 3, None, []])
def test_a_class_that_is_not_listed_is_never_made(name, saved, layout):
    def rename(parts):
        parts.document["objects"][0]["class"] = name

    assert "not known here" in changed_document(saved, layout, rename)


@pytest.mark.parametrize("field", ["__class__", "__init__", "fit", "_solved", "loo_"])
@pytest.mark.parametrize("part", ["params", "state"])
def test_a_field_that_is_not_listed_is_never_set(part, field, saved, layout):
    def add(parts):
        parts.document["objects"][-1][part][field] = 1

    assert f"no field '{field}'" in changed_document(saved, layout, add)


def test_a_missing_array_is_named(saved, layout):
    def drop(parts):
        parts.entries, parts.payload = layout.tensors({"other": np.zeros(3)})

    assert "lacks the array '2.R'" in changed_document(saved, layout, drop)


def test_an_array_that_nothing_uses_is_named(saved, layout):
    def add(parts):
        end = len(parts.payload)
        parts.payload += bytes(8)
        entry = {"dtype": "I64", "shape": [], "data_offsets": [end, end + 8]}
        parts.entries["spare"] = entry

    assert "'spare'" in changed_document(saved, layout, add)


def test_an_array_of_another_type_is_refused(saved, layout):
    def retype(parts):
        parts.entries["0.x_mean"]["dtype"] = "U64"

    assert "no type that models use" in changed_document(saved, layout, retype)

    def whole_numbers(parts):
        parts.entries["0.x_mean"]["dtype"] = "I64"

    assert "x_mean of a Factor" in changed_document(saved, layout, whole_numbers)


@pytest.mark.parametrize("field", ["x_mean", "R", "keys", "rows", "V", "h2", "sds"])
def test_an_array_of_another_shape_is_refused(field, saved, layout):
    def widen(parts):
        name = min(name for name in parts.entries if name.endswith(f".{field}"))
        arrays = layout.arrays(parts)
        arrays[name] = np.concatenate([arrays[name], arrays[name]], axis=-1)
        parts.entries, parts.payload = layout.tensors(arrays)

    said = changed_document(saved, layout, widen)
    assert "has length" in said or "must be 0 or more and in order" in said


def test_a_bool_that_is_neither_true_nor_false_is_refused(saved, layout):
    def add(parts):
        end = len(parts.payload)
        parts.payload += b"\x02"
        parts.entries["spare"] = {"dtype": "BOOL", "shape": [1], "data_offsets": [end, end + 1]}

    assert "more than 0 and 1" in changed_document(saved, layout, add)


def test_an_object_cannot_be_made_of_later_ones(saved, layout):
    def knot(parts):
        parts.document["objects"][-1]["state"]["_solution"] = {"object": 99}

    assert "does not come before" in changed_document(saved, layout, knot)


def test_a_parameter_of_a_strange_kind_is_refused(saved, layout):
    parts = layout.take_apart(saved)
    objects = parts.document["objects"]
    (sample,) = (i for i, item in enumerate(objects) if item["class"] == "RowSample")
    strange = {"class": "PNMLRegressor", "params": {"alpha": {"object": sample}}}
    model = objects.pop()
    model["params"]["noise_variance"] = {"object": len(objects)}
    objects += [strange, model]
    parts.document["model"] = {"object": len(objects) - 1}
    layout.put_together(saved, parts)
    assert "alpha of a PNMLRegressor is of another kind or shape" in refused(saved)


@pytest.mark.parametrize("depth", [600, 100_000])
def test_lists_nested_without_end_are_refused(depth, saved, layout):
    parts = layout.take_apart(saved)
    parts.document["objects"][-1]["params"]["alpha"] = "here"
    nested = "[" * depth + "]" * depth
    layout.put_together(saved, parts, lambda text: text.replace('"here"', nested))
    refused(saved)


@pytest.mark.parametrize(("dependent", "index"), [([3], 0), ([-1], 0), ([], 3), ([], -1)])
def test_columns_that_the_lasso_does_not_have_are_refused(dependent, index, tmp_path, layout):
    X = np.random.default_rng(0).normal(size=(8, 3))
    path = tmp_path / "lasso.pnml"
    save(LpNMLRegressor(penalty="l1", alpha=0.1).fit(X, X[:, 0]), path)
    parts = layout.take_apart(path)
    (name,) = (name for name in parts.entries if name.endswith(".index"))
    at = parts.entries[name]["data_offsets"][0]
    number = index.to_bytes(8, "little", signed=True)
    parts.payload = parts.payload[:at] + number + parts.payload[at + 8 :]
    (start,) = (item for item in parts.document["objects"] if item["class"] == "Start")
    start["params"]["dependent"] = dependent
    layout.put_together(path, parts)
    assert "columns" in refused(path)


def test_a_missing_safetensors_is_named_with_what_installs_it(saved, monkeypatch):
    model = load(saved)
    for name in ("safetensors", "safetensors.numpy"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (lambda: load(saved), lambda: save(model, saved)):
        with pytest.raises(InputError, match=r'pip install "pnml\[files\]"'):
            call()


def places(value, at=()):
    """Paths to every part of a JSON value."""
    yield at
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, key))


def scalars():
    text = st.sampled_from(["", "array", "object", "0.x_mean", "inf", "Spectrum", "lucky", "l1"])
    return st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text


def json_values():
    tags = st.sampled_from(
        ["array", "dict", "float", "named", "names", "object", "scalar", "tuple", "axes", "class"]
    )
    return st.recursive(
        scalars(), lambda inner: st.lists(inner) | st.dictionaries(tags, inner, max_size=2)
    )


@settings(max_examples=examples(250))
@given(data=st.data())
def test_any_document_gives_a_model_or_one_sentence(data, varied, layout):
    path, parts = varied.with_name("changed"), layout.take_apart(varied)
    at = data.draw(st.sampled_from(list(places(parts.document))[1:]))
    inside = parts.document
    for key in at[:-1]:
        inside = inside[key]
    if data.draw(st.booleans()) and isinstance(inside, dict):
        del inside[at[-1]]
    else:
        inside[at[-1]] = data.draw(json_values())
    layout.put_together(path, parts)
    assert_done_or_refused(lambda: load(path))
