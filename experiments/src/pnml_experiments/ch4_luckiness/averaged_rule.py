"""The thesis's rule for penalty and noise: the mean of what is best for each row left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pnml.core.arrays import FloatArray
from pnml_experiments.ch4_luckiness.linear_learners import Chosen, Method, Trained

# Largest penalties of grids for the rule; print gives no grid.
ENDS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
_FIRST, _PENALTIES = 1e-3, 60


@dataclass(frozen=True)
class Averaged:
    """A penalty and a noise variance by the averaged rule, and how often the grid decided."""

    chosen: Chosen
    at_ends: float  # share of rows whose best penalty is the first or the last of the grid


def averaged(trained: Trained, method: Method, alphas: FloatArray) -> Averaged:
    """Means over rows of the penalty and the noise that are best for the row when left out.

    One row is met best by the noise e²/ratio, so its best penalty has the least
    log(e²/ratio) + log(ratio), where ratio is the variance over the noise.
    """
    best, noise = [], []
    with np.errstate(divide="ignore"):
        for part in trained.folds(alphas):
            squares = method.folds.square(part)
            at = np.argmin(np.log(squares) + method.folds.log_ratio(part), axis=1)
            best.append(at)
            noise.append(np.take_along_axis(squares, at[:, None], axis=1)[:, 0])
    places = np.concatenate(best)
    variance = max(float(np.mean(np.concatenate(noise))), trained.floor)
    ends = (places == 0) | (places == len(alphas) - 1)
    return Averaged(Chosen(float(alphas[places].mean()), variance), float(np.mean(ends)))


def averaged_errors(
    trained: Trained, method: Method, alphas: FloatArray, new: FloatArray, y: FloatArray
) -> list[float]:
    """RMSE of new rows, the penalty, and the percent of rows whose penalty is at an end."""
    found = averaged(trained, method, alphas)
    mean = trained.says(method, found.chosen)(new).mean
    error = float(np.sqrt(np.mean((mean - y) ** 2)))
    return [error, found.chosen.alpha, 100 * found.at_ends]


def errors_by_end(
    trained: Trained,
    method: Method,
    new: FloatArray,
    y: FloatArray,
    ends: Sequence[float] = ENDS,
) -> dict[str, list[float]]:
    """Largest penalty of the grid → the numbers of `averaged_errors`."""
    return {
        f"{end:g}": averaged_errors(trained, method, np.geomspace(_FIRST, end, _PENALTIES), new, y)
        for end in ends
    }
