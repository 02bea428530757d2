"""Where an experiment keeps what it has finished, so that an interrupted run goes on from there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from pnml.errors import InputError
from pnml.runtime.atomic import whole_file, write_whole
from pnml_experiments.framework.code import function_digest

Arrays = dict[str, npt.NDArray[Any]]
_BLOCK = 2**20


class Output:
    """Finished pieces of one experiment as JSON lines, and arrays that several may share.

    Parameters
    ----------
    folder : where the pieces and the result go; made where it is missing
    cache : where arrays go that are slow to compute
    stamp : what the pieces depend on; those with another stamp are forgotten
    fresh : forget finished pieces and arrays in any case

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     first = Output(Path(name), Path(name), "a").piece("sum", lambda: 1 + 1)
    ...     again = Output(Path(name), Path(name), "a").piece("sum", lambda: 0)
    >>> first, again
    (2, 2)
    """

    def __init__(self, folder: Path, cache: Path, stamp: str, *, fresh: bool = False) -> None:
        self.folder = folder
        self._cache = cache
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
        self._pieces: dict[str, Any] = {} if fresh else self._stored(stamp)
        if not self._pieces:
            write_whole(self._path, [_line({"stamp": stamp})])

    @property
    def _path(self) -> Path:
        return self.folder / "pieces.jsonl"

    def __contains__(self, key: str) -> bool:
        return key in self._pieces

    def piece(self, key: str, compute: Callable[[], Any]) -> Any:
        """What was computed under this key, now or in an earlier run; plain JSON values."""
        if key not in self._pieces:
            value = json.loads(json.dumps(compute(), allow_nan=False))
            # one write of one line: what interrupts us leaves it whole or to be cut off
            with self._path.open("ab", buffering=0) as file:
                file.write(_line({"piece": key, "value": value}))
                os.fsync(file.fileno())
            self._pieces[key] = value
        return self._pieces[key]

    def arrays(
        self, name: str, depends: Iterable[Path | str], compute: Callable[[], Arrays]
    ) -> Arrays:
        """Arrays computed by this code from these files and settings, now or in an earlier run."""
        parts = [version("pnml"), function_digest(compute), *depends]
        key = f"{name}-{digest(parts)[:16]}"
        path = self._cache / f"{key}.npz"
        if path.is_file() and (not self._fresh or key in self._computed):
            broken = suppress(OSError, ValueError, BadZipFile, EOFError)  # computed again then
            with broken, path.open("rb") as held, np.load(held, allow_pickle=False) as stored:
                return dict(stored)
        found = compute()
        with whole_file(path) as file:
            np.savez(file, allow_pickle=False, **found)
        self._computed.add(key)
        return found

    def _stored(self, stamp: str) -> dict[str, Any]:
        """Pieces of an earlier run with the same stamp; a line cut short is cut off the file.

        None where something else has written to it.
        """
        if not self._path.is_file():
            return {}
        text = self._path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            if not lines or lines[0]["stamp"] != stamp:
                return {}
            pieces = {line["piece"]: line["value"] for line in lines[1:]}
        except (ValueError, KeyError, TypeError):
            return {}
        if whole != text:
            write_whole(self._path, [whole])
        return pieces


def digest(depends: Iterable[Path | str]) -> str:
    """Fingerprint of the contents of files and of words.

    >>> digest(["a", "b"]) == digest(["ab"])
    False
    """
    total = hashlib.sha256()
    for item in depends:
        one = hashlib.sha256()
        if isinstance(item, Path):
            with item.open("rb") as file:
                while block := file.read(_BLOCK):
                    one.update(block)
        else:
            one.update(item.encode())
        total.update(one.digest())
    return total.hexdigest()


def _line(record: dict[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode()
