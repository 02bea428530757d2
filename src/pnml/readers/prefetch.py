"""Ordered prefetch with a thread pool."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


def prefetch(
    items: Generator[A, Any, Any], work: Callable[[A], B], workers: int
) -> Generator[B, None, None]:
    """Prefetched results of `work` for all items, in order; at most `workers` + 1 wait.

    A separate thread draws the items. An exception of an item or of its work is raised in its
    turn. Closing the generator ends all threads, once the work under way is done.

    >>> list(prefetch((n for n in range(4)), lambda n: n * n, workers=2))
    [0, 1, 4, 9]
    """
    room = threading.Semaphore(workers + 1)
    stopped = threading.Event()
    line: queue.SimpleQueue[Future[B] | None] = queue.SimpleQueue()

    def draw() -> None:
        try:
            with closing(items):
                for item in items:
                    room.acquire()
                    if stopped.is_set():
                        return
                    line.put(pool.submit(work, item))
        except BaseException as error:
            failed: Future[B] = Future()
            failed.set_exception(error)
            line.put(failed)
        finally:
            line.put(None)

    with ThreadPoolExecutor(workers + 1, thread_name_prefix="pnml-table") as pool:
        try:
            pool.submit(draw)
            while (future := line.get()) is not None:
                result = future.result()
                room.release()
                yield result
        finally:
            stopped.set()
            room.release()
            pool.shutdown(wait=True, cancel_futures=True)
