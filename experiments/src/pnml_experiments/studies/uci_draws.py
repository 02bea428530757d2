"""Rows of the UCI sets as the benchmark draws them, and means over splits with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.metrics import Estimate
from pnml_experiments.framework.data import arrays, is_here
from pnml_experiments.framework.stored_files import UCI

RESAMPLES = 2_000
INTERVAL = f"95 %, splits drawn again {RESAMPLES} times, the same for every learner"


@dataclass(frozen=True)
class Draw:
    """Training and test rows, in units of mean 0 and variance 1 over the training rows."""

    X: FloatArray  # (n, d)
    y: FloatArray  # (n,)
    new: FloatArray  # (m, d)
    truth: FloatArray  # (m,)
    unit: float  # of y, in standard deviations of all training labels of the split
    spread: float  # that standard deviation, in the target's own unit


def path(name: str) -> str:
    """The file of a set, below the data folder."""
    return UCI[name]


def sets_here(names: Sequence[str]) -> list[str]:
    """Those of the sets whose file is there."""
    return [name for name in names if is_here(path(name))]


def splits_of(name: str, most: int) -> int:
    """Published splits of a set, at most so many."""
    return min(most, sum(key.startswith("train_") for key in arrays(path(name))))


def drawn(name: str, split: int, size: int | None) -> Draw:
    """So many training rows of a published split, drawn evenly; None for all of them."""
    stored = arrays(path(name))
    X, y = stored["X"].astype(float), stored["y"].astype(float)
    train = np.random.default_rng(split).permutation(stored[f"train_{split}"])
    rows, test = train[:size], stored[f"test_{split}"]
    spread = float(y[train].std())
    mean, unit = y[rows].mean(), _spread(y[rows, None])[0]
    return Draw(
        standardised(X[rows], X[rows]),
        (y[rows] - mean) / unit,
        standardised(X[test], X[rows]),
        (y[test] - mean) / unit,
        float(unit) / spread,
        spread,
    )


def standardised(X: FloatArray, train: FloatArray) -> FloatArray:
    """Columns in units of mean 0 and variance 1 over the training rows.

    >>> standardised(np.array([[3.0, 5.0]]), np.array([[0.0, 4.0], [2.0, 4.0]]))
    array([[2., 1.]])
    """
    scaled: FloatArray = (X - train.mean(axis=0)) / _spread(train)
    return scaled


def _spread(values: FloatArray) -> FloatArray:
    """Standard deviation of columns; 1 where a column is constant up to round-off."""
    spread = values.std(axis=0)
    tiny = 1e-12 * np.abs(values).max(axis=0)
    return np.where(spread > tiny, spread, 1.0)


def over_splits(values: Sequence[npt.ArrayLike], centre: Callable[..., Any] = np.mean) -> Estimate:
    """Mean over sets of the means over splits, from one sequence of values for each set.

    The centre of the splits of a set can be another: ``np.median``.

    The splits of every set are drawn again with replacement, which gives the interval.

    >>> over_splits([[1.0, 1.0], [3.0, 3.0]])
    Estimate(value=2.0, low=2.0, high=2.0)
    """
    each = [np.asarray(one, dtype=float) for one in values]
    value = np.mean([centre(one) for one in each])
    return estimate(value, redrawn(each, centre).mean(axis=0))


def redrawn(values: Sequence[FloatArray], centre: Callable[..., Any] = np.mean) -> FloatArray:
    """Means (sets, resamples) over splits drawn again; of values (splits, …), (…) behind."""
    out = []
    for one in values:
        # one stream for each number of splits: learners and measures meet the same draws
        picks = np.random.default_rng(len(one)).integers(len(one), size=(RESAMPLES, len(one)))
        out.append(centre(one[picks], axis=1))
    return np.stack(out)


def estimate(value: float | np.floating, drawn_again: FloatArray) -> Estimate:
    """A number with the central 95 % of what it is over the draws."""
    low, high = np.quantile(drawn_again, [0.025, 0.975])
    return Estimate(float(value), float(low), float(high))
