"""A second writer of model files, from the documented layout alone."""

from __future__ import annotations

import hashlib
import json
import struct
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from pnml import KernelPNMLRegressor, PNMLRegressor, save


def take_apart(path):
    """Entries of the arrays, document and payload of a file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    entries = json.loads(data[8 : 8 + length])
    document = json.loads(entries.pop("__metadata__")["pnml"])
    return SimpleNamespace(entries=entries, document=document, payload=data[8 + length :])


def put_together(path, parts, edit=str):
    """A file of these parts, with the checksum that they need; `edit` changes the JSON text."""
    text = edit(json.dumps({**parts.document, "sha256": "0" * 64}))
    header = json.dumps({"__metadata__": {"pnml": text}, **parts.entries}).encode()
    header += b" " * (-len(header) % 8)
    data = struct.pack("<Q", len(header)) + header + parts.payload
    digest = hashlib.sha256(data).hexdigest().encode()
    path.write_bytes(data.replace(b"0" * 64, digest, 1))


KINDS = {"float64": "F64", "int64": "I64", "bool": "BOOL"}


def arrays(parts):
    """The arrays of a file by name."""
    dtypes = {kind: dtype for dtype, kind in KINDS.items()}
    return {
        name: np.frombuffer(
            parts.payload[slice(*entry["data_offsets"])], dtypes[entry["dtype"]]
        ).reshape(entry["shape"])
        for name, entry in parts.entries.items()
    }


def tensors(arrays):
    """Entries and payload of arrays by name."""
    entries, payload = {}, b""
    for name, array in arrays.items():
        start, payload = len(payload), payload + array.tobytes()
        entries[name] = {
            "dtype": KINDS[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, len(payload)],
        }
    return entries, payload


@pytest.fixture(scope="session")
def layout():
    return SimpleNamespace(
        take_apart=take_apart, put_together=put_together, arrays=arrays, tensors=tensors
    )


@pytest.fixture
def saved(tmp_path):
    """The file of a small model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2))
    path = tmp_path / "model.pnml"
    save(PNMLRegressor().fit(X, X[:, 0] + rng.normal(size=6)), path)
    return path


@pytest.fixture(scope="session")
def varied(tmp_path_factory):
    """The file of a model whose parameters are of many kinds."""
    path = tmp_path_factory.mktemp("io") / "model.pnml"
    X = np.linspace(0, 1, 5)[:, None]
    kernel = RBF(np.float32(0.5), (np.array([0.1]), "x")) + WhiteKernel()
    model = KernelPNMLRegressor(kernel=kernel, kernel_params={"a": (1, np.inf)})
    save(model.fit(X, np.sin(9 * X[:, 0])), path)
    return path
