"""Store finished pieces of an experiment, so that an interrupted run resumes."""

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
        """The value stored under this key, computed if there is none; plain JSON values."""
        if key not in self._pieces:
            value = json.loads(json.dumps(compute(), allow_nan=False))
            # one write of one line: an interruption leaves it whole, or cut short and dropped
            with self._path.open("ab", buffering=0) as file:
                file.write(_line({"piece": key, "value": value}))
                os.fsync(file.fileno())
            self._pieces[key] = value
        return self._pieces[key]

    def arrays(
        self, name: str, depends: Iterable[Path | str], compute: Callable[[], Arrays]
    ) -> Arrays:
        """Arrays stored for this code, these files and settings; computed if there are none."""
        parts = [version("pnml"), function_digest(compute), *depends]
        key = f"{name}-{digest(parts)[:16]}"
        path = self._cache / f"{key}.npz"
        if path.is_file() and (not self._fresh or key in self._computed):
            broken = suppress(OSError, ValueError, BadZipFile, EOFError)  # then compute again
            with broken, path.open("rb") as held, np.load(held, allow_pickle=False) as stored:
                return dict(stored)
        arrays = compute()
        with whole_file(path) as file:
            np.savez(file, allow_pickle=False, **arrays)
        self._computed.add(key)
        return arrays

    def _stored(self, stamp: str) -> dict[str, Any]:
        """Pieces of an earlier run with the same stamp; a last line cut short is removed.

        Empty if the file holds anything else.
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
    """SHA-256 over the contents of files and over words, in this order.

    >>> digest(["a", "b"]) == digest(["ab"])
    False
    """
    total = hashlib.sha256()
    for item in depends:
        part = hashlib.sha256()
        if isinstance(item, Path):
            with item.open("rb") as file:
                while block := file.read(_BLOCK):
                    part.update(block)
        else:
            part.update(item.encode())
        total.update(part.digest())
    return total.hexdigest()


def _line(record: dict[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode()
