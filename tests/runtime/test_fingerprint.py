"""Fingerprints: equal for equal values, different for all others, and the same as in 0.1."""

from __future__ import annotations

import numpy as np
import pytest

from pnml.runtime.fingerprint import fingerprint, refit_fingerprint


class Tensor:
    """The part of a tensor that is used."""

    def __init__(self, values, dtype="torch.float32"):
        self.values, self.dtype = np.asarray(values), dtype

    def detach(self):
        return self

    def cpu(self):
        return self

    def float(self):
        return self.values.astype(np.float32)

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_fingerprints_know_values_shapes_dtypes_words_order_and_files(tmp_path):
    x = np.arange(6.0)
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "long").write_bytes(b"a" * 3_000_000)
    prints = [(), (x,), (x.reshape(2, 3),), (x + 1,), (x.astype(np.float32),), (x, "a"), ("a", x)]
    prints += [("a", "b"), ("ab",), (tmp_path / "long",), (x.astype(int),), (x > 2,), (x[:0],)]
    assert len({fingerprint(*values) for values in prints}) == len(prints)
    assert fingerprint(tmp_path / "a") == fingerprint("a")


def test_memory_order_and_copies_do_not_count():
    x = np.arange(12.0).reshape(3, 4)
    assert fingerprint(x.T) == fingerprint(x.T.copy())
    assert fingerprint(x[::2]) == fingerprint(x[::2].copy())


def test_a_tensor_counts_as_its_array():
    x = np.arange(3, dtype=np.float32)
    assert fingerprint(Tensor(x)) == fingerprint(x)
    assert fingerprint(Tensor(x, "torch.bfloat16")) == fingerprint(x)


def test_python_objects_have_none():
    with pytest.raises(TypeError, match="fingerprint"):
        fingerprint(np.array([object()]))


def test_digests_of_the_first_release_have_not_changed():
    x = np.arange(6.0)
    assert fingerprint(x.reshape(2, 3), x.astype(np.float32), "é") == (
        "337df101353559f22cdf2c2942db8d0987260b986cc7f0af3cb238834714de49"
    )
    assert fingerprint("a", "b") == (
        "e5a01fee14e0ed5c48714f22180f25ad8365b53f9779f79dc4a3d7e93963f94a"
    )
    assert refit_fingerprint(["é", "b"], [x.reshape(2, 3), np.arange(3)]) == (
        "dc438e4e87d333fccf4b03639ace815a8be401a04d55b603843b78f57271725f"
    )
