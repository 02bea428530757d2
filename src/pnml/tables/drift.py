"""Drift of a table's columns: what each held in training, and what it holds now."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DriftRow:
    """Drift of one column of a table between training and new rows. NaN where not defined."""

    column: str
    kind: str  # "number", "date" or "category"
    training: str  # range or words in training
    new: str  # range or words in the new rows
    outside: float  # share of new cells outside of the training range
    missing_before: float  # share of training cells
    missing_now: float  # share of new cells
    new_words: int  # words that training never saw
    psi: float  # population stability index
    p_value: float
    flagged: bool
    remark: str
