"""The two studies of the regret say what refits by the definition say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.linear_model import LogisticRegression

pytest.importorskip("matplotlib")

from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.studies import regret_complexity, regret_stability
from pnml_experiments.studies.regret_complexity import (
    CLASSES,
    degrees_of_freedom,
    least_mean_regret,
)
from pnml_experiments.studies.regret_stability import (
    LEARNERS,
    classifier_moves,
    move_bound,
    own_share,
)
from pnml_experiments.studies.uci_draws import Draw


@pytest.fixture
def draw(rng):
    X, new = rng.normal(size=(24, 3)), 2 * rng.normal(size=(15, 3))
    y, truth = (np.sin(A[:, 0]) + A @ [1, 0.5, 0] + rng.normal(size=len(A)) for A in (X, new))
    return Draw((X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std(), new, truth, 1.0, 1.0)


def ridge(X, y, alpha):
    """Coefficients with an unpenalised intercept in front, and the inverse behind them."""
    A = np.column_stack([np.ones(len(X)), X])
    P = np.linalg.inv(A.T @ A + alpha * np.diag([0.0] + [1.0] * X.shape[1]))
    return P @ A.T @ y, P


def without(rows, i):
    return np.delete(rows, i, axis=0)


def regret_by_definition(X, y, x, alpha):
    """log ∫ p(y | x; genie told y) dy, one refit for each y; the noise has variance 1."""

    def density(label):
        theta, _ = ridge(np.vstack([X, x]), np.append(y, label), alpha)
        return np.exp(-0.5 * (label - np.append(1.0, x) @ theta) ** 2) / np.sqrt(2 * np.pi)

    centre = float(np.append(1.0, x) @ ridge(X, y, alpha)[0])
    return np.log(quad(density, centre - 60, centre + 60, points=[centre], limit=200)[0])


def test_moves_of_ridge_are_those_of_refits_and_follow_from_the_regret(draw):
    from pnml import PNMLRegressor

    alpha = PNMLRegressor(alpha="loo").fit(draw.X, draw.y).alpha_
    moves = LEARNERS["ridge"](draw)
    theta = ridge(draw.X, draw.y, alpha)[0]
    ones = np.column_stack([np.ones(len(draw.new)), draw.new])
    squares = np.zeros(len(draw.new))
    for i in range(len(draw.y)):
        left, _ = ridge(without(draw.X, i), without(draw.y, i), alpha)
        row = np.append(1.0, draw.X[i])
        assert moves.own_move[i] == pytest.approx(row @ theta - row @ left, abs=1e-10)
        assert moves.own_error[i] == pytest.approx(draw.y[i] - row @ left, abs=1e-10)
        squares += (ones @ (theta - left)) ** 2
    np.testing.assert_allclose(moves.move, np.sqrt(squares), rtol=1e-8)
    for i in (0, 7):
        by_hand = regret_by_definition(without(draw.X, i), without(draw.y, i), draw.X[i], alpha)
        assert moves.own_regret[i] == pytest.approx(by_hand, abs=1e-7)
    np.testing.assert_allclose(moves.own_move, own_share(moves.own_regret) * moves.own_error)
    assert (moves.move <= move_bound(moves.regret, np.abs(moves.own_error).max())).all()


def test_without_a_penalty_and_with_errors_of_one_size_the_bound_on_moves_is_met(rng):
    # all corners of a cube, and labels that no plane explains: every left-out error is 2 or −2
    X = np.array(list(product([-1.0, 1.0], repeat=3)))
    y, new = X.prod(axis=1), np.column_stack([np.ones(5), rng.normal(size=(5, 3))])
    theta, P = ridge(X, y, 0.0)
    left = [ridge(without(X, j), without(y, j), 0.0)[0] for j in range(8)]
    errors = [y[j] - np.append(1.0, X[j]) @ left[j] for j in range(8)]
    np.testing.assert_allclose(np.abs(errors), 2.0)
    squares = sum((new @ (theta - one)) ** 2 for one in left)
    regret = np.log1p(np.einsum("nd,de,ne->n", new, P, new))
    np.testing.assert_allclose(np.sqrt(squares), move_bound(regret, 2.0))


def test_kernel_and_single_leaves_follow_the_same_law(draw):
    moves = LEARNERS["kernel"](draw)
    np.testing.assert_allclose(
        moves.own_move, own_share(moves.own_regret) * moves.own_error, rtol=1e-6, atol=1e-9
    )
    assert (moves.move <= move_bound(moves.regret, np.abs(moves.own_error).max())).all()
    for n in (1, 4):
        leaf, label = draw.y[:n], draw.y[n]
        told = np.append(leaf, label).mean() - leaf.mean()
        assert told == pytest.approx(own_share(np.log1p(1 / n)) * (label - leaf.mean()))


def test_a_told_label_gains_no_more_probability_than_the_regret_allows(draw):
    labels = (draw.y > np.median(draw.y)).astype(int)
    moves = classifier_moves("refit", draw)
    for i in range(len(labels)):
        X, y = without(draw.X, i), without(labels, i)
        fit = LogisticRegression(max_iter=5_000, tol=1e-10)
        plain = fit.fit(X, y).predict_proba(draw.X[[i]])[0]
        genies = np.array(
            [
                fit.fit(np.vstack([X, draw.X[i]]), np.append(y, label)).predict_proba(draw.X[[i]])[
                    0, label
                ]
                for label in (0, 1)
            ]
        )
        gains = genies - plain
        assert (gains >= -1e-6).all()
        assert gains.sum() == pytest.approx(np.expm1(moves.own_regret[i]), abs=1e-3)
        assert gains[labels[i]] == pytest.approx(moves.own_move[i], abs=1e-4)
        told = np.log(genies / plain)
        assert plain @ told <= moves.own_regret[i] + 1e-3  # the mean gain in nats
    assert (moves.own_move <= moves.bound + 1e-4).all()


def hat_of(draw, kind, setting):
    """Shares of labels in fitted values, by moving one label at a time."""
    from dataclasses import replace

    model, X, _ = CLASSES[kind].fit(draw, setting)
    base, shares = model.predict(X), []
    for i in range(len(draw.y)):
        moved = draw.y.copy()
        moved[i] += 1.0
        if kind == "tree":  # its splits are kept
            model, X, _ = CLASSES[kind].fit(draw, setting)
            again = type(model)(model.estimator, noise_variance=1.0).fit(X, moved)
        else:
            again, X, _ = CLASSES[kind].fit(replace(draw, y=moved), setting)
        shares.append(again.predict(X)[i] - base[i])
    return np.array(shares)


@pytest.mark.parametrize(
    ("kind", "setting"), [("ridge", 0.1), ("kernel", 0.1), ("Fourier features", 50), ("tree", 4)]
)
def test_regrets_count_the_degrees_of_freedom(kind, setting, draw):
    model, X, _ = CLASSES[kind].fit(draw, setting)
    inside, left_out, n = model.regret(X), model.loo_.regrets, len(X)
    dof = float(hat_of(draw, kind, setting).sum())
    assert degrees_of_freedom(inside) == pytest.approx(dof, rel=1e-6)
    assert np.sum(own_share(left_out)) == pytest.approx(dof, rel=1e-6)
    t = dof / n
    in_order = [np.mean(inside), np.log1p(t), t, least_mean_regret(dof, n), np.mean(left_out)]
    assert in_order == sorted(in_order)


def test_the_trace_and_the_leaves_are_the_degrees_of_freedom(draw):
    n = len(draw.y)
    found = regret_complexity.measured(draw, CLASSES["ridge"], 0.1)
    A, (_, P) = np.column_stack([np.ones(n), draw.X]), ridge(draw.X, draw.y, 0.1 * n)
    assert found["dof"] == pytest.approx(np.trace(A @ P @ A.T), rel=1e-9)
    assert regret_complexity.measured(draw, CLASSES["tree"], 4)["dof"] == pytest.approx(4)


def test_optimism_is_the_mean_regret_by_refits(draw):
    n, alpha = len(draw.y), 0.1 * len(draw.y)
    found = regret_complexity.measured(draw, CLASSES["ridge"], 0.1)
    fitted = np.column_stack([np.ones(n), draw.X]) @ ridge(draw.X, draw.y, alpha)[0]
    training = 0.5 * np.log(2 * np.pi) + 0.5 * np.mean((draw.y - fitted) ** 2)
    losses = []
    for i in range(n):
        theta, P = ridge(without(draw.X, i), without(draw.y, i), alpha)
        row = np.append(1.0, draw.X[i])
        K = 1 + row @ P @ row
        error = (draw.y[i] - row @ theta) / K
        losses.append(0.5 * np.log(2 * np.pi) + np.log(K) + 0.5 * error**2)
    assert found["optimism"] == pytest.approx(np.mean(losses) - training, abs=1e-10)
    assert found["optimism"] == pytest.approx(found["left out"], abs=1e-10)


@pytest.fixture
def tiny(tmp_path, monkeypatch, rng):
    """One tiny set of two splits, and the sizes to go with it."""
    (tmp_path / "uci").mkdir()
    X = rng.normal(size=(60, 3))
    splits = {}
    for k in range(2):
        splits[f"train_{k}"], splits[f"test_{k}"] = np.split(rng.permutation(60), [45])
    np.savez(tmp_path / "uci" / "yacht.npz", X=X, y=X[:, 0] + rng.normal(size=60), **splits)
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    stability = regret_stability.Sizes(("yacht", "wine"), 2, 20, 10)
    monkeypatch.setattr(regret_stability, "SIZES", {"small": stability})
    complexity = regret_complexity.Sizes(("yacht",), 2, 30)
    monkeypatch.setattr(regret_complexity, "SIZES", {"small": complexity})
    monkeypatch.setattr(regret_stability, "_TREES", 4)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "module"),
    [("regret-stability", regret_stability), ("regret-complexity", regret_complexity)],
)
def test_a_study_runs_draws_and_goes_on(name, module, tiny, monkeypatch):
    told = []

    def run():
        out = Output(tiny / "here", tiny / "cache", "stamp")
        return find(name).run("small", out, lambda *done: told.append(done))

    first = run()
    assert told[-1][0] == told[-1][1]
    for row in first.tables[0].rows:
        assert row.ours.low <= row.ours.value <= row.ours.high
    for figure in first.figures:
        assert figure.draw().axes
    monkeypatch.setattr(module, "_one", pytest.fail)
    assert run().tables == first.tables


@pytest.mark.data
def test_the_law_holds_on_a_published_split():
    found = regret_stability._one("yacht", 0, "ridge", regret_stability.SIZES["small"])
    assert found["numbers"]["share"] == pytest.approx(1.0)
    assert found["numbers"]["within"] == 1.0
