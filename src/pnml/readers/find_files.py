"""Find the files of a path, a folder, a pattern, an address or ``-``."""

from __future__ import annotations

import glob
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers.file_errors import missing_file, reading
from pnml.readers.file_kind import ENDINGS, Kind, ending, kind_of
from pnml.readers.frame_in_memory import FrameInMemory
from pnml.readers.patterns import matching
from pnml.readers.remote import Place, is_remote, remote_files
from pnml.readers.spooled import Spool, spooled_bytes

STANDARD_INPUT = "standard input"


@dataclass(frozen=True)
class TableFile:
    """A file of a table, with its kind (CSV, Parquet or Arrow) and its state when first seen.

    `size` is in bytes; `state` (device, inode, size and time) changes when the file does.
    """

    path: Place
    name: str
    kind: Kind
    size: int
    state: tuple[int, ...]

    @classmethod
    def at(cls, path: Place, name: str) -> TableFile:
        """The file at a path, as it is now."""
        kind = kind_of(path, name)
        with reading(name):
            status = path.stat()
        return cls(path, name, kind, status.st_size, _state(status))

    @property
    def label(self) -> str:
        """The name for messages, cut where it is long."""
        return shorten(self.name, MOST_PATH)

    def check_unchanged(self) -> None:
        """Raise InputError if `state` (device, inode, size and time) is no longer that of the file.

        Also raises it if the file is no longer there, or may not be read.
        """
        with reading(self.name):
            now = _state(self.path.stat())
        if now != self.state:
            raise InputError(
                f"{self.label} was changed while it was being read; start again when it is at rest."
            )


@dataclass(frozen=True)
class FoundFiles:
    """The files, or the table in memory, found for a source.

    `temporary` is a temporary copy that the caller must remove after the last reading, or None.
    `bad` are names of files that cannot be read, with reasons; `impossible` are columns with a date
    that does not exist, with that cell.
    """

    name: str
    files: tuple[TableFile | FrameInMemory, ...]
    temporary: Spool | None = None
    bad: tuple[tuple[str, str], ...] = ()  # names of files that cannot be read, and why
    impossible: tuple[tuple[str, str], ...] = ()  # (column, a date in it that does not exist)


def find_files(
    source: str | Path, access: Mapping[str, Any] | None = None, *, skip_bad: bool = False
) -> FoundFiles:
    """The files of a path, folder, pattern, address or ``-``, all of one kind.

    `access` holds options of fsspec for an address; `skip_bad`: files that cannot be read are
    listed in `bad` instead of raising InputError.
    """
    name = str(source)
    if is_remote(name):
        return _remote(name, access, skip_bad)
    if name == "-":
        return _spooled(_standard_input(), STANDARD_INPUT)
    path = Path(name).expanduser()
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if glob.has_magic(name):
            return _many(_matches(path, name), name, skip_bad)
        raise missing_file(path, name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        shown = repr(shorten(name, MOST_PATH))
        raise InputError(f"{shown} cannot be read ({reason}); check the path.") from error
    if stat.S_ISDIR(mode):
        return _many(_tables_in(path, name), name, skip_bad)
    if stat.S_ISFIFO(mode):
        with reading(name), path.open("rb") as stream:
            return _spooled(stream, name)
    if not stat.S_ISREG(mode):
        raise InputError(f"{shorten(name, MOST_PATH)} is no file, folder or pipe; give a table.")
    return FoundFiles(name, (TableFile.at(path, name),))


def _remote(name: str, access: Mapping[str, Any] | None, skip_bad: bool) -> FoundFiles:
    listing = remote_files(name, access)
    if listing.what == "file":
        return FoundFiles(name, (TableFile.at(listing.files[0], name),))
    if listing.what == "pattern":
        if not listing.files:
            raise _no_match(name)
        return _many(listing.files, name, skip_bad)
    return _many(_only_tables(listing.files, name), name, skip_bad)


def _many(paths: Sequence[Place], name: str, skip_bad: bool) -> FoundFiles:
    readable, bad = [], []
    for path in paths:
        try:
            readable.append(TableFile.at(path, str(path)))
        except InputError as error:
            if not skip_bad:
                raise
            bad.append((str(path), str(error)))
    files, label = tuple(readable), shorten(name, MOST_PATH)
    if not files:
        raise InputError(
            f"None of the {len(bad)} files of {label} can be read; of the first it is said: "
            f"{bad[0][1]}"
        )
    for file in files[1:]:
        if file.kind is not files[0].kind:
            raise InputError(
                f"{label} mixes kinds of tables, {files[0].kind.value} in {files[0].label} and "
                f"{file.kind.value} in {file.label}; give a pattern that matches one kind."
            )
    return FoundFiles(name, files, bad=tuple(bad))


def _tables_in(folder: Path, name: str) -> list[Place]:
    with reading(name):
        files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return _only_tables(files, name)


def _only_tables(entries: Sequence[Place], name: str) -> list[Place]:
    # Spark leaves files of its own beside its tables; their names begin with an underscore.
    tables = [
        path for path in entries if ending(path) in ENDINGS and not path.name.startswith((".", "_"))
    ]
    if not tables:
        known, label = ", ".join(ENDINGS), shorten(name, MOST_PATH)
        raise InputError(f"The folder {label} holds no tables; give one with files in {known}.")
    return tables


def _matches(path: Path, name: str) -> list[Path]:
    with reading(name):
        files = [match for match in map(Path, matching(str(path))) if match.is_file()]
    if not files:
        raise _no_match(name)
    return files


def _no_match(name: str) -> InputError:
    pattern = shorten(name, MOST_PATH)
    return InputError(f"No file matches {pattern}; check the pattern and the folder.")


def _standard_input() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("Standard input is a terminal, not a table; pipe a table into it.")
    return sys.stdin.buffer


def _spooled(stream: IO[bytes], name: str) -> FoundFiles:
    return in_spool(spooled_bytes(stream, name), name)


def in_spool(spool: Spool, name: str) -> FoundFiles:
    """A temporary file as the only file of a source; it is removed if it is no table."""
    try:
        return FoundFiles(name, (TableFile.at(spool.path, name),), temporary=spool)
    except BaseException:
        spool.remove()
        raise


def _state(status: Any) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
