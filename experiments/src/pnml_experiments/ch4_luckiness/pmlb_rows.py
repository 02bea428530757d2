"""Sets of the PMLB collection, and few training rows drawn from them."""

from __future__ import annotations

import gzip
from functools import cache

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.errors import InputError
from pnml_experiments.ch4_luckiness.linear_learners import Trained
from pnml_experiments.framework.data import data_path, is_here
from pnml_experiments.framework.printed import numbers
from pnml_experiments.framework.stored_files import VARIABLE, pmlb_path

RATIOS = (0.5, 1.0, 1.5, 3.0)  # training rows per column
# Largest penalties of grids for the averaged rule of the thesis; print gives no grid.
ENDS = (0.1, 1.0, 10.0, 100.0, 1000.0)
_FIRST, _PENALTIES = 1e-6, 60
_FEWEST = 3  # training rows
_TEST = 300  # rows


@cache
def printed() -> dict[tuple[str, ...], float]:
    """The printed table, by set, learner and measure.

    >>> printed()["banana", "ridge", "MSE"]
    2.84
    """
    return numbers("pmlb", ["set", "learner", "measure"], "value")


def rounded(loss: float) -> float:
    """To three digits, as the printed table has log-losses.

    >>> rounded(1.4449), rounded(276.4)
    (1.44, 276.0)
    """
    return float(f"{loss:.3g}")


def sets() -> list[str]:
    """The sets of the printed table that are here, in its order."""
    return [name for name in dict.fromkeys(key[0] for key in printed()) if is_here(pmlb_path(name))]


def read(name: str) -> tuple[FloatArray, FloatArray]:
    """Rows X (n, d) and targets y (n,) of a set, each column of mean 0 and variance 1."""
    try:
        with gzip.open(data_path(pmlb_path(name)), "rt", encoding="utf-8") as file:
            table = np.loadtxt(file, delimiter="\t", skiprows=1, ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(
            f"{pmlb_path(name)} below {VARIABLE} cannot be read ({type(error).__name__}), so it is "
            "broken or another file; put the right one there."
        ) from error
    spread = table.std(axis=0)
    table = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return table[:, :-1], table[:, -1]


def drawn(
    X: FloatArray, y: FloatArray, ratio: float, seed: int
) -> tuple[Trained, FloatArray, FloatArray]:
    """So many training rows per column, drawn at random, and test rows from the others."""
    n = training_rows(X.shape[1], ratio)
    order = shuffled(y, n, seed)
    train, test = order[:n], order[n : n + _TEST]
    return Trained(X[train], y[train]), X[test], y[test]


def shuffled(y: FloatArray, n: int, seed: int) -> npt.NDArray[np.intp]:
    """An order of the rows at random; the first n have more than one target to learn from."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    while np.ptp(y[order[:n]]) == 0:
        order = rng.permutation(len(y))
    return order


def grid(end: float) -> FloatArray:
    """Penalties of the averaged rule up to an end.

    >>> grid(0.1)[[0, -1]]
    array([1.e-06, 1.e-01])
    """
    return np.geomspace(_FIRST, end, _PENALTIES)


def training_rows(columns: int, ratio: float) -> int:
    """How many training rows that ratio means.

    >>> training_rows(10, 1.5), training_rows(2, 0.5)
    (15, 3)
    """
    return max(_FEWEST, round(ratio * columns))
