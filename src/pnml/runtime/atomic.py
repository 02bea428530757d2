"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.runtime.temporary import give_name, path_of, sweep, temporary_name, unnamed_file

# Errors of file systems that cannot sync a folder.
_NOT_OFFERED = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}


def write_whole(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file atomically, from pieces: a crash leaves the old file or the new one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "greeting"), [b"good ", b"day"])
    ...     Path(folder, "greeting").read_bytes()
    b'good day'
    """
    with whole_file(path) as file:
        for piece in pieces:
            file.write(piece)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Binary file to write to, which replaces `path` only when the block ends without error.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "greeting")) as file:
    ...         _ = file.write(b"good day")
    ...     Path(folder, "greeting").read_bytes()
    b'good day'
    """
    path = Path(os.path.realpath(path))  # follow a link to the file itself
    if path.exists() and not path.is_file():
        raise InputError(f"{shorten(path, MOST_PATH)} is not a file; name a file to write to.")
    sweep(path.parent)
    # In the same folder, since a file can replace another only within one file system.
    handle = unnamed_file(path.parent, 0o666)
    temporary = temporary_name(path.parent, ".", "tmp")
    file = temporary.open("xb") if handle is None else os.fdopen(handle, "w+b")
    try:
        if path.exists():
            _copy_mode(path, file, temporary)
        yield file
        file.flush()
        os.fsync(file.fileno())
        if handle is not None:
            _name(file, temporary)
        file.close()
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):  # flushing may find no room either
            file.close()
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _copy_mode(path: Path, file: BinaryIO, temporary: Path) -> None:
    if hasattr(os, "fchmod"):
        os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
    else:
        shutil.copymode(path, temporary)


def _name(file: BinaryIO, temporary: Path) -> None:
    """Give a file without a name its own, or a copy of it where the system does not."""
    try:
        give_name(file.fileno(), temporary)
    except OSError:
        file.seek(0)
        with temporary.open("xb") as copy:
            shutil.copyfileobj(file, copy, 2**20)
            _copy_mode(path_of(file.fileno()), copy, temporary)
            copy.flush()
            os.fsync(copy.fileno())


def _sync_folder(folder: Path) -> None:
    """Bring the new name to disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
    finally:
        os.close(handle)


def check_path(path: Any) -> Path:
    """The argument `path` as a Path; raises InputError unless it is a non-empty text or path."""
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise InputError(
            f"path is {shorten(repr(path), MOST_PATH)}, but it must name a file; pass a text or a "
            'path such as "model.pnml".'
        )
    return Path(path)


def reason(error: Exception) -> str:
    """The system's own words for why a file could not be read or written."""
    return str(getattr(error, "strerror", None) or error)
