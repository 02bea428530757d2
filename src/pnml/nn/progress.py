"""A progress bar where somebody is watching."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from operator import length_hint
from typing import TypeVar

from pnml.errors import InputError

T = TypeVar("T")


def tracked(items: Iterable[T], doing: str, show: bool | None) -> Iterator[T]:
    """The same items, with a bar on the standard error.

    `show` None means: if it is a terminal and rich is installed.

    >>> list(tracked([1, 2], "Counting", show=False))
    [1, 2]
    """
    installed = find_spec("rich") is not None
    if show and not installed:
        raise InputError(
            'A progress bar needs rich, which is not installed; run pip install "pnml[cli]" or '
            "pass progress=False."
        )
    watched = sys.stderr is not None and sys.stderr.isatty()
    if not (installed and watched if show is None else show):
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    total = length_hint(items) or None  # loaders of endless streams have a length that raises
    yield from track(items, doing, total=total, console=Console(stderr=True))
