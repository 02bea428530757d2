"""Penalty of the refitted last layer, chosen from its training rows alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pnml.core.arrays import FloatArray
from pnml.core.logistic import LogisticModel, refit

# Penalties that are compared, in units of the features' total variance, strongest first.
_SHARES = 10.0 ** -(np.arange(-4, 11) / 2)
# Largest numbers of training rows, of classes, and of held-out rows that are scored.
_MOST_ROWS, _MOST_CLASSES, _MOST_SCORED = 6000, 10, 64
_TOL = 1e-2  # of their regrets, and so of the mean log-loss
_SEED = 0


def chosen_penalty(X: FloatArray, labels: npt.NDArray[np.int64], classes: int) -> float:
    """The ridge penalty of a refit whose pNML best predicts held-out training rows. Eq. (D1).

    `X` (n, d) are features and `labels` (n,) integers below `classes`. Penalties are tried from the
    strongest on until the log-loss rises; the strongest that is about as good as the best is
    returned.
    """
    random = np.random.default_rng(_SEED)
    some = random.permutation(classes)[:_MOST_CLASSES]
    rows = random.permutation(np.flatnonzero(np.isin(labels, some)))[:_MOST_ROWS]
    present, y = np.unique(labels[rows], return_inverse=True)
    k = len(present)
    held = held_out(y, k)
    kept = np.flatnonzero(~held)
    scored = random.permutation(np.flatnonzero(held))[:_MOST_SCORED]
    unit = float(np.sum(np.var(X, axis=0))) or 1.0
    if len(scored) == 0 or k < 2:
        return unit
    losses: dict[float, float] = {}
    start = None
    for alpha in unit * _SHARES:
        model = LogisticModel.fit(X[rows[kept]], y[kept], k, alpha=alpha, start=start)
        start = model.weight, model.bias
        genies = np.exp(refit(model, X[rows[scored]], tol=_TOL).log_genie)
        losses[float(alpha)] = mean_loss(genies, y[scored], (classes - 1) / (k - 1))
        if losses[float(alpha)] > min(losses.values()) + _TOL:
            break
    good = min(losses.values()) + _TOL
    return next(alpha for alpha, loss in losses.items() if loss <= good)


def mean_loss(genies: FloatArray, labels: npt.NDArray[np.int64], others: float) -> float:
    """Mean log-loss in nats of the pNML probabilities of true labels, to choose a penalty by.

    `genies` (n, k) are probabilities of k labels, `labels` (n,) the true ones. If k labels stand
    for more, the genie of each wrong label counts `others` times.

    >>> round(mean_loss(np.array([[0.5, 0.25]]), np.array([0]), 2.0), 3)
    0.693
    """
    own = genies[np.arange(len(genies)), labels]
    total = own + others * (genies.sum(axis=1) - own)
    return float(np.mean(np.log(total / own)))


def held_out(labels: npt.NDArray[np.int64], classes: int) -> npt.NDArray[np.bool_]:
    """Which rows (n,) to hold out to choose a penalty: the last third of each class.

    It is rounded down, so a class of fewer than three rows has none.

    >>> held_out(np.array([0, 0, 0, 1, 1, 0]), 2)
    array([False, False, False, False, False,  True])
    """
    held = np.zeros(len(labels), dtype=bool)
    for label in range(classes):
        rows = np.flatnonzero(labels == label)
        held[rows[len(rows) - len(rows) // 3 :]] = True
    return held
