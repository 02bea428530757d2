"""Rows that are refitted already, in a file from which an interrupted run goes on."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.nn.refit.refit_output import Genies

# Seconds between two writings: so much work is lost at most, besides the rows in the making.
_SECONDS = 1.0


def fingerprint(words: Iterable[str], arrays: Iterable[npt.NDArray[Any]]) -> str:
    """What tells these words and arrays from any others.

    >>> fingerprint(["a"], []) == fingerprint(["b"], [])
    False
    """
    total = hashlib.sha256()
    for word in words:
        total.update(hashlib.sha256(word.encode()).digest())
    for array in arrays:
        total.update(f"{array.dtype} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


class Checkpoint:
    """Finished chunks of rows in an ``.npz`` file without pickle, always whole, old or new.

    Parameters
    ----------
    path : the file; it need not be there yet
    stamp : what every number in it depends on
    chunks : fingerprint of the rows of each chunk, in order
    """

    def __init__(self, path: str | os.PathLike[str], stamp: str, chunks: list[str]) -> None:
        self._path = Path(path)
        self._stamp = stamp
        self._chunks = chunks
        self.parts: list[Genies] = self._stored()
        self._written = time.monotonic()

    def add(self, part: Genies) -> None:
        """Keep one more chunk; it is written with others that finish within the same second."""
        self.parts.append(part)
        if time.monotonic() - self._written >= _SECONDS:
            self.write()

    def write(self) -> None:
        """Bring all chunks so far to disk."""
        found = Genies.joined(self.parts, self.parts[0].log_genie.shape[1])
        sizes = np.array([len(part.regret) for part in self.parts])
        names = np.array([self._stamp, *self._chunks[: len(self.parts)]])
        temporary = self._path.with_name(f".pnml-{secrets.token_hex(8)}.tmp")
        try:
            with temporary.open("xb") as file:
                np.savez(file, allow_pickle=False, names=names, sizes=sizes, **vars(found))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            raise InputError(
                f"Cannot write {self._path}: {error.strerror}; pass another checkpoint."
            ) from error
        finally:
            temporary.unlink(missing_ok=True)
        self._written = time.monotonic()

    def _stored(self) -> list[Genies]:
        """The chunks that an earlier run has left."""
        if not self._path.exists():
            return []
        try:
            with np.load(self._path, allow_pickle=False) as stored:
                arrays = dict(stored)
            stamp, *chunks = arrays.pop("names").tolist()
            ends = np.cumsum(arrays.pop("sizes"))[:-1]
            split = {name: np.split(values, ends) for name, values in arrays.items()}
            parts = [
                Genies(**{name: values[i] for name, values in split.items()})
                for i in range(len(chunks))
            ]
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{self._path} is no checkpoint of a refit; pass another path, or delete it to "
                "begin anew."
            ) from error
        if stamp != self._stamp or chunks != self._chunks[: len(chunks)]:
            raise InputError(
                f"The checkpoint {self._path} is of other rows, another network or other settings; "
                "pass another path, or delete it to begin anew."
            )
        return parts
