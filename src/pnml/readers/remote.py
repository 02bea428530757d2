"""Remote files: any address that fsspec can open, such as s3://, gs:// or memory://."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any, BinaryIO, NamedTuple, cast

from pnml.errors import MOST_PATH, InputError, how_to_install, shorten
from pnml.readers.file_errors import brief_reason


class _Stat(NamedTuple):
    """State of a remote file, as far as its file system tells."""

    st_dev: int
    st_ino: int
    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True)
class RemoteFile:
    """A remote file of fsspec, with the methods of a `pathlib.Path` that readers need."""

    system: Any
    path: str

    @property
    def name(self) -> str:
        """The last part of the address."""
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        """The ending, such as ``.csv``."""
        return PurePosixPath(self.path).suffix

    @property
    def stem(self) -> str:
        """The name without the ending."""
        return PurePosixPath(self.path).stem

    def __str__(self) -> str:
        return str(self.system.unstrip_protocol(self.path))

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        """The file, opened to read its bytes."""
        try:
            return cast(BinaryIO, self.system.open(self.path, mode))
        except (InputError, OSError):
            raise
        except Exception as error:  # every file system has errors of its own
            raise OSError(str(error)) from error

    def stat(self) -> _Stat:
        """Size in bytes, and a number that changes with the file, in fields of `os.stat_result`."""
        try:
            info, key = self.system.info(self.path), str(self.system.ukey(self.path))
        except (InputError, OSError):
            raise
        except Exception as error:
            raise OSError(str(error)) from error
        return _Stat(0, 0, int(info.get("size") or 0), int.from_bytes(key.encode()[-7:], "big"))


Place = Path | RemoteFile


def is_remote(name: str) -> bool:
    """Whether a name is that of a remote file: an address rather than a path.

    >>> is_remote("s3://bucket/a.csv"), is_remote("data/a.csv")
    (True, False)
    """
    return "://" in name


class Listing(NamedTuple):
    """The remote files at an address: one file, or those of a folder or a pattern."""

    files: list[RemoteFile]
    what: str  # "file", "folder" or "pattern"


def remote_files(name: str, options: Mapping[str, Any] | None) -> Listing:
    """The remote files at an address, sorted by name; `options` are those of fsspec."""
    label = shorten(name, MOST_PATH)
    try:
        system, path = _library().core.url_to_fs(name, **(options or {}))
        if glob.has_magic(path):
            paths, what = sorted(system.glob(path)), "pattern"
        elif system.isdir(path):
            paths, what = sorted(system.ls(path, detail=False)), "folder"
        elif system.exists(path):
            return Listing([RemoteFile(system, path)], "file")
        else:
            raise InputError(f"{label} is not there; check the address.")
        return Listing([RemoteFile(system, p) for p in paths if not system.isdir(p)], what)
    except InputError:
        raise
    except ImportError as error:
        raise InputError(
            f"{label} needs a package that is not installed ({brief_reason(error)}); install it."
        ) from error
    except Exception as error:
        raise InputError(
            f"{label} cannot be reached ({brief_reason(error)}); check the address and who may "
            "read it."
        ) from error


def _library() -> ModuleType:
    try:
        return import_module("fsspec")
    except ModuleNotFoundError as error:
        raise InputError(
            "Addresses such as s3:// need fsspec, which is not installed; "
            f"{how_to_install('scale')}."
        ) from error
