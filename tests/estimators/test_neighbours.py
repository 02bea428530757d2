"""The regressors among their neighbours: the same numbers where the maths is shared."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    cross_val_score,
    train_test_split,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pnml
from pnml import (
    ConformalRegressor,
    InputError,
    KernelPNMLRegressor,
    LpNMLRegressor,
    PNMLRegressor,
    RegretDifficulty,
)

REGRESSORS = {name: getattr(pnml, name)() for name in pnml.__all__ if name.endswith("Regressor")}
REGRESSORS["lasso"] = LpNMLRegressor(penalty="l1", alpha=2.0)
COVERAGE = 0.9


@pytest.fixture
def table(rng):
    X = rng.normal(size=(60, 4)) * [1.0, 5.0, 0.2, 1.0] + [0.0, 3.0, 0.0, -2.0]
    y = X @ [1.0, -0.5, 2.0, 0.0] + 1.0 + rng.normal(size=60)
    return X, y


@pytest.fixture(params=sorted(REGRESSORS))
def regressor(request):
    model = clone(REGRESSORS[request.param])
    return model.set_params(random_state=0) if hasattr(model, "random_state") else model


# ---- the same numbers where the maths is shared


def test_statsmodels_finds_the_same_fit_and_the_same_folds(table):
    sm = pytest.importorskip("statsmodels.api")
    X, y = table
    ours, fit = PNMLRegressor().fit(X, y), sm.OLS(y, sm.add_constant(X)).fit()
    np.testing.assert_allclose(np.append(ours.intercept_, ours.coef_), fit.params, rtol=1e-9)
    influence = fit.get_influence()
    hat = influence.hat_matrix_diag
    np.testing.assert_allclose(ours.loo_.residuals, influence.resid_press, rtol=1e-9)
    np.testing.assert_allclose(ours.loo_.regrets, -np.log1p(-hat), rtol=1e-9)
    s = np.sqrt(fit.scale)
    internal = ours.loo_.residuals * np.exp(-ours.loo_.regrets / 2) / s
    np.testing.assert_allclose(internal, influence.resid_studentized_internal, rtol=1e-9)


def test_statsmodels_predicts_the_same_leverage_of_new_rows(table, rng):
    sm = pytest.importorskip("statsmodels.api")
    X, y = table
    new = 3 * rng.normal(size=(20, 4))
    fit = sm.OLS(y, sm.add_constant(X)).fit()
    theirs = fit.get_prediction(sm.add_constant(new, has_constant="add"))
    ours = PNMLRegressor(noise_variance=fit.scale).fit(X, y)
    leverage = theirs.var_pred_mean / fit.scale
    np.testing.assert_allclose(ours.regret(new), np.log1p(leverage), rtol=1e-9)
    mean, std = ours.predict(new, return_std=True)
    np.testing.assert_allclose(mean, theirs.predicted_mean, rtol=1e-9)
    # theirs is the Bayesian spread √K; pNML's is K
    np.testing.assert_allclose(std * fit.scale**0.5, theirs.se_obs**2, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("estimator", [PNMLRegressor, LpNMLRegressor])
@pytest.mark.parametrize("streamed", [True, False])
def test_ridge_has_the_same_coefficients(estimator, intercept, weighted, streamed, table, rng):
    X, y = table
    w = rng.uniform(0.5, 2, size=len(X)) if weighted else None
    theirs = Ridge(alpha=2.5, fit_intercept=intercept).fit(X, y, sample_weight=w)
    ours = estimator(alpha=2.5, fit_intercept=intercept)
    ours = (ours.partial_fit if streamed else ours.fit)(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_linear_regression_has_the_same_coefficients(intercept, table):
    X, y = table
    theirs = LinearRegression(fit_intercept=intercept).fit(X, y)
    ours = PNMLRegressor(fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_bayesian_ridge_has_the_same_coefficients_and_the_square_root_of_our_spread(table, rng):
    X, y = table
    theirs = BayesianRidge().fit(X, y)
    alpha, noise = theirs.lambda_ / theirs.alpha_, 1 / theirs.alpha_
    ours = PNMLRegressor(alpha=alpha, noise_variance=noise).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    new = 3 * rng.normal(size=(20, 4))
    mean, std = theirs.predict(new, return_std=True)
    np.testing.assert_allclose(ours.predict(new), mean, rtol=1e-8)
    # they know the intercept for certain, we charge 1/n for it
    K = std**2 / noise + 1 / len(X)
    np.testing.assert_allclose(ours.predict(new, return_std=True)[1], K * noise**0.5, rtol=1e-7)


def test_the_variance_of_a_gaussian_process_is_the_noise_times_our_normaliser(table, rng):
    X, y = table
    noise, kernel = 0.3, RBF(2.0)
    theirs = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)
    ours = KernelPNMLRegressor(
        kernel=kernel, alpha=noise, noise_variance=noise, fit_intercept=False
    ).fit(X, y)
    new = np.vstack([X[:10], 3 * rng.normal(size=(20, 4))])
    mean, std = theirs.predict(new, return_std=True)
    variance = std**2 + noise
    np.testing.assert_allclose(ours.predict(new), mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(noise * np.exp(ours.regret(new)), variance, rtol=1e-8)
    np.testing.assert_allclose(
        ours.predict(new, return_std=True)[1], variance / noise**0.5, rtol=1e-8
    )


# ---- the tools of scikit-learn


def same(actual, desired):
    """Equal but for the order of sums, which changes with the layout of an array."""
    np.testing.assert_allclose(actual, desired, rtol=1e-9, atol=1e-12)


def test_a_pipeline_is_its_steps_one_after_the_other(regressor, table):
    X, y = table
    pipe = make_pipeline(StandardScaler(), regressor).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    alone = clone(regressor).fit(scaled, y)
    same(pipe.predict(X), alone.predict(scaled))
    same(pipe[-1].regret(pipe[:-1].transform(X)), alone.regret(scaled))


def test_a_clone_keeps_the_settings_and_forgets_the_rows(regressor, table):
    fitted = regressor.fit(*table)
    copy = clone(fitted)
    assert repr(copy) == repr(fitted)
    with pytest.raises(ValueError, match="not fitted"):
        copy.predict(table[0])


@pytest.mark.parametrize("store", [pickle, joblib], ids=["pickle", "joblib"])
def test_a_stored_model_answers_as_before(regressor, store, table, tmp_path):
    X, y = table
    model = regressor.fit(X, y)
    with (tmp_path / "model").open("wb") as file:
        store.dump(model, file)
    with (tmp_path / "model").open("rb") as file:
        again = store.load(file)
    for answer in ("predict", "regret", "trusted", "predict_interval", "explain"):
        same(getattr(again, answer)(X), getattr(model, answer)(X))


def test_cross_validation_scores_the_folds_one_by_one(regressor, table):
    X, y = table
    folds = KFold(3)
    scores = cross_val_score(regressor, X, y, cv=folds)
    by_hand = [clone(regressor).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds.split(X)]
    same(scores, by_hand)


@pytest.mark.parametrize("estimator", [PNMLRegressor, LpNMLRegressor, KernelPNMLRegressor])
def test_a_grid_search_through_a_pipeline_finds_the_best_penalty(estimator, table):
    X, y = table
    alphas = [0.01, 1.0, 1000.0]
    pipe = make_pipeline(StandardScaler(), estimator())
    name = f"{estimator.__name__.lower()}__alpha"
    search = GridSearchCV(pipe, {name: alphas}, cv=KFold(3)).fit(X, y)
    means = [
        cross_val_score(clone(pipe).set_params(**{name: a}), X, y, cv=KFold(3)).mean()
        for a in alphas
    ]
    assert search.best_params_ == {name: alphas[int(np.argmax(means))]}
    assert search.best_score_ == pytest.approx(max(means))
    assert search.best_estimator_[-1].regret(X).shape == (60,)


def test_columns_of_a_table_are_known_by_name(regressor, table):
    X, y = table
    frame = pd.DataFrame(X, columns=["age", "height", "dose", "time"])
    model = regressor.fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == list(frame.columns)
    same(model.regret(frame), clone(model).fit(X, y).regret(X))
    with pytest.raises(ValueError, match="names"):
        model.regret(frame[["height", "age", "dose", "time"]])


def test_columns_keep_their_names_through_a_pipeline(regressor, table):
    X, y = table
    frame = pd.DataFrame(X, columns=["age", "height", "dose", "time"])
    pipe = make_pipeline(StandardScaler(), regressor).set_output(transform="pandas").fit(frame, y)
    assert list(pipe[-1].feature_names_in_) == list(frame.columns)


def test_several_targets_are_learnt_one_by_one(regressor, table):
    X, y = table
    Y = np.column_stack([y, np.sin(y)])
    both = MultiOutputRegressor(regressor).fit(X, Y)
    for j, model in enumerate(both.estimators_):
        alone = clone(regressor).fit(X, Y[:, j])
        same(both.predict(X)[:, j], alone.predict(X))
        same(model.regret(X), alone.regret(X))


def test_a_transformed_target_is_learnt_and_predicted_on_its_own_scale(regressor, table):
    X, y = table
    positive = np.exp(0.1 * y)
    model = TransformedTargetRegressor(regressor, func=np.log, inverse_func=np.exp)
    model.fit(X, positive)
    alone = clone(regressor).fit(X, 0.1 * y)
    same(model.predict(X), np.exp(alone.predict(X)))
    same(model.regressor_.regret(X), alone.regret(X))


# ---- the regret as difficulty of a row, in crepes and MAPIE


def difficulty(model, X, y):
    """Difficulty by a model that is fitted already, so that X and y are only passed through."""
    return RegretDifficulty(FrozenEstimator(model)).fit(X, y)


def crepes_interval(model, X, y, new, scale):
    crepes = pytest.importorskip("crepes")
    wrap = crepes.WrapRegressor(model)
    wrap.calibrate(X, y, de=scale)
    return wrap.predict_int(new, confidence=COVERAGE)


def mapie_interval(model, X, y, new, score):
    regression = pytest.importorskip("mapie.regression")
    split = regression.SplitConformalRegressor(
        model, confidence_level=COVERAGE, conformity_score=score, prefit=True
    )
    return split.conformalize(X, y).predict_interval(new)[1][:, :, 0]


def plain_crepes(model, X, y, new):
    return crepes_interval(model, X, y, new, None)


def difficult_crepes(model, X, y, new):
    return crepes_interval(model, X, y, new, difficulty(model, X, y))


def plain_mapie(model, X, y, new):
    return mapie_interval(model, X, y, new, "absolute")


def normalised_mapie(model, X, y, new):
    scores = pytest.importorskip("mapie.conformity_scores")
    score = scores.ResidualNormalisedScore(difficulty(model, X, y), prefit=True)
    return mapie_interval(model, X, y, new, score)


def standardised_mapie(model, X, y, new):
    """No adapter at all: our standard deviation is σK, and its root is in proportion to √K."""
    scores = pytest.importorskip("mapie.conformity_scores")
    return mapie_interval(model, X, y, new, scores.StdConformityScore(power=0.5))


def heavy_tailed(rng, d=8, sizes=(30, 60, 500)):
    """Rows to fit, to calibrate and to cover; a few lie far from the rest."""
    X = rng.standard_t(4, size=(sum(sizes), d))
    y = X @ rng.normal(size=d) + rng.normal(size=len(X))
    cuts = np.cumsum(sizes)[:-1]
    return zip(np.split(X, cuts), np.split(y, cuts), strict=True)


def coverage_where_regret_is_high(interval, simulations=100):
    """Share of labels covered among the fifth of the rows with the highest regret."""
    covered = []
    for seed in range(simulations):
        (X, y), held, (new, truth) = heavy_tailed(np.random.default_rng(seed))
        model = PNMLRegressor().fit(X, y)
        ends = interval(model, *held, new)
        regret = model.regret(new)
        high = regret >= np.quantile(regret, 0.8)
        covered.append(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]), where=high))
    return np.mean(covered)


@pytest.mark.parametrize(
    ("plain", "difficult"),
    [
        (plain_crepes, difficult_crepes),
        (plain_mapie, normalised_mapie),
        (plain_mapie, standardised_mapie),
    ],
    ids=["crepes", "MAPIE residual", "MAPIE std"],
)
def test_regret_as_difficulty_restores_coverage_where_it_is_lost(plain, difficult):
    without, with_regret = map(coverage_where_regret_is_high, (plain, difficult))
    assert without < COVERAGE - 0.04
    assert abs(with_regret - COVERAGE) < 0.02  # three standard errors
    assert abs(with_regret - COVERAGE) < abs(without - COVERAGE) / 2


@pytest.mark.parametrize("neighbour", [difficult_crepes, normalised_mapie])
def test_the_split_intervals_of_our_own_are_those_of_the_neighbours(neighbour, rng):
    (X, y), *_, (new, _) = heavy_tailed(rng, sizes=(120, 10, 50))
    ours = ConformalRegressor(PNMLRegressor(), random_state=0).fit(X, y)
    proper, held, y_proper, y_held = train_test_split(X, y, test_size=0.25, random_state=0)
    model = PNMLRegressor().fit(proper, y_proper)
    theirs = neighbour(model, held, y_held, new)
    np.testing.assert_allclose(ours.predict_interval(new, COVERAGE), theirs, rtol=1e-12)


@pytest.mark.parametrize("rows", [25, 26, 33])
def test_our_jackknife_is_that_of_mapie_with_every_fold_refitted(rows, rng):
    regression = pytest.importorskip("mapie.regression")
    scores = pytest.importorskip("mapie.conformity_scores")
    (X, y), _, (new, _) = heavy_tailed(rng, d=4, sizes=(rows, 1, 20))
    model = PNMLRegressor(alpha=0.5, noise_variance=1.0)
    ours = ConformalRegressor(model, method="jackknife+").fit(X, y)
    theirs = regression.CrossConformalRegressor(
        model,
        confidence_level=COVERAGE,
        conformity_score=scores.StdConformityScore(),
        method="plus",
        cv=LeaveOneOut(),
    ).fit_conformalize(X, y)
    np.testing.assert_allclose(
        ours.predict_interval(new, COVERAGE), theirs.predict_interval(new)[1][:, :, 0], rtol=1e-10
    )


@pytest.mark.parametrize("neighbour", [difficult_crepes, normalised_mapie])
def test_a_row_outside_the_span_has_no_bounds_at_the_neighbours_either(neighbour, rng):
    X = np.column_stack([rng.normal(size=(40, 2)), np.zeros(40)])
    y = X[:, 0] + rng.normal(size=40)
    model = PNMLRegressor().fit(X[:20], y[:20])
    ends = neighbour(model, X[20:], y[20:], np.array([[0.0, 0.0, 1.0]]))
    np.testing.assert_array_equal(ends, [[-np.inf, np.inf]])


def test_difficulty_is_fitted_beside_any_other_model(rng):
    (X, y), *_ = heavy_tailed(rng, sizes=(60, 1, 1))
    scale = RegretDifficulty().fit(X, y)
    np.testing.assert_allclose(
        scale.predict(X), np.exp(PNMLRegressor().fit(X, y).regret(X) / 2), rtol=1e-12
    )
    with pytest.raises(InputError, match="estimator is a Ridge, which has no regret"):
        RegretDifficulty(Ridge()).fit(X, y)
