"""`auto` keeps the learner that does best on rows left out, beside a guess that knows nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from made_tables import classes
from pnml import fit_table
from pnml.tables import describe


def wavy(n=300, seed=0):
    """A target with steps, which no line follows."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-3, 3, size=(2, n))
    y = 3.0 * (np.floor(x) % 2) + 2.0 * (np.floor(z) % 2) + 0.1 * rng.normal(size=n)
    return pa.table({"x": x, "z": z, "y": y})


def test_auto_keeps_the_least_loss_and_lists_all_beside_the_baseline(train):
    model = fit_table(train, target="y")
    names = [score.name for score in model.comparison]
    assert names == ["pnml", "lpnml", "kernel", "boosting", "baseline"]
    tried = {score.name: score.log_loss for score in model.comparison[:-1]}
    assert model.learner == min(tried, key=tried.get)
    assert dict(model.losses) == tried
    for name in ("pnml", "lpnml"):
        alone = fit_table(train, target="y", learner=name)
        assert alone.comparison[0].log_loss == pytest.approx(tried[name], rel=1e-9)  # same fit
    assert all(name in str(model) for name in tried)


def test_steps_are_left_to_boosting_and_a_line_is_not(train):
    assert fit_table(wavy(), target="y").learner == "boosting"
    assert fit_table(train, target="y").learner in ("pnml", "lpnml")


def test_auto_tries_no_trees_on_few_rows():
    model = fit_table(wavy(60), target="y")
    assert "boosting" not in [score.name for score in model.comparison]


def test_auto_compares_classifiers_too():
    model = fit_table(classes(), target="kind")
    assert [s.name for s in model.comparison] == ["logistic", "boosting-classifier", "baseline"]
    losses = [score.log_loss for score in model.comparison[:-1]]
    assert model.learner == model.comparison[int(np.argmin(losses))].name


def test_the_baseline_is_the_mean_or_the_most_frequent_class(train):
    y = train["y"].to_numpy()
    guess = fit_table(train, target="y", learner="pnml").comparison[-1]
    loss = -norm.logpdf(y, y.mean(), y.std()).mean()
    # sums of 150 numbers, in any order
    assert (guess.log_loss, guess.error) == pytest.approx((loss, y.std()), rel=1e-12)
    table = classes()
    labels = table["kind"].to_pylist()
    share = {word: labels.count(word) / len(labels) for word in labels}
    guess = fit_table(table, target="kind", learner="logistic").comparison[-1]
    loss = -np.mean([np.log(share[word]) for word in labels])
    assert guess.log_loss == pytest.approx(loss, rel=1e-12)
    assert guess.error == pytest.approx(1 - max(share.values()), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_noise_is_said_to_be_of_no_use(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(150, 4)), rng.normal(size=150)
    columns = {f"x{j}": X[:, j] for j in range(4)}
    model = fit_table(pa.table(columns | {"y": y}), target="y")
    assert describe.use(model.fitted).startswith("none: on rows left out")
    words = np.where(y > 0, "up", "down").tolist()
    model = fit_table(pa.table(columns | {"y": words}), target="y", learner="logistic")
    assert describe.use(model.fitted).startswith("none: on rows left out")


def test_a_table_with_a_line_is_of_use(model):
    assert "R² 0.9" in describe.use(model.fitted)


def test_a_class_of_one_row_leaves_the_comparison_finite():
    table = classes(200)
    words = table["kind"].to_pylist()
    words[17] = "once"
    table = table.set_column(table.column_names.index("kind"), "kind", pa.array(words))
    model = fit_table(table, target="kind")
    assert all(np.isfinite(score.log_loss) for score in model.comparison)
    assert "right" in describe.use(model.fitted)


def many_columns(n, seed):
    """Classes that depend a little on the first of twenty columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, "up", "down")
    return pa.table({f"x{j}": X[:, j] for j in range(20)} | {"y": y.tolist()})


def test_the_error_of_left_out_rows_is_that_of_fresh_rows_and_not_of_seen_ones():
    model = fit_table(many_columns(200, 0), target="y", learner="logistic")
    wrong = {}
    for name, rows in {"seen": many_columns(200, 0), "fresh": many_columns(20_000, 1)}.items():
        scored = model.score(rows)
        wrong[name] = np.mean(scored["prediction"].to_numpy() != rows["y"].to_numpy())
    # the share of 200 rows varies by 0.033, and of the folds by as much again
    assert model.comparison[0].error == pytest.approx(wrong["fresh"], abs=0.1)
    assert model.comparison[0].error > wrong["seen"] + 0.05
