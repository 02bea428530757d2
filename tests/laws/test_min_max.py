"""pNML and luckiness have the same regret for every label; other densities are worse for some."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import oracle
from pnml import LpNMLRegressor, PNMLRegressor


def weighted_genies(X, y, x, alpha, noise, labels, weight):
    """log p(label) of the ridge genie told each label, plus the log weight of its slopes."""
    told = [
        oracle.ridge_fit(np.vstack([X, x]), np.append(y, label), alpha, True) for label in (0, 1)
    ]
    thetas = told[0] + np.outer(labels, told[1] - told[0])  # least squares is linear in labels
    alone = oracle.ridge_fit(X, y, alpha, True)
    residuals = labels - thetas @ oracle.design(x[None], True)[0]
    change = (thetas[:, 1:] ** 2).sum(axis=1) - alone[1:] @ alone[1:]
    log_density = stats.norm.logpdf(residuals, scale=np.sqrt(noise))
    return log_density - weight * alpha * change / (2 * noise)


@pytest.mark.parametrize(("learner", "weight"), [(PNMLRegressor, 0.0), (LpNMLRegressor, 1.0)])
@pytest.mark.parametrize("alpha", [0.5, 20.0])
def test_the_regret_to_the_genie_is_the_same_for_every_label(learner, weight, alpha, rng):
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    model = learner(alpha=alpha, noise_variance=0.7).fit(X, y)
    x = 2 * rng.normal(size=3)
    labels = np.linspace(-30, 30, 41)
    genies = weighted_genies(X, y, x, alpha, 0.7, labels, weight)
    excess = genies - model.predict_dist(np.tile(x, (41, 1))).log_prob(labels)
    # Round-off of densities as small as e^-1000 in a sum of some ten terms.
    np.testing.assert_allclose(excess, model.regret(x[None])[0], atol=1e-9)


@given(
    mean=st.floats(-3, 3),
    log_spread=st.floats(-3, 3),
    weight=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 99),
)
def test_every_other_density_is_worse_for_some_label(mean, log_spread, weight, seed):
    """The worst weighted regret of a mixture of the learner with any normal is above its own."""
    rng = np.random.default_rng(seed)
    X, y, x = rng.normal(size=(9, 2)), rng.normal(size=9), 2 * rng.normal(size=2)
    learner = LpNMLRegressor if weight else PNMLRegressor
    model = learner(alpha=1.0, noise_variance=1.0).fit(X, y)
    dist = model.predict_dist(x[None])
    labels = dist.mean[0] + dist.std[0] * np.linspace(-8, 8, 161)
    genies = weighted_genies(X, y, x, 1.0, 1.0, labels, weight)
    own = stats.norm.pdf(labels, dist.mean[0], dist.std[0])
    other = stats.norm.pdf(labels, dist.mean[0] + mean, dist.std[0] * np.exp(log_spread))
    regret = model.regret(x[None])[0]
    assert (genies - np.log(own)).max() == pytest.approx(regret, abs=1e-9)
    if np.allclose(own, other, rtol=1e-3):
        return
    for share in (0.01, 1.0):
        rival = (1 - share) * own + share * other
        with np.errstate(divide="ignore"):
            worst = (genies - np.log(rival)).max()
        assert worst > regret


@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), level=st.floats(0.01, 0.5))
def test_few_rows_of_a_tournament_are_strange(seed, n, level):
    """The counting step behind the guarantee of the jackknife+, Eq. (C2)."""
    scores = np.random.default_rng(seed).integers(0, 4, size=(n + 1, n + 1)).astype(float)
    scores *= np.random.default_rng(seed + 1).uniform(size=(n + 1, 1)) ** 3
    beats = scores > scores.T
    strange = beats.sum(axis=1) >= (1 - level) * (n + 1)
    assert strange.sum() <= max(2 * level * (n + 1) - 1, 0) + 1e-9
