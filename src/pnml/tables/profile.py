"""How the cells of each column were spread in training, to compare new tables with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.tables.encoder import CategoryColumn, Encoder, NumberColumn

_BINS = 10
_MOST_ROWS = 4096  # of the training rows; more change the shares little


@dataclass(frozen=True)
class ColumnProfile:
    """Counts of the training cells of one column of a table, by bins of numbers or by words.

    `edges` lie between the bins, in the encoder's units; `words` are the indices of the words
    counted, −1 for all rarer words together; `missing` cells are counted apart.
    """

    edges: tuple[float, ...]  # between bins, in the encoder's units; () for words
    counts: tuple[int, ...]  # training cells in each bin or word, the rarest words together, or all
    missing: int  # training cells that were empty
    words: tuple[int, ...] = ()  # the word of each count; −1 for all others together


def profiles(encoder: Encoder, X: FloatArray) -> tuple[ColumnProfile, ...]:
    """Profile of each column of the encoder, from encoded training rows X (n, width)."""
    if len(X) > _MOST_ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(len(X), _MOST_ROWS, replace=False))]
    return tuple(_profile(column, X) for column in encoder.columns)


def _profile(column: Any, X: FloatArray) -> ColumnProfile:
    gaps = np.zeros(len(X), bool) if column.missing is None else X[:, column.missing] != 0
    if isinstance(column, NumberColumn):
        values = X[~gaps, column.value]
        edges = _edges(values)
        return ColumnProfile(edges, binned(edges, values), int(gaps.sum()))
    if isinstance(column, CategoryColumn):
        counts = np.count_nonzero(X[:, list(column.level_places)], axis=0)
        frequent = np.sort(np.argsort(-counts, kind="stable")[:_BINS]).tolist()
        kept = [int(counts[word]) for word in frequent]
        if len(counts) > len(frequent):
            frequent.append(-1)
            kept.append(int(counts.sum()) - sum(kept))
        return ColumnProfile((), tuple(kept), int(gaps.sum()), tuple(frequent))
    if getattr(column, "kind", "") == "gap":
        gaps[:] = True
    return ColumnProfile((), (int((~gaps).sum()),), int(gaps.sum()))


def _edges(values: FloatArray) -> tuple[float, ...]:
    """Edges after the deciles, halfway to the next value, so that round-off moves no value over.

    There is no edge inside a value that fills several bins.
    """
    if not len(values):
        return ()
    values = np.sort(values)
    deciles = np.unique(np.quantile(values, np.arange(1, _BINS) / _BINS, method="inverted_cdf"))
    deciles = deciles[deciles < values[-1]]
    following = values[np.searchsorted(values, deciles, side="right")]
    return tuple(((deciles + following) / 2).tolist())


def binned(edges: tuple[float, ...], values: FloatArray) -> tuple[int, ...]:
    """Number of values in each bin between `edges`; a value on an edge is in the bin below it.

    >>> binned((0.0, 1.0), np.array([-1.0, 0.0, 0.5, 3.0]))
    (2, 1, 1)
    """
    place = np.searchsorted(np.array(edges), values)
    return tuple(np.bincount(place, minlength=len(edges) + 1).tolist())
