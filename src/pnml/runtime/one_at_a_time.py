"""One thread at a time in the methods of an object that change it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

P = ParamSpec("P")
T = TypeVar("T")
Owner = TypeVar("Owner")

# The locks are kept beside the objects: one that held a lock could be neither copied nor pickled.
_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_making = threading.Lock()


def one_at_a_time(
    method: Callable[Concatenate[Owner, P], T],
) -> Callable[Concatenate[Owner, P], T]:
    """Decorator for methods of which only one at a time runs on an object, in whatever thread.

    Rows that several threads add to one estimator are then all counted. Decorated methods may call
    each other. Copies of an object, and pickled ones, do not wait for the object.

    >>> class Total:
    ...     rows = 0
    ...
    ...     @one_at_a_time
    ...     def add(self, rows):
    ...         self.rows += rows
    >>> total = Total()
    >>> total.add(3)
    >>> total.rows
    3
    """

    @wraps(method)
    def alone(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with _lock_of(self):
            return method(self, *args, **kwargs)

    return alone


def _lock_of(owner: Any) -> Any:
    with _making:
        return _locks.setdefault(owner, threading.RLock())


def _forget_locks() -> None:
    """In a forked process nobody would release the locks that other threads held."""
    global _making
    _making = threading.Lock()
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)
