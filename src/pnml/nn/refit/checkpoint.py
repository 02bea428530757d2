"""Checkpoint of refitted rows, from which an interrupted run resumes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from pnml.errors import InputError
from pnml.nn.refit.refit_output import Genies
from pnml.runtime.arrays_file import read_arrays, write_arrays

# Seconds between two writes: a crash loses this much work, and the rows being refitted.
_SECONDS = 1.0


class Checkpoint:
    """Checkpoint of refits: the genies of finished chunks of rows, in an ``.npz`` file.

    `parts` are the genies of the chunks finished so far; at first those that are in the file.

    Parameters
    ----------
    path : the file; it need not exist
    stamp : fingerprint of all that the genies depend on besides their rows
    chunks : fingerprint of the rows of each chunk, in order
    """

    def __init__(self, path: str | os.PathLike[str], stamp: str, chunks: list[str]) -> None:
        self._path = Path(path)
        self._stamp = stamp
        self._chunks = chunks
        self.parts: list[Genies] = self._stored()
        self._written = time.monotonic()

    def add(self, part: Genies) -> None:
        """Add the genies of the next chunk; the file is written at most once a second."""
        self.parts.append(part)
        if time.monotonic() - self._written >= _SECONDS:
            self.write()

    def write(self) -> None:
        """Write all chunks so far to disk."""
        genies = Genies.joined(self.parts, self.parts[0].log_genie.shape[1])
        sizes = np.array([len(part.regret) for part in self.parts])
        names = np.array([self._stamp, *self._chunks[: len(self.parts)]])
        try:
            write_arrays(self._path, {"names": names, "sizes": sizes, **vars(genies)})
        except OSError as error:
            raise InputError(
                f"Cannot write {self._path}: {error.strerror}; pass another checkpoint."
            ) from error
        self._written = time.monotonic()

    def _stored(self) -> list[Genies]:
        """The chunks that an earlier run has finished."""
        if not self._path.exists():
            return []
        try:
            arrays = read_arrays(self._path)
            stamp, *chunks = arrays.pop("names").tolist()
            ends = np.cumsum(arrays.pop("sizes"))[:-1]
            split = {name: np.split(values, ends) for name, values in arrays.items()}
            parts = [
                Genies(**{name: values[i] for name, values in split.items()})
                for i in range(len(chunks))
            ]
        except (OSError, ValueError, KeyError, TypeError) as error:
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
