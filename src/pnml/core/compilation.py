"""Functions compiled by numba, which is imported only when there is one to compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled by numba to run without the GIL; cached on disk if it can be.

    A decorator. It imports numba, so only modules that are imported where numba is installed may
    use it.
    """
    import numba

    try:
        cached: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the function's folder nor the user's cache folder is writable
        cached = numba.njit(nogil=True)(function)
    return cached
