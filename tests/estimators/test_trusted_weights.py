"""Weights of training rows count copies, and a row that is left out is one copy of it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge

from pnml import TrustedRegressor

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(300, 2)), RNG.integers(0, 3, 300)])
Y = X[:, 0] + np.sin(X[:, 1]) + 0.1 * RNG.normal(size=300)
COPIES = np.arange(300) % 4  # some rows do not count at all
COUNTED = COPIES > 0
REPEATED = np.repeat(np.arange(300), COPIES)
# leaves of so many rows are not merged, however often each of the rows counts
FOREST = RandomForestRegressor(8, min_samples_leaf=25, max_features=1, bootstrap=False)


@pytest.mark.parametrize(
    "model", [Ridge(), FOREST.set_params(random_state=0)], ids=["linear", "trees"]
)
def test_a_weight_is_the_same_as_copies_of_the_row_also_where_one_is_left_out(model):
    fitted = FrozenEstimator(model.fit(X[COUNTED], Y[COUNTED]))
    weighted = TrustedRegressor(fitted).fit(X, Y, sample_weight=COPIES)
    copied = TrustedRegressor(fitted).fit(X[REPEATED], Y[REPEATED])
    new = X + RNG.normal(size=X.shape)
    # sums over weights and over copies are rounded in another order, then inverted
    for name in ("regrets", "excesses"):
        one, other = getattr(weighted.reference_, name), getattr(copied.reference_, name)
        np.testing.assert_allclose(np.repeat(one, COPIES[COUNTED]), other, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(weighted.regret(new), copied.regret(new), rtol=1e-8)
    if model is not FOREST:
        return  # errors are averaged in trees that are grown from a sample of the rows
    weighted.calibrate(X, Y, sample_weight=COPIES)
    copied.calibrate(X[REPEATED], Y[REPEATED])
    np.testing.assert_allclose(weighted.expected_error(new), copied.expected_error(new), rtol=1e-8)
