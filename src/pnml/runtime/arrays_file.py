"""Checkpoints of arrays: ``.npz`` files without pickle that are complete, old or new."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.runtime.atomic import whole_file

# What zip files and the headers of arrays raise; RuntimeError: unknown compression or encryption.
_DAMAGED = (ValueError, TypeError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)

Arrays = dict[str, npt.NDArray[Any]]


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays to an ``.npz`` file in one step: a crash leaves the old file or the new one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrays(Path(folder, "kept.npz"), {"rows": np.arange(3)})
    ...     read_arrays(Path(folder, "kept.npz"))
    {'rows': array([0, 1, 2])}
    """
    with whole_file(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_arrays(path: Path) -> Arrays:
    """All arrays of an ``.npz`` file by name; raises ValueError if it is damaged or no ``.npz``."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return dict(stored)
    except _DAMAGED as error:
        raise ValueError(f"{path} holds no arrays, or only parts of them: {error}") from error
