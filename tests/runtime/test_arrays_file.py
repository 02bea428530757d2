"""Files of arrays are complete or refused."""

from __future__ import annotations

import numpy as np
import pytest

from pnml.runtime.arrays_file import read_arrays, write_arrays


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kept.npz"


def test_arrays_come_back_as_they_were(path):
    arrays = {"x": np.arange(6.0).reshape(2, 3), "names": np.array(["a", "é"]), "no": np.empty(0)}
    write_arrays(path, arrays)
    stored = read_arrays(path)
    assert list(stored) == list(arrays)
    for name, array in arrays.items():
        assert stored[name].dtype == array.dtype
        np.testing.assert_array_equal(stored[name], array)


def test_a_failed_write_leaves_the_old_file_alone(path):
    write_arrays(path, {"x": np.arange(3)})
    before = path.read_bytes()
    with pytest.raises(ValueError, match="pickle"):
        write_arrays(path, {"x": np.array([object()])})
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_damaged_and_other_files_are_refused(path):
    write_arrays(path, {"x": np.arange(30)})
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"kept\.npz"):
            read_arrays(path)
    for text in (b"Dear diary,", b"PK\x03\x04", b"\x93NUMPY"):
        path.write_bytes(text)
        with pytest.raises(ValueError, match=r"kept\.npz"):
            read_arrays(path)
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(ValueError, match=r"kept\.npz"):
        read_arrays(path)


def test_a_missing_file_is_an_os_error(path):
    with pytest.raises(FileNotFoundError):
        read_arrays(path)
