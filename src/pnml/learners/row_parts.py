"""Long tables in parts: rows of arrays, data frames and lists, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

# Rows of a part: their leaves in 100 trees take 26 MB.
PART_ROWS = 32_768


def row_parts(X: Any) -> Iterator[tuple[slice, Any]]:
    """Consecutive parts of X of at most 32,768 rows: pairs of a slice and the rows in it.

    >>> [(part.start, part.stop, rows) for part, rows in row_parts([[1], [2]])]
    [(0, 2, [[1], [2]])]
    """
    n = _num_samples(X)
    if n <= PART_ROWS:
        yield slice(0, n), X
        return
    for start in range(0, n, PART_ROWS):
        part = slice(start, min(start + PART_ROWS, n))
        yield part, _safe_indexing(X, part)
