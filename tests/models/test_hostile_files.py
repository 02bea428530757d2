"""No model file takes the machine down: its sizes are compared before memory is taken."""

from __future__ import annotations

import copy
import json
import os

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Sum

import child
from pnml import InputError, KernelPNMLRegressor, load, save
from pnml.learners.kernel_function import MOST_KERNELS

GIB = 2**30
LOAD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from pnml import InputError, load
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
before = most_memory()
try:
    load(sys.argv[1])
except InputError as error:
    print(error)
print(most_memory() - before)
"""


def limited(path):
    """The sentence about a file, and the memory that reading it took."""
    said, taken = child.python(child.MOST_MEMORY + LOAD, path, check=True).stdout.splitlines()
    return said, int(taken)


def write_header(path, text, length=0):
    """A file with this document in its header, `length` bytes long."""
    header = json.dumps({"__metadata__": {"pnml": text}}).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        if length:
            file.truncate(length)


@pytest.mark.skipif(os.name != "posix", reason="limits are those of POSIX")
@pytest.mark.parametrize("filler", ["[],", "{},", '"ab",'])
def test_a_header_of_many_small_values_costs_about_its_bytes(filler, tmp_path):
    path = tmp_path / "model.pnml"
    count = 60 * 2**20 // len(json.dumps(filler)[1:-1])
    write_header(path, '{"objects":[' + filler * count + "0]}")
    said, taken = limited(path)
    assert "not a model file" in said
    assert taken < GIB / 4  # it took 1.9 GB; the bytes themselves are 63 MB


@pytest.mark.skipif(os.name != "posix", reason="files with holes are those of POSIX")
def test_a_file_with_holes_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "model.pnml"
    text = json.dumps({"format": 1, "pnml": "1", "sha256": "a" * 64})
    write_header(path, text, length=2 * GIB - 2**20)  # tests may write no longer files
    said, taken = limited(path)
    assert "not where its header says" in said
    assert taken < GIB / 8


def test_a_file_beyond_the_limit_is_refused_unread_unless_the_limit_is_raised(saved, monkeypatch):
    from pnml.models import container

    size = saved.stat().st_size
    monkeypatch.setattr(container, "MOST_BYTES", size - 1)
    monkeypatch.setattr(container, "_digest", None)  # nothing is summed
    with pytest.raises(InputError, match=f"takes {size:,} bytes, more than .*max_bytes={size}"):
        load(saved)
    monkeypatch.undo()
    load(saved, max_bytes=size)
    with pytest.raises(InputError, match="max_bytes"):
        load(saved, max_bytes=0)


def test_arrays_larger_than_the_memory_are_refused_before_they_are_read(saved, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 8, raising=False)
    monkeypatch.setattr(os, "sysconf_names", {"SC_PHYS_PAGES": 0}, raising=False)
    with pytest.raises(InputError, match=r"of numbers, but this machine has 0\.0 GiB"):
        load(saved)


def doubled(times):
    kernel = RBF()
    for _ in range(times):
        kernel = Sum(kernel, kernel)
    return kernel


def test_kernels_shared_again_and_again_are_refused_when_fitted():
    X = np.linspace(0, 1, 6)[:, None]
    with pytest.raises(InputError, match=f"made of more than {MOST_KERNELS} kernels"):
        KernelPNMLRegressor(kernel=doubled(40)).fit(X, X[:, 0])
    KernelPNMLRegressor(kernel=doubled(3)).fit(X, X[:, 0])


def test_kernels_shared_again_and_again_are_refused_when_loaded(tmp_path, layout):
    X, path = np.linspace(0, 1, 6)[:, None], tmp_path / "kernel.pnml"
    save(KernelPNMLRegressor(kernel=RBF() + RBF()).fit(X, np.sin(X[:, 0])), path)
    parts = layout.take_apart(path)
    objects = parts.document["objects"]
    at = next(i for i, item in enumerate(objects) if item["class"] == "Sum")
    wider = copy.deepcopy(objects[at])
    model = objects.pop()
    for _ in range(40):
        again = copy.deepcopy(wider)
        again["params"] = {key: {"object": at} for key in ("k1", "k2")}
        objects.append(again)
        at = len(objects) - 1
    model["params"]["kernel"] = {"object": at}
    objects.append(model)
    parts.document["model"] = {"object": len(objects) - 1}
    layout.put_together(path, parts)
    with pytest.raises(InputError, match="more than 200 kernels"):
        load(path)


def test_any_object_shared_again_and_again_is_refused(saved, layout):
    parts = layout.take_apart(saved)
    objects = parts.document["objects"]
    model = objects.pop()
    objects.append({"class": "PNMLRegressor", "params": {}})
    for _ in range(40):
        inner = {"object": len(objects) - 1}
        steps = {"tuple": ["a", inner]}, {"tuple": ["b", inner]}
        objects.append({"class": "UniversalRegressor", "params": {"estimators": [*steps]}})
    objects.append(model)
    parts.document["model"] = {"object": len(objects) - 1}
    layout.put_together(saved, parts)
    with pytest.raises(InputError, match="made of more than 2,000,000 parts"):
        load(saved)
