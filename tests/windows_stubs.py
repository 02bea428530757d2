"""What Windows lacks, taken away from a test."""

from __future__ import annotations

import builtins
import errno
import io
import os
import re
from pathlib import Path

_ODD_NAME = re.compile(r'[:*?"<>|]')  # in the name of a file


def be_windows(monkeypatch):
    """No fork, no unnamed files, no folder that opens, no colon in a name."""
    for name in ("fork", "O_TMPFILE", "fchmod", "register_at_fork", "sched_getaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    for module, name in ((os, "open"), (io, "open"), (builtins, "open"), (os, "replace")):
        monkeypatch.setattr(module, name, _with_good_names(getattr(module, name)))
    monkeypatch.setattr(os, "kill", _no_kill)
    for module in ("pnml.runtime.atomic", "pnml.runtime.temporary"):
        monkeypatch.setattr(f"{module}.os", _Windows(os))


def _with_good_names(call):
    """The function; a folder does not open, and a name that Windows refuses fails the test."""

    def checked(*paths, **options):
        for path in paths[:2]:
            if not isinstance(path, str | Path) or path in ("r", "w", "rb", "wb"):
                continue
            if call.__name__ == "open" and Path(path).is_dir():
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            assert not _ODD_NAME.search(Path(path).name), path
        return call(*paths, **options)

    return checked


def _no_kill(*_):
    raise AssertionError("on Windows this would end the process")


class _Windows:
    """The module os with the name of Windows, without changing that of paths."""

    name = "nt"

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)
