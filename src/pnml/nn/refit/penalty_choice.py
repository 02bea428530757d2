"""How strongly the last layer is held back, chosen from its training rows alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.logistic import LogisticModel, refit

# Penalties looked at, over the variance of the features summed over columns, strongest first.
_SHARES = 10.0 ** -(np.arange(-4, 11) / 2)
# Training rows and classes that take part in the choice, and rows held back that are judged.
_MOST_ROWS, _MOST_CLASSES, _JUDGED = 6000, 10, 64
_TOL = 1e-2  # of their regrets, and so of the mean log-loss
_SEED = 0


def chosen_strength(X: FloatArray, labels: npt.NDArray[np.int64], classes: int) -> float:
    """The penalty whose pNML predicts training rows best that were held back. Eq. (D1).

    From the strongest on, each weaker penalty is tried until the log-loss rises; of those that
    are as good as the best, the strongest is taken.
    """
    chance = np.random.default_rng(_SEED)
    some = chance.permutation(classes)[:_MOST_CLASSES]
    rows = chance.permutation(np.flatnonzero(np.isin(labels, some)))[:_MOST_ROWS]
    shown, y = np.unique(labels[rows], return_inverse=True)
    k = len(shown)
    held = held_back(y, k)
    kept, judged = np.flatnonzero(~held), chance.permutation(np.flatnonzero(held))[:_JUDGED]
    unit = float(np.sum(np.var(X, axis=0))) or 1.0
    if len(judged) == 0 or k < 2:
        return unit
    losses: dict[float, float] = {}
    start = None
    for alpha in unit * _SHARES:
        model = LogisticModel.fit(X[rows[kept]], y[kept], k, alpha=alpha, start=start)
        start = model.weight, model.bias
        genies = np.exp(refit(model, X[rows[judged]], tol=_TOL).log_genie)
        losses[float(alpha)] = mean_loss(genies, y[judged], (classes - 1) / (k - 1))
        if losses[float(alpha)] > min(losses.values()) + _TOL:
            break
    good = min(losses.values()) + _TOL
    return next(alpha for alpha, loss in losses.items() if loss <= good)


def mean_loss(genies: FloatArray, labels: npt.NDArray[np.int64], others: float) -> float:
    """Mean log-loss of the pNML of genies (n, k) that stand for `others` times as many.

    The label's own genie counts once, each other one for all labels that it stands for.

    >>> round(mean_loss(np.array([[0.5, 0.25]]), np.array([0]), 2.0), 3)
    0.693
    """
    own = genies[np.arange(len(genies)), labels]
    total = own + others * (genies.sum(axis=1) - own)
    return float(np.mean(np.log(total / own)))


def held_back(labels: npt.NDArray[np.int64], classes: int) -> npt.NDArray[np.bool_]:
    """Which rows are held back: the last third of each class, none of a class with two or fewer.

    >>> held_back(np.array([0, 0, 0, 1, 1, 0]), 2)
    array([False, False, False, False, False,  True])
    """
    held = np.zeros(len(labels), dtype=bool)
    for label in range(classes):
        rows = np.flatnonzero(labels == label)
        held[rows[len(rows) - len(rows) // 3 :]] = True
    return held
