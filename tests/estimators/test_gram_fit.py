"""Learning from a Gram is learning from its rows."""

from __future__ import annotations

import numpy as np
import pytest

from pnml import InputError, LpNMLRegressor, PNMLRegressor
from pnml.core.statistic.gram import Gram


def rows(rng, n=200):
    X = rng.normal(size=(n, 4)) * [1.0, 3.0, 0.2, 1.0] + 5
    return X, X @ [1.0, -2.0, 3.0, 0.0] + rng.normal(size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model", [PNMLRegressor(), PNMLRegressor(alpha="loo"), LpNMLRegressor()], ids=repr
)
def test_a_gram_teaches_what_its_rows_teach(model, weighted, rng):
    X, y = rows(rng)
    w = rng.integers(1, 4, size=len(y)).astype(float) if weighted else None
    new = 2 * rng.normal(size=(30, 4)) + 5
    direct = type(model)(**model.get_params()).fit(X, y, sample_weight=w)
    streamed = type(model)(**model.get_params()).fit_gram(Gram.of(X, y, w))
    assert streamed.n_features_in_ == 4
    np.testing.assert_allclose(streamed.predict(new), direct.predict(new), rtol=1e-8)
    np.testing.assert_allclose(streamed.regret(new), direct.regret(new), rtol=1e-7)
    np.testing.assert_allclose(np.sort(streamed.loo_.regrets), np.sort(direct.loo_.regrets))
    assert streamed.loo_.log_loss == pytest.approx(direct.loo_.log_loss, rel=1e-8)


def test_a_gram_goes_on_with_rows_that_come_later(rng):
    X, y = rows(rng)
    streamed = PNMLRegressor().fit_gram(Gram.of(X[:80], y[:80])).partial_fit(X[80:], y[80:])
    whole = PNMLRegressor().fit(X, y)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-8)


@pytest.mark.parametrize("targets", [0, 2])
def test_a_gram_of_no_target_or_of_several_is_refused(targets, rng):
    gram = Gram.of(rng.normal(size=(20, 3)), rng.normal(size=(20, targets)))
    with pytest.raises(InputError, match=f"has {targets} targets, but a regressor learns one"):
        PNMLRegressor().fit_gram(gram)


def test_the_l1_penalty_says_that_it_needs_the_rows(rng):
    X, y = rows(rng)
    with pytest.raises(AttributeError) as caught:
        LpNMLRegressor(penalty="l1").fit_gram(Gram.of(X, y))
    assert 'penalty="l1"' in str(caught.value.__cause__)
