"""Patterns of file names, in which ``**`` stands for folders at any depth."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

_ANY_DEPTH = "**"


def matching(pattern: str) -> list[str]:
    """Paths that match a pattern, in order; every folder is entered once, whatever links to it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "a").mkdir()
    ...     Path(folder, "a", "again").symlink_to(folder)
    ...     _ = Path(folder, "a", "t.csv").write_text("x")
    ...     [Path(path).name for path in matching(f"{folder}/**/*.csv")]
    ['t.csv']
    """
    parts = Path(pattern).parts
    if _ANY_DEPTH not in parts:
        return sorted(glob.glob(pattern))  # noqa: PTH207 - any path
    place = parts.index(_ANY_DEPTH)
    before = os.path.join(*parts[:place]) if place else "."  # noqa: PTH118 - a pattern
    after = os.path.join(*(parts[place + 1 :] or ("*",)))  # noqa: PTH118 - a pattern
    starts = sorted(glob.glob(before)) if place else ["."]  # noqa: PTH207 - any path
    entered: set[tuple[int, int]] = set()
    found = set()
    for start in starts:
        for folder in _folders(start, entered):
            inner = os.path.join(glob.escape(folder), after)  # noqa: PTH118 - a pattern
            found.update(matching(inner) if _ANY_DEPTH in after else glob.glob(inner))  # noqa: PTH207
    return sorted(path.removeprefix(f".{os.sep}") if not place else path for path in found)


def _folders(start: str, entered: set[tuple[int, int]]) -> Iterator[str]:
    """A folder and all below it that were not entered yet; hidden ones are left out."""
    pending = [start]
    while pending:
        folder = pending.pop(0)  # the nearest first, so that a path without links comes first
        try:
            status = os.stat(folder)  # noqa: PTH116 - a name of bytes no Path keeps
            entries = sorted(entry.path for entry in os.scandir(folder) if _is_shown_folder(entry))
        except OSError:
            continue  # gone, or not ours to read: a pattern matches what can be seen
        key = (status.st_dev, status.st_ino)
        if key in entered:
            continue
        entered.add(key)
        yield folder
        pending += entries


def _is_shown_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.is_dir()
    except OSError:  # a link that goes round in a circle
        return False
