"""Progress of a long computation: passed to a function, or drawn as a bar on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from operator import length_hint
from typing import Any, TypeVar

from pnml.errors import InputError, how_to_install

T = TypeVar("T")

# A function of (done, total); True or False for a bar or none; None for a bar on a terminal.
Progress = Callable[[int, int], object] | bool | None
# The same for files: the function takes bytes done, all bytes, and rows.
FileProgress = Callable[[int, int, int], object] | bool | None

_PATIENCE = 1.0  # seconds before a bar that nobody asked for appears
_INTERVAL = 0.2  # seconds between two updates of the row count


@contextmanager
def reporting(progress: Progress, total: int, doing: str) -> Iterator[Callable[[int], None]]:
    """Context with a function `advance(parts)` that reports so many more of `total` parts as done.

    `progress` is a function of (done, total), True or False for a bar or none, or None for a bar on
    a terminal; `doing` is the text beside the bar. At the end of the block all parts are reported
    as done.

    >>> seen = []
    >>> with reporting(lambda done, total: seen.append((done, total)), 3, "Scoring") as advance:
    ...     advance(2)
    >>> seen
    [(2, 3), (3, 3)]
    """
    with ExitStack() as stack:
        show: Callable[[int, int], object] = (
            progress if callable(progress) else _bar(progress, doing, total, stack)
        )
        done = 0

        def advance(parts: int) -> None:
            nonlocal done
            done = min(done + parts, total)
            show(done, total)

        yield advance
        if done < total:
            advance(total - done)


def tracked(items: Iterable[T], doing: str, progress: Progress) -> Iterator[T]:
    """The same items, reported as done one by one, each when the next one is asked for.

    The total is the length of `items`, or 0 if that is unknown. `progress` is a function of (done,
    total), True or False for a bar or none, or None for a bar on a terminal; `doing` is the text
    beside the bar.

    >>> seen = []
    >>> list(tracked([1, 2], "Counting", lambda *state: seen.append(state))), seen
    ([1, 2], [(1, 2), (2, 2)])
    """
    total = length_hint(items)  # 0 for streams without a length
    with ExitStack() as stack:
        show: Callable[[int, int], object] = (
            progress if callable(progress) else _bar(progress, doing, total, stack)
        )
        for number, item in enumerate(items, 1):
            yield item
            show(number, total)


@contextmanager
def watching(
    progress: FileProgress, doing: str, total: int, before: int = 0
) -> Iterator[Callable[[int, int], None]]:
    """Context with a function `tell(done, rows)` that reports bytes and rows of a pass over files.

    `progress` is a function of (bytes done, `total` bytes, rows), True or False for a bar or none,
    or None for a bar on a terminal. The bar shows rows and rows per second, and is removed at the
    end; `before` rows were read earlier and do not count for the speed.

    >>> seen = []
    >>> with watching(lambda *state: seen.append(state), "Counting", 100) as tell:
    ...     tell(50, 7)
    >>> seen
    [(50, 100, 7)]
    """
    if callable(progress):
        show_files = progress

        def pass_on(done: int, rows: int) -> None:
            show_files(done, total, rows)

        yield pass_on
        return
    with ExitStack() as stack:
        show = _bar(progress, doing, total, stack, transient=True)
        start = time.monotonic()
        last = start - _INTERVAL

        def tell(done: int, rows: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _INTERVAL:
                last = now
                rate = (rows - before) / max(now - start, 1e-9)
                note = f"{rows:,} rows, {rate:,.0f} a second" if rows else ""
                show(done, total, note)

        yield tell


@contextmanager
def terminal_bar(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Context with a function `show(done, total)` that draws a bar, if there is a terminal.

    `doing` is the text beside the bar, which is removed at the end.

    >>> with terminal_bar("Scoring") as show:
    ...     show(1, 2)
    """
    with ExitStack() as stack:
        yield _bar(None, doing, 0, stack, transient=True, patience=0.0)


def _bar(
    asked: bool | None,
    doing: str,
    total: int,
    stack: ExitStack,
    *,
    transient: bool = False,
    patience: float | None = None,
) -> Callable[..., None]:
    """A function of (done, total, note) that draws a bar, or does nothing where none is wanted.

    `stack` removes or completes the bar. A total of 0 means that it is unknown.
    """
    installed = find_spec("rich") is not None
    if asked and not installed:
        raise InputError(
            f"A progress bar needs rich, which is not installed; {how_to_install('cli')} or "
            "pass progress=False."
        )
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if not (installed and terminal if asked is None else asked):
        return lambda done, total, note="": None
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns: list[Any] = [TextColumn("{task.description}", markup=False), BarColumn()]
    columns += [TaskProgressColumn(), TextColumn("{task.fields[note]}"), TimeRemainingColumn()]
    bar = Bar(*columns, console=Console(stderr=True), transient=transient)
    task = bar.add_task(doing, total=total or None, note="")
    wait = (0.0 if asked else _PATIENCE) if patience is None else patience
    start = time.monotonic()
    if wait == 0:
        stack.enter_context(bar)

    def show(done: int, total: int, note: str = "") -> None:
        if not bar.live.is_started and time.monotonic() - start >= wait and done != total:
            stack.enter_context(bar)
        bar.update(task, completed=done, total=total or None, note=note)

    return show
