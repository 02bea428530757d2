"""Functions compiled by numba, which is imported only when there is one to compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled by numba, and cached on disk where numba may write.

    The caller is imported only where numba is installed.
    """
    import numba

    try:
        cached: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither the function's folder nor the user's cache folder is writable
        cached = numba.njit(nogil=True)(function)
    return cached
