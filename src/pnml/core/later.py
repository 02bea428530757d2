"""Values that are computed at their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """A value that is computed at its first use; the function `compute` is released then.

    Threads that meet at the first use all get the value; copies and pickles hold it computed.

    >>> later = Later(lambda: 2 + 3)
    >>> later.value
    5
    """

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute: Callable[[], T] | None = compute
        self._value: T

    @property
    def value(self) -> T:
        """The value, computed now if this is its first use."""
        compute = self._compute
        if compute is not None:
            self._value = compute()  # two threads may compute it, to the same result
            self._compute = None  # after the value is there, so that no thread misses it
        return self._value

    def __reduce__(self) -> tuple[Callable[[T], Later[T]], tuple[T]]:
        return _computed, (self.value,)


def _computed(value: T) -> Later[T]:
    return Later(lambda: value)
