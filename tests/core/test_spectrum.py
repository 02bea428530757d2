"""Spectrum and leverage against exact arithmetic, and at the edges."""

from __future__ import annotations

import warnings

import mpmath as mp
import numpy as np
import pytest

import oracle
from pnml import ConditionWarning, PNMLRegressor
from pnml.core import gaussian
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor
from pnml.core.statistic.gram import Gram


def polynomial(t, degree=10):
    return np.column_stack([t**k for k in range(1, degree + 1)])


def exact_fit(A, y, rows):
    """Coefficients and leverages of least squares in 50 digits."""
    with mp.workdps(50):
        M = mp.matrix(A.tolist())
        G = M.T * M
        theta = mp.lu_solve(G, M.T * mp.matrix(y.tolist()))
        leverages = []
        for row in rows:
            v = mp.matrix(row.tolist())
            leverages.append(float((v.T * mp.lu_solve(G, v))[0]))
        return np.array([float(c) for c in theta]), np.array(leverages)


def with_ones(X):
    return np.hstack([np.ones((len(X), 1)), X])


@pytest.mark.parametrize("rows", [4, 40, 400])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_leverage_is_what_a_refit_gives_whatever_the_number_of_rows(rows, intercept, alpha, rng):
    """A refit takes the prediction κ/(1 + κ) of the way to the label: no factor of the rows."""
    X, new = rng.normal(size=(rows, 3)) + 1, 2 * rng.normal(size=(5, 3))
    spectrum = Spectrum.of_factor(Factor.of(X), intercept=intercept, unit_columns=alpha == 0)
    pulls = np.array([oracle.pull_by_refit(X, x, alpha, intercept) for x in new])
    np.testing.assert_allclose(spectrum.leverage(new, alpha), pulls / (1 - pulls), rtol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_what_the_training_rows_do_not_reach_is_the_part_outside(intercept, rng):
    X, new = rng.normal(size=(4, 9)) + 1, rng.normal(size=(5, 9))
    spectrum = Spectrum.of_factor(Factor.of(X), intercept=intercept, unit_columns=False)
    centre = X.mean(axis=0) if intercept else np.zeros(9)
    projector = np.linalg.pinv(X - centre) @ (X - centre)
    components, outside = spectrum.coordinates(new)
    truth = (new - centre) @ (np.eye(9) - projector)
    np.testing.assert_allclose(outside, truth, atol=1e-12)
    inside = np.sum(components**2, axis=1)
    np.testing.assert_allclose(inside, np.sum(((new - centre) @ projector) ** 2, axis=1))
    assert not spectrum.coordinates(X)[1].any()


GRIDS = [np.linspace(0, 4.5, 60), np.linspace(0, 5, 60), np.linspace(0.1, 8, 50)]
GRIDS += [np.linspace(0.1, 10, 80), np.linspace(0.1, 20, 100)]


@pytest.mark.parametrize("grid", GRIDS)
def test_ill_conditioned_rows_keep_six_digits_of_the_leverage(grid, rng):
    X, y = polynomial(grid), np.sin(grid) + 0.1 * rng.normal(size=len(grid))
    assert np.linalg.cond(with_ones(X)) > 1e9
    new = polynomial(np.append(grid[::9] + 0.01, 1.1 * grid.max()))
    _, leverages = exact_fit(with_ones(X), y, with_ones(new))
    model = PNMLRegressor().fit(X, y)
    np.testing.assert_allclose(np.expm1(model.regret(new)), leverages, rtol=1e-6)


def test_ill_conditioned_coefficients_are_no_worse_than_those_of_lstsq():
    """Both are at round-off on the mildest grids, where either may be ahead on one draw."""
    errors = np.empty((2, len(GRIDS), 5))
    for g, grid in enumerate(GRIDS):
        for draw in range(5):
            rng = np.random.default_rng(draw)
            X, y = polynomial(grid), np.sin(grid) + 0.1 * rng.normal(size=len(grid))
            truth, _ = exact_fit(with_ones(X), y, [])
            model = PNMLRegressor().fit(X, y)
            ours = np.append(model.intercept_, model.coef_)
            lstsq = np.linalg.lstsq(with_ones(X), y, rcond=None)[0]
            for k, theta in enumerate((ours, lstsq)):
                errors[k, g, draw] = np.linalg.norm(theta - truth) / np.linalg.norm(truth)
    assert errors[0].max() < 1e-8
    assert np.exp(np.mean(np.log(errors[0] / errors[1]))) < 1
    assert (np.median(errors[0], axis=1) < 4 * np.median(errors[1], axis=1)).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_a_stream_that_is_too_ill_conditioned_says_so_and_names_the_condition(intercept, rng):
    t = np.linspace(0.1, 10, 80)
    X, y = polynomial(t), np.sin(t)
    model = PNMLRegressor(fit_intercept=intercept).partial_fit(X, y)
    with pytest.warns(ConditionWarning, match=r"condition number \d.\de\+\d\d"):
        model.regret(X)


def test_a_well_conditioned_stream_and_an_exact_dependence_do_not_warn(rng):
    X = rng.normal(size=(200, 4))
    X = np.column_stack([X, X[:, 0], X[:, 1] - X[:, 2]])
    model = PNMLRegressor().partial_fit(X, rng.normal(size=200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.regret(X)).all()
        assert len(model.spectrum_.h2) == 4


def test_a_penalty_cures_the_condition_of_a_stream():
    t = np.linspace(0.1, 3, 80)
    model = PNMLRegressor(alpha=1e6).partial_fit(polynomial(t), np.sin(t))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (model.regret(polynomial(t)) > 0).all()


@pytest.mark.parametrize("of", ["factor", "gram"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_both_spectra_solve_the_normal_equations(of, intercept, alpha, rng):
    X, y = rng.normal(size=(40, 5)) + 1, rng.normal(size=40)
    options = {"intercept": intercept, "unit_columns": alpha == 0}
    if of == "factor":
        spectrum = Spectrum.of_factor(Factor.of(X, y), **options)
    else:
        spectrum = Spectrum.of_gram(Gram.of(X, y), **options)
    Xc, yc = (X - X.mean(0), y - y.mean()) if intercept else (X, y)
    theta = np.linalg.solve(Xc.T @ Xc + alpha * np.eye(5), Xc.T @ yc)
    np.testing.assert_allclose(spectrum.coefficients(alpha)[:, 0], theta, rtol=1e-10, atol=1e-12)
    fitted = Xc @ theta + (y.mean() if intercept else 0)
    np.testing.assert_allclose(spectrum.fitted(X, alpha), fitted, rtol=1e-9, atol=1e-11)
    assert spectrum.mean_square(alpha) == pytest.approx(np.mean((y - fitted) ** 2), rel=1e-10)


def test_several_targets_share_one_spectrum(rng):
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    both = Spectrum.of_factor(Factor.of(X, Y), intercept=True, unit_columns=True)
    for k in range(2):
        one = Spectrum.of_factor(Factor.of(X, Y[:, k]), intercept=True, unit_columns=True)
        np.testing.assert_allclose(both.coefficients(0.0)[:, k], one.coefficients(0.0)[:, 0])


@pytest.mark.parametrize("value", [0.0, 5.1, -1e8])
def test_a_constant_column_is_no_direction_until_a_row_leaves_it(value, rng):
    X = np.column_stack([rng.normal(size=(30, 2)), np.full(30, value)])
    model = PNMLRegressor().fit(X, rng.normal(size=30))
    assert len(model.spectrum_.h2) == 2
    assert np.isfinite(model.regret(X)).all()
    moved = X[:1] + np.array([0, 0, 1.0 + abs(value)])
    assert np.isinf(model.regret(moved)).all()
    assert not model.trusted(moved).any()
    np.testing.assert_array_equal(np.isinf(model.explain(moved)), [[False, False, True]])
    with_penalty = PNMLRegressor(alpha=1.0).fit(X, rng.normal(size=30))
    assert np.isfinite(with_penalty.regret(moved)).all()


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dependent", [False, True])
def test_gradients_flow_through_the_regret_of_tensors(alpha, dtype, dependent, rng):
    torch = pytest.importorskip("torch")
    X = rng.normal(size=(30, 3))
    if dependent:
        X = np.column_stack([X, X[:, 0]])
    spectrum = Spectrum.of_factor(Factor.of(X), intercept=True, unit_columns=alpha == 0)
    rows = torch.tensor(X[:4], dtype=getattr(torch, dtype), requires_grad=True)
    regret = gaussian.regret(spectrum.leverage(rows, alpha))
    assert regret.dtype == rows.dtype
    expected = gaussian.regret(spectrum.leverage(rows.detach().numpy(), alpha))
    np.testing.assert_allclose(regret.detach().numpy(), expected, rtol=1e-6)
    regret.sum().backward()
    step = 1e-6
    for j in range(3 if not dependent else 0):
        moved = X[:4].copy()
        moved[:, j] += step
        back = X[:4].copy()
        back[:, j] -= step
        slope = gaussian.regret(spectrum.leverage(moved, alpha)) - gaussian.regret(
            spectrum.leverage(back, alpha)
        )
        np.testing.assert_allclose(
            rows.grad[:, j].numpy(), slope / (2 * step), rtol=1e-3, atol=1e-4
        )
    assert torch.isfinite(rows.grad).all()


@pytest.mark.parametrize("statistic", [Factor, Gram])
@pytest.mark.parametrize("missing", [1, 2])
def test_completing_a_spectrum_at_a_penalty_changes_no_leverage_and_no_mean(
    statistic, missing, rng
):
    X = rng.normal(size=(40, 5))
    X[:, :missing] = 0.0
    of = Spectrum.of_factor if statistic is Factor else Spectrum.of_gram
    y = rng.normal(size=40)
    spectrum = of(statistic.of(X, y), intercept=True, unit_columns=False)
    whole = spectrum.completed(0.4)
    new = 3 * rng.normal(size=(20, 5))
    G = (X - X.mean(0)).T @ (X - X.mean(0)) + 0.4 * np.eye(5)
    centred = new - X.mean(0)
    truth = 1 / 40 + np.einsum("ij,jk,ik->i", centred, np.linalg.inv(G), centred)
    assert whole.spans_everything
    assert not spectrum.spans_everything
    for one in (spectrum, whole):
        np.testing.assert_allclose(one.leverage(new, 0.4), truth, rtol=1e-10)
        np.testing.assert_allclose(
            one.fitted(new, 0.4), spectrum.fitted(new, 0.4), rtol=1e-11, atol=1e-12
        )
    assert whole.mean_square(0.4) == pytest.approx(spectrum.mean_square(0.4), rel=1e-12)


def test_a_spectrum_stays_as_it_is_where_completing_would_not_be_safe(rng):
    X = rng.normal(size=(40, 5))
    full = Spectrum.of_factor(Factor.of(X), intercept=True, unit_columns=False)
    assert full.completed(0.4) is full
    X[:, 0] = 0.0
    lacking = Spectrum.of_factor(Factor.of(X), intercept=True, unit_columns=False)
    assert lacking.completed(0.0) is lacking
    assert lacking.completed(1e-12) is lacking  # round-off would show beside 1/n
    assert np.isinf(lacking.completed(0.0).leverage(np.ones((1, 5)), 0.0))
    wide = Spectrum.of_factor(
        Factor.of(rng.normal(size=(4, 20))), intercept=True, unit_columns=False
    )
    assert wide.completed(1.0) is wide  # more is missing than there
