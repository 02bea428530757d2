"""Kernel pNML against its linear twin, its dual form and explicit refits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from pnml import InputError, KernelPNMLRegressor, PNMLRegressor


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(30, 4), (8, 20)])
def test_a_linear_kernel_is_ridge_regression(intercept, shape, rng):
    X, y = rng.normal(size=shape) + 1, rng.normal(size=shape[0])
    x = rng.normal(size=(6, shape[1]))
    options = {"alpha": 0.7, "fit_intercept": intercept}
    kernel = KernelPNMLRegressor(kernel="linear", **options).fit(X, y)
    ridge = PNMLRegressor(**options).fit(X, y)
    np.testing.assert_allclose(kernel.predict(x), ridge.predict(x), rtol=1e-9)
    np.testing.assert_allclose(kernel.regret(x), ridge.regret(x), rtol=1e-9)
    assert kernel.noise_variance_ == pytest.approx(ridge.noise_variance_, rel=1e-9)
    for name in ("residuals", "sds", "regrets", "log_losses"):
        np.testing.assert_allclose(getattr(kernel.loo_, name), getattr(ridge.loo_, name), rtol=1e-8)


def test_regret_is_the_definition_with_an_explicit_refit_per_label(rng):
    """The genie of kernel ridge, solved in its dual for a grid of labels."""
    X, y, x = rng.normal(size=(12, 2)), rng.normal(size=12), rng.normal(size=(1, 2))
    model = KernelPNMLRegressor(gamma=0.5, alpha=0.3, fit_intercept=False).fit(X, y)
    rows = np.vstack([X, x])
    G = np.exp(-0.5 * ((rows[:, None] - rows[None]) ** 2).sum(-1))
    labels = np.linspace(-60, 60, 20001)
    solve = np.linalg.inv(G + 0.3 * np.eye(13))
    fitted = G[-1] @ solve @ np.vstack([np.tile(y[:, None], labels.shape), labels])
    s2 = model.noise_variance_
    density = np.exp(-((labels - fitted) ** 2) / (2 * s2)) / np.sqrt(2 * np.pi * s2)
    K = density.sum() * (labels[1] - labels[0])
    assert np.exp(model.regret(x)[0]) == pytest.approx(K, rel=1e-8)


def test_leave_one_out_is_a_refit_without_the_row(rng):
    X, y = rng.normal(size=(15, 2)), rng.normal(size=15)
    model = KernelPNMLRegressor(gamma=0.4, alpha=0.5, noise_variance=0.3).fit(X, y)
    for i in range(15):
        rest = np.delete(np.arange(15), i)
        refit = KernelPNMLRegressor(gamma=0.4, alpha=0.5, noise_variance=0.3).fit(X[rest], y[rest])
        dist = refit.predict_dist(X[[i]])
        assert model.loo_.residuals[i] == pytest.approx(y[i] - dist.mean[0], rel=1e-8)
        assert model.loo_.regrets[i] == pytest.approx(dist.regret[0], rel=1e-8)
        assert model.loo_.log_losses[i] == pytest.approx(-dist.log_prob(y[i])[0], rel=1e-8)


def test_regret_grows_away_from_the_rows_and_saturates_at_the_prior(rng):
    X = rng.uniform(0, 6, size=(60, 1))
    model = KernelPNMLRegressor(gamma=1.0).fit(X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=60))
    near, gap, far, farther = model.regret([[3.0], [8.0], [30.0], [300.0]])
    assert near < gap < far
    assert far == pytest.approx(farther)
    np.testing.assert_array_equal(model.trusted([[3.0], [30.0]]), [True, False])


@pytest.mark.parametrize(
    "kernel",
    [
        ConstantKernel(2.0) * RBF(0.8) + DotProduct(),
        lambda a, b, scale=1.0: float(np.exp(-scale * np.abs(a - b).sum())),
        "laplacian",
        "poly",
    ],
)
def test_any_kernel_will_do(kernel, rng):
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    params = {"scale": 0.5} if callable(kernel) and not hasattr(kernel, "diag") else None
    model = KernelPNMLRegressor(kernel=kernel, kernel_params=params, alpha=0.4).fit(X, y)
    x = rng.normal(size=(7, 2))
    assert (model.regret(x) >= 0).all()
    shares = model.explain(x)
    assert (shares >= 0).all()
    totals = np.expm1(model.regret(x)) - 1 / 25
    held = shares.sum(axis=1) > 0
    np.testing.assert_allclose(shares.sum(axis=1)[held], totals[held], rtol=1e-9)


def test_the_feature_that_moved_is_named(rng):
    X = rng.normal(size=(80, 4))
    model = KernelPNMLRegressor().fit(X, X[:, 0] + 0.1 * rng.normal(size=80))
    row = X[:1] * 0.1
    row[0, 2] += 6
    assert np.argmax(model.explain(row)) == 2


def test_features_of_one_group_are_absent_together(rng):
    """Leverages of rows with a group, or all others, at the training mean."""
    X = rng.normal(size=(60, 4))
    model = KernelPNMLRegressor(alpha=0.3).fit(X, X[:, 0] + 0.1 * rng.normal(size=60))
    x, means = rng.normal(size=(5, 4)), X.mean(axis=0)
    groups = [(0, 2), (), (1,), (3,)]

    def leverage(rows):
        return np.expm1(model.regret(rows))

    drops = []
    for group in groups:
        here = np.isin(np.arange(4), group)
        beside = leverage(x) - leverage(np.where(here, means, x))
        alone = leverage(np.where(here, x, means)) - leverage(np.tile(means, (5, 1)))
        drops.append(np.maximum(beside + alone, 0))
    shares = model.learner_.explain_groups(x, groups)
    expected = np.column_stack(drops) / np.sum(drops, axis=0)[:, None]
    # differences of leverages that are known to about 1e-12
    np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), expected, atol=1e-8)
    np.testing.assert_allclose(
        model.learner_.explain_groups(x, [(j,) for j in range(4)]), model.explain(x), rtol=1e-9
    )


def test_a_kernel_without_a_penalty_is_refused(rng):
    with pytest.raises(InputError, match=r"alpha is 0.*greater than 0"):
        KernelPNMLRegressor(alpha=0).fit(rng.normal(size=(5, 2)), rng.normal(size=5))
    with pytest.raises(InputError, match=r"gamma is"):
        KernelPNMLRegressor(gamma=-1).fit(rng.normal(size=(5, 2)), rng.normal(size=5))
