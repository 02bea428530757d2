"""Which files a user means by a path, a folder, a pattern or ``-``."""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pnml.errors import InputError
from pnml.readers.file_errors import missing, reading
from pnml.readers.file_kind import ENDINGS, Kind, ending, kind_of
from pnml.readers.remote import Place, is_remote, remote_files

STANDARD_INPUT = "standard input"


@dataclass(frozen=True)
class TableFile:
    """A file, what messages call it, what it is, and its state when first seen."""

    path: Place
    name: str
    kind: Kind
    size: int
    state: tuple[int, ...]

    @classmethod
    def at(cls, path: Place, name: str) -> TableFile:
        """What is at a path now."""
        kind = kind_of(path, name)
        with reading(name):
            found = path.stat()
        return cls(path, name, kind, found.st_size, _state(found))

    def check_unchanged(self) -> None:
        """Refuse a file that is not what it was when first seen."""
        with reading(self.name):
            now = _state(self.path.stat())
        if now != self.state:
            raise InputError(
                f"{self.name} was changed while it was being read; start again when it is at rest."
            )


@dataclass(frozen=True)
class Found:
    """The files meant, and the one among them that was made here and is to be removed."""

    name: str
    files: tuple[TableFile, ...]
    temporary: Path | None = None
    bad: tuple[tuple[str, str], ...] = ()  # names of files that are no tables, and why


def find(
    source: str | Path, access: Mapping[str, Any] | None = None, *, skip_bad: bool = False
) -> Found:
    """The files that a source stands for, all of one kind; `access` is for remote ones."""
    name = str(source)
    if is_remote(name):
        return _remote(name, access, skip_bad)
    if name == "-":
        return _spooled(_standard_input(), STANDARD_INPUT)
    path = Path(name).expanduser()
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if glob.has_magic(name):
            return _many(_matches(path, name), name, skip_bad)
        raise missing(path, name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name!r} cannot be read ({reason}); check the path.") from error
    if stat.S_ISDIR(found.st_mode):
        return _many(_tables_in(path, name), name, skip_bad)
    if stat.S_ISFIFO(found.st_mode):
        with reading(name), path.open("rb") as stream:
            return _spooled(stream, name)
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{name} is no file, folder or pipe; give a table.")
    return Found(name, (TableFile.at(path, name),))


def _remote(name: str, access: Mapping[str, Any] | None, skip_bad: bool) -> Found:
    listing = remote_files(name, access)
    if listing.what == "file":
        return Found(name, (TableFile.at(listing.files[0], name),))
    if listing.what == "pattern":
        if not listing.files:
            raise InputError(f"No file matches {name}; check the pattern and the folder.")
        return _many(listing.files, name, skip_bad)
    return _many(_only_tables(listing.files, name), name, skip_bad)


def _many(paths: Sequence[Place], name: str, skip_bad: bool) -> Found:
    found, bad = [], []
    for path in paths:
        try:
            found.append(TableFile.at(path, str(path)))
        except InputError as error:
            if not skip_bad:
                raise
            bad.append((str(path), str(error)))
    files = tuple(found)
    if not files:
        raise InputError(
            f"None of the {len(bad)} files of {name} can be read; of the first it is said: "
            f"{bad[0][1]}"
        )
    for file in files[1:]:
        if file.kind is not files[0].kind:
            raise InputError(
                f"{name} mixes kinds of tables, {files[0].kind.value} in {files[0].name} and "
                f"{file.kind.value} in {file.name}; give a pattern that matches one kind."
            )
    return Found(name, files, bad=tuple(bad))


def _tables_in(folder: Path, name: str) -> list[Place]:
    with reading(name):
        entries = sorted(folder.iterdir())
    return _only_tables([path for path in entries if path.is_file()], name)


def _only_tables(entries: Sequence[Place], name: str) -> list[Place]:
    # Names that begin with an underscore are notes that Spark leaves beside its tables.
    found = [
        path for path in entries if ending(path) in ENDINGS and not path.name.startswith((".", "_"))
    ]
    if not found:
        known = ", ".join(ENDINGS)
        raise InputError(f"The folder {name} holds no tables; give one with files in {known}.")
    return found


def _matches(path: Path, name: str) -> list[Path]:
    found = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 - any path
    files = [match for match in found if match.is_file()]
    if not files:
        raise InputError(f"No file matches {name}; check the pattern and the folder.")
    return files


def _standard_input() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("Standard input is a terminal, not a table; pipe a table into it.")
    return sys.stdin.buffer


def _spooled(stream: IO[bytes], name: str) -> Found:
    """All that a stream gives, on disk, since a table may have to be read twice."""
    handle, place = tempfile.mkstemp(prefix="pnml-", suffix=".table")
    path = Path(place)
    try:
        try:
            with os.fdopen(handle, "wb") as file:
                shutil.copyfileobj(stream, file, 2**20)
        except OSError as error:
            raise InputError(
                f"{name} cannot be kept in {path.parent} ({error.strerror}); make room there or "
                "set TMPDIR to another folder."
            ) from error
        return Found(name, (TableFile.at(path, name),), temporary=path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _state(found: Any) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
