"""How far a pass over files is: a bar with rows per second, where somebody is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from pnml.errors import InputError

# A function of bytes done, all bytes and rows; a bar or none; None is a bar on a terminal.
Progress = Callable[[int, int, int], object] | bool | None
Tell = Callable[[int, int], None]

_OFTEN = 0.2  # seconds between two looks at the bar


@contextmanager
def watching(progress: Progress, doing: str, total: int, before: int = 0) -> Iterator[Tell]:
    """A function to be told of bytes and rows that are done; `before` rows were done already.

    >>> seen = []
    >>> with watching(lambda *news: seen.append(news), "Counting", 100) as tell:
    ...     tell(50, 7)
    >>> seen
    [(50, 100, 7)]
    """
    if callable(progress):
        told = progress
        yield lambda done, rows: _ignore(told(done, total, rows))
        return
    installed = find_spec("rich") is not None
    if progress and not installed:
        raise InputError(
            'A progress bar needs rich, which is not installed; run pip install "pnml[cli]" or '
            "pass progress=False."
        )
    watched = sys.stderr is not None and sys.stderr.isatty()
    if not (installed and watched if progress is None else progress):
        yield lambda done, rows: None
        return
    with _bar(doing, total, before) as tell:
        yield tell


@contextmanager
def _bar(doing: str, total: int, before: int) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(doing), BarColumn(), TextColumn("{task.fields[rows]}"))
    with Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=total or None, rows="")
        begun = last = time.monotonic()

        def tell(done: int, rows: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _OFTEN:
                last = now
                rate = (rows - before) / (now - begun)
                bar.update(task, completed=done, rows=f"{rows:,} rows, {rate:,.0f} a second")

        yield tell


def _ignore(_: object) -> None:
    """Nothing: what a user's function returns is of no use."""
