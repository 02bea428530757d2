"""The thesis's rule for penalty and noise: the mean of what is best for each row left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pnml.core.arrays import FloatArray
from pnml_experiments.ch4_luckiness.linear_learners import Chosen, Method, Trained


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
