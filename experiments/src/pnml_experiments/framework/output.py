"""Store finished pieces of an experiment, so that an interrupted run resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.runtime.atomic import whole_file
from pnml.runtime.fingerprint import fingerprint
from pnml.runtime.journal import Journal, JournalKind
from pnml_experiments.framework.code import function_digest

Arrays = dict[str, npt.NDArray[Any]]
# Pieces with another stamp, or a file that holds something else, are dropped.
_PIECES = JournalKind(
    unwritable="{path} cannot be written ({reason}); pass another --output.",
    foreign=None,
    other=None,
)


class Output:
    """Finished pieces of one experiment as JSON lines, and a cache of arrays.

    Parameters
    ----------
    folder : for the pieces and the result; created if missing
    cache : folder for arrays that are slow to compute; experiments share it
    stamp : fingerprint of what the pieces depend on; pieces with another stamp are dropped
    fresh : drop finished pieces and arrays in any case

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     first = Output(Path(name), Path(name), "a").piece("sum", lambda: 1 + 1)
    ...     again = Output(Path(name), Path(name), "a").piece("sum", lambda: 0)
    >>> first, again
    (2, 2)
    """

    def __init__(self, folder: Path, cache: Path, stamp: str, *, fresh: bool = False) -> None:
        self.folder = folder
        self.cache = cache
        self._fresh = fresh
        self._computed: set[str] = set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            cache.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{error.filename} cannot be made a folder ({error.strerror}); pass another "
                "--output."
            ) from error
        path = folder / "pieces.jsonl"
        if fresh:
            path.unlink(missing_ok=True)
        self._journal = Journal(path, {"stamp": stamp}, _PIECES)

    def __contains__(self, key: str) -> bool:
        return key in self._journal

    def piece(self, key: str, compute: Callable[[], Any]) -> Any:
        """The value stored under this key, computed if there is none; plain JSON values."""
        return self._journal.piece(key, compute)

    def journal(self, name: str, depends: Iterable[Any]) -> Journal:
        """A journal of pieces that cost hours and depend on nothing but what is named here.

        So they outlive releases and changes of all other code. What depends on other things is in
        a file of its own, and none is ever replaced but by a fresh run.
        """
        key = f"{name}-{fingerprint(*depends)[:8]}"
        path = self.folder / f"{key}.jsonl"
        if self._fresh and key not in self._computed:
            path.unlink(missing_ok=True)
        self._computed.add(key)
        return Journal(path, {"stamp": key}, _PIECES)

    def arrays(
        self,
        name: str,
        depends: Iterable[Path | str],
        compute: Callable[[], Arrays],
        *,
        ours: bool = True,
    ) -> Arrays:
        """Arrays stored for this code, these files and settings; computed if there are none.

        Those that no learner of pnml enters, ``ours=False``, outlive its releases.
        """
        parts = [*([version("pnml")] if ours else []), function_digest(compute), *depends]
        key = f"{name}-{fingerprint(*parts)[:16]}"
        path = self.cache / f"{key}.npz"
        if path.is_file() and (not self._fresh or key in self._computed):
            broken = suppress(OSError, ValueError, BadZipFile, EOFError)  # then compute again
            with broken, path.open("rb") as held, np.load(held, allow_pickle=False) as stored:
                return dict(stored)
        arrays = compute()
        with whole_file(path) as file:
            np.savez(file, allow_pickle=False, **arrays)
        self._computed.add(key)
        return arrays
