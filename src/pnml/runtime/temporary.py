"""Temporary files that a killed process does not leave behind."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path

_OURS = re.compile(r"\.?pnml-(\d+)-([0-9a-f]{8})-[0-9a-f]{16}\.(?:tmp|table)")
_HANDLES = "/proc/self/fd"  # where Linux names the open files of a process
_swept: set[Path] = set()


def unnamed_file(folder: Path, mode: int) -> int | None:
    """Descriptor of a new file without a name in `folder`; None if the system offers none.

    The file ends with the process; `mode` are its permission bits.
    """
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or not Path(_HANDLES).is_dir():
        return None
    try:
        return os.open(folder, flag | os.O_RDWR, mode)
    except OSError:  # what is wrong with the folder, if anything, the next attempt says
        return None


def path_of(handle: int) -> Path:
    """Path under /proc by which this process can open an unnamed file once more."""
    return Path(_HANDLES, str(handle))


def give_name(handle: int, path: Path) -> None:
    """Give the unnamed file with this descriptor the name `path`, which no other file has."""
    # with a folder's handle Python calls linkat, which follows the link in /proc; link does not
    os.link(path_of(handle), path, src_dir_fd=handle, follow_symlinks=True)


def temporary_name(folder: Path, start: str, ending: str) -> Path:
    """Path of a temporary file in `folder`, with the number of this process in its name.

    The name begins with `start` and has the suffix `ending`. `sweep` removes the file if the
    process is killed.

    >>> temporary_name(Path("models"), ".", "tmp").suffix
    '.tmp'
    """
    return folder / f"{start}pnml-{os.getpid()}-{_machine()}-{secrets.token_hex(8)}.{ending}"


def sweep(folder: Path) -> None:
    """Remove temporary files in a folder that processes of this machine left when killed."""
    if os.name != "posix" or folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError):
        for entry in os.scandir(folder):
            found = _OURS.fullmatch(entry.name)
            if found and found[2] == _machine() and _is_gone(int(found[1])):
                Path(entry.path).unlink(missing_ok=True)


@cache
def _machine() -> str:
    """Where a process number means a process: this host, and this container on it."""
    try:
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - names no file
    except OSError:
        space = ""
    return hashlib.sha256(f"{socket.gethostname()} {space}".encode()).hexdigest()[:8]


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False  # there, but not ours
    return False
