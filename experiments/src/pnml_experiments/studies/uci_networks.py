"""pNML on what a small network makes of the columns, tuned on rows that no part of it has seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPRegressor

from pnml.core.arrays import FloatArray
from pnml.core.leave_one_out import NOISE_FLOOR
from pnml.estimators.regressor import PNMLRegressor
from pnml_experiments.studies.uci_learners import Told

UNITS, FOLDS = 50, 5
PENALTIES = np.geomspace(1e-4, 1e3, 8)
_DECAY, _ITERATIONS = 0.1, 200


def network_pnml(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Ridge pNML on the columns and the hidden units of a network, both fitted to all rows."""
    alpha, noise_variance = chosen(X, y)
    features = hidden(X, y)
    model = PNMLRegressor(alpha=alpha, noise_variance=noise_variance).fit(features(X), y)
    return Told.by(model, features(new))


def hidden(X: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """What takes rows to their columns with the hidden units of a network behind."""
    network = MLPRegressor(
        hidden_layer_sizes=(UNITS,),
        activation="tanh",
        solver="lbfgs",
        alpha=_DECAY,
        max_iter=_ITERATIONS,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what it has reached is its answer
        network.fit(X, y)
    W, b = network.coefs_[0], network.intercepts_[0]
    return lambda rows: np.hstack([rows, np.tanh(rows @ W + b)])


def chosen(X: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Penalty of the least log-loss on held-back rows, and the noise variance best there.

    The network has seen the labels of its training rows, so leaving these out of the last layer
    alone would flatter it. Here a fold is kept from the network as well.
    """
    errors, widenings = [], []  # one (m, L) for each fold
    for rows, held in KFold(FOLDS).split(X):
        features = hidden(X[rows], y[rows])
        known, other = features(X[rows]), features(X[held])
        told = [
            PNMLRegressor(alpha=alpha, noise_variance=1.0).fit(known, y[rows]).predict_dist(other)
            for alpha in PENALTIES
        ]
        errors.append(np.column_stack([y[held] - one.mean for one in told]))
        widenings.append(np.column_stack([one.std for one in told]))
    e, K = np.vstack(errors), np.vstack(widenings)
    noise = np.maximum(np.mean((e / K) ** 2, axis=0), NOISE_FLOOR * np.var(y))
    loss = np.mean(np.log(K) + 0.5 * (np.log(noise) + (e / K) ** 2 / noise), axis=0)
    best = int(np.argmin(loss))
    return float(PENALTIES[best]), float(noise[best])
