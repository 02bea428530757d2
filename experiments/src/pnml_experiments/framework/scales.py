"""Scales: how much of the data of the thesis a run has."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

# How much a run has: a few minutes, hours, the most that the data at hand give in reasonable
# time, or all that the thesis had.
Offered = Literal["small", "medium", "stored", "printed"]
# What the function `run` of an experiment is told.
Scale = Literal["small", "medium", "stored", "full"]
# From the smallest, as they are offered.
SCALES: tuple[Offered, ...] = ("small", "medium", "stored", "printed")
# Those that leave out what the data at hand would give.
REDUCED: tuple[Offered, ...] = ("small", "medium")
# Name of the largest scale before there were two of them.
FULL = "full"


def size_of(scale: Offered, offered: Sequence[Offered]) -> Scale:
    """The size that `run` is told for a scale: stored and printed are full if nothing is larger.

    >>> size_of("small", ("small", "stored")), size_of("stored", ("small", "stored"))
    ('small', 'full')
    >>> size_of("stored", ("small", "stored", "printed"))
    'stored'
    """
    if scale == "printed" or (scale == "stored" and offered[-1] == scale):
        return "full"
    return scale


def today(scale: str, offered: Sequence[Offered]) -> str:
    """A scale by its name of today: `full` is the largest of those offered.

    >>> today("full", ("small", "printed")), today("small", ("small", "printed"))
    ('printed', 'small')
    """
    return offered[-1] if scale == FULL else scale


def warn_of_full(what_runs: str) -> None:
    """Warn that the scale full has two new names."""
    warnings.warn(
        f"The scale full is now called stored (the most that the data at hand give in reasonable "
        f"time) or printed (as much as the thesis had); {what_runs}. The name full goes in pnml "
        "0.4.",
        FutureWarning,
        stacklevel=3,
    )
