"""Levels of a column of words: codes for leaves, one-hot features for a linear part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from pnml.columns.words import IntArray, Words
from pnml.core.arrays import FloatArray
from pnml.core.conditions import COUNT

MOST_FEATURES = 30  # words with a feature of their own; rarer ones share another one


@dataclass(frozen=True)
class Levels:
    """Words that training rows had in one column; a gap (missing cell) is the last word."""

    words: tuple[str, ...]  # sorted
    gaps: bool
    features: Annotated[IntArray, "m"]  # the feature of each word, and of the gap if there are any
    width: Annotated[int, COUNT]  # number of features; 0 where all cells are equal

    @classmethod
    def of(cls, column: Words, weights: FloatArray) -> Levels:
        """Levels of a training column; all rows have positive weights (n,)."""
        distinct = len(column.levels)
        codes = np.where(column.gaps, distinct, column.codes)
        weight_of = np.zeros(distinct + 1)
        weight_of += np.bincount(codes, weights, minlength=distinct + 1)
        present = np.flatnonzero(weight_of[:distinct]).tolist()
        present.sort(key=column.levels.__getitem__)
        gaps = bool(weight_of[distinct])
        weight = weight_of[[*present, distinct] if gaps else present]
        features, width = _features(weight)
        return cls(tuple(column.levels[code] for code in present), gaps, features, width)

    def __len__(self) -> int:
        return len(self.words) + self.gaps

    @cached_property
    def _code(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self.words)}

    @property
    def text(self) -> str:
        """Phrase for what training had in the column, such as "one of 3 words or missing"."""
        count = len(self.words)
        text = (
            f"one of {count} words" if count > 1 else f"always {self.words[0]!r}" if count else ""
        )
        if not self.gaps:
            return text
        return f"{text} or missing" if text else "always missing"

    def codes(self, column: Words) -> IntArray:
        """Index (n,) of each cell among the known levels; −1 for a value never seen in training."""
        gap = len(self.words) if self.gaps else -1
        lookup = np.array([*(self._code.get(word, -1) for word in column.levels), gap])
        codes: IntArray = lookup[column.codes].astype(np.int64)  # a gap, −1, takes the last
        return codes

    def write(self, codes: IntArray, Z: FloatArray) -> None:
        """Write the one-hot features of cells with codes (n,) into Z (n, width), which is 0."""
        if self.width:
            rows = np.flatnonzero(codes >= 0)
            Z[rows, self.features[codes[rows]]] = 1.0


def _features(weight: FloatArray) -> tuple[IntArray, int]:
    """The feature of each level (m,), the rarest together, and how many features there are."""
    m = len(weight)
    if m <= 1:
        return np.zeros(m, dtype=np.int64), 0
    if m <= MOST_FEATURES:
        return np.arange(m), m
    features = np.full(m, MOST_FEATURES)
    frequent = np.sort(np.argsort(-weight, kind="stable")[:MOST_FEATURES])
    features[frequent] = np.arange(MOST_FEATURES)
    return features, MOST_FEATURES + 1
