"""Exported graphs, run by onnxruntime, which knows nothing of the library."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

# What a graph may differ from the library by, relative to the number.
TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
NAMES = {"prediction": "mean", "std": "std", "regret": "regret", "log_prob": "log_prob"}


def loaded(path):
    """A checked file as a session of one thread."""
    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(path, feeds):
    """Outputs by name; an array is the input X."""
    session = loaded(path)
    feeds = feeds if isinstance(feeds, dict) else {"X": feeds}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def columns(frame, dtype):
    """Inputs of a graph that has one for each column, with empty text where it is missing."""
    feeds = {}
    for name in frame:
        cells = frame[name]
        if cells.dtype.kind in "fiub":
            feeds[name] = cells.to_numpy(dtype)[:, None]
        else:
            feeds[name] = cells.fillna("").to_numpy(dtype=object)[:, None]
    return feeds


def assert_same(outputs, said, dtype, atol=0.0):
    """All outputs are what the library says, infinities where it has them."""
    for name, found in outputs.items():
        assert found.dtype == dtype, name
        expected = np.asarray(getattr(said, NAMES[name]))
        slack = atol if name == "prediction" else 0.0
        if dtype == "float32":  # a sum may come out near 0, and a tiny number as 0
            size = float(np.abs(expected).max(initial=0.0, where=np.isfinite(expected)))
            slack = max(slack, 1e-5 * size if name == "prediction" else 1e-30)
        np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype], atol=slack, err_msg=name)
