"""Digests of what a result depends on: words, arrays, tensors and files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_BLOCK = 2**20  # bytes of a file that are read at once


def fingerprint(*values: Any) -> str:
    """SHA-256 digest, as hex text, of words, arrays, tensors and the contents of files, in order.

    An array counts with its shape and dtype, a `Path` with the bytes of its file.

    >>> fingerprint("a", "b") == fingerprint("ab")
    False
    >>> fingerprint(np.zeros(3)) == fingerprint(np.zeros((3, 1)))
    False
    """
    total = hashlib.sha256()
    for value in values:
        total.update(_digest(value))
    return total.hexdigest()


def _digest(value: Any) -> bytes:
    if isinstance(value, str):
        return hashlib.sha256(value.encode()).digest()
    part = hashlib.sha256()
    if isinstance(value, Path):
        with value.open("rb") as file:
            while block := file.read(_BLOCK):
                part.update(block)
        return part.digest()
    array = _array(value)
    part.update(f"{array.shape} {array.dtype}".encode())
    part.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return part.digest()


def _array(value: Any) -> npt.NDArray[Any]:
    if hasattr(value, "detach"):  # a tensor, of a library that need not be installed
        value = value.detach().cpu()
        value = value.float() if str(value.dtype).endswith("bfloat16") else value
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise TypeError(f"a {type(value).__name__} of Python objects has no fingerprint")
    return array


def refit_fingerprint(words: Iterable[str], arrays: Iterable[npt.NDArray[Any]]) -> str:
    """SHA-256 digest, as hex text, of the kind by which checkpoints of refits from 0.1 resume.

    >>> refit_fingerprint(["a"], []) == fingerprint("a")
    True
    """
    total = hashlib.sha256()
    for word in words:
        total.update(hashlib.sha256(word.encode()).digest())
    for array in arrays:
        total.update(f"{array.dtype} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()
