"""Stable 64-bit hashes of words, and the position of a hashed word in an encoded row."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray

PLACES = 64  # of one hashed column

Hashes = npt.NDArray[np.int64]


def word_hashes(words: Iterable[str]) -> Hashes:
    """Hashes (n,) of words: BLAKE2b of 8 bytes of their UTF-8 text, as little-endian integers.

    >>> word_hashes(["N14228", "N24211"]) % 64
    array([22, 48])
    """
    digests = [blake2b(_bytes(word), digest_size=8).digest() for word in words]
    return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)


def hash_slots(hashes: Hashes) -> npt.NDArray[np.int64]:
    """Slot (n,) of each hashed word in the 64 positions of its column: the hash's last 6 bits."""
    slots: npt.NDArray[np.int64] = hashes & (PLACES - 1)
    return slots


def hash_signs(hashes: Hashes) -> FloatArray:
    """Sign (n,) of each hashed word at its slot: −1 if bit 32 of the hash is set, else +1."""
    return np.where((hashes >> 32) & 1, -1.0, 1.0)


def are_known(hashes: Hashes, known: Hashes) -> npt.NDArray[np.bool_]:
    """Booleans (n,): whether each hash is in `known`, the sorted hashes of training words."""
    if not len(known):
        return np.zeros(len(hashes), dtype=bool)
    place = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    found: npt.NDArray[np.bool_] = known[place] == hashes
    return found


def _bytes(word: str) -> bytes:
    return word.encode("utf-8", errors="surrogatepass")
