"""How far an evaluation is: told to a function, or drawn as elsewhere in this package."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import cast

from pnml.runtime.progress import tracked

# What is shown: a function of (done, total); a bar or none; None is a bar on a terminal.
Progress = Callable[[int, int], object] | bool | None


@contextmanager
def telling(progress: Progress, total: int, doing: str) -> Iterator[Callable[[int], None]]:
    """A function that is told of every part that is done; at the end all of it counts as done.

    >>> seen = []
    >>> with telling(lambda done, total: seen.append((done, total)), 3, "Attacking") as advance:
    ...     advance(2)
    >>> seen
    [(2, 3), (3, 3)]
    """
    done = 0
    show = progress if callable(progress) else None
    parts = tracked(range(total), doing, False if callable(progress) else progress)
    with closing(cast("Generator[int]", parts)):
        next(parts, None)

        def advance(more: int) -> None:
            nonlocal done
            for _ in range(min(more, total - done)):
                next(parts, None)
            done = min(done + more, total)
            if show is not None:
                show(done, total)

        yield advance
        if done < total:
            advance(total - done)
