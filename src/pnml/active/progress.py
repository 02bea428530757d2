"""How far a long computation is: told to a function, or drawn where somebody is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

from pnml.errors import InputError

# What is shown: a function of (done, total); a bar or none; None is a bar on a terminal.
Progress = Callable[[int, int], object] | bool | None

_PATIENCE = 1.0  # seconds before a bar that nobody asked for appears


@contextmanager
def reporting(progress: Progress, total: int, doing: str) -> Iterator[Callable[[int], None]]:
    """A function that is told of every part that is done; at the end all of it counts as done.

    >>> seen = []
    >>> with reporting(lambda done, total: seen.append((done, total)), 3, "Scoring") as advance:
    ...     advance(2)
    >>> seen
    [(2, 3), (3, 3)]
    """
    with ExitStack() as stack:
        show = _shown(progress, total, doing, stack)
        done = 0

        def advance(parts: int) -> None:
            nonlocal done
            done = min(done + parts, total)
            show(done, total)

        yield advance
        if done < total:
            advance(total - done)


def _shown(
    progress: Progress, total: int, doing: str, stack: ExitStack
) -> Callable[[int, int], object]:
    if callable(progress):
        return progress
    installed = find_spec("rich") is not None
    if progress and not installed:
        raise InputError(
            'A progress bar needs rich, which is not installed; run pip install "pnml[cli]" or '
            "pass progress=False."
        )
    watched = sys.stderr is not None and sys.stderr.isatty()
    if not (installed and watched if progress is None else progress):
        return lambda done, total: None
    return _bar(total, doing, 0.0 if progress else _PATIENCE, stack)


def _bar(total: int, doing: str, patience: float, stack: ExitStack) -> Callable[[int, int], object]:
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(stderr=True))
    task = bar.add_task(doing, total=total)
    begun = time.monotonic()

    def show(done: int, total: int) -> None:
        if not bar.live.is_started and time.monotonic() - begun >= patience and done < total:
            stack.enter_context(bar)
        bar.update(task, completed=done)

    return show
