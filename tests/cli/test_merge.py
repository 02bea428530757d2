"""``pnml merge``: models from the shell, and what cannot be put together in one sentence."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.csv
import pytest

from made_tables import mixed
from pnml import PNMLRegressor, load, save
from sentences import assert_one_sentence, state


@pytest.fixture
def parts(here, call):
    """Two models of parts of a table, and one of all of it."""
    table = mixed(300, seed=5)
    for name, rows in {"a": table.slice(0, 140), "b": table.slice(140), "all": table}.items():
        pyarrow.csv.write_csv(rows, f"{name}.csv")
        assert call("fit", f"{name}.csv", "--target", "y", "-o", f"{name}.pnml").code == 0
    return table


def test_merged_models_score_as_the_model_of_all_rows(parts, call):
    done = call("merge", "a.pnml", "b.pnml", "-o", "both.pnml")
    assert (done.code, done.err) == (0, "")
    assert "Put 2 models of 300 rows together and wrote both.pnml." in done.out
    both, whole = load("both.pnml"), load("all.pnml")
    new = mixed(40, seed=9).to_batches()[0]
    ours, theirs = (m.fitted.score(new, 0.9, 0.99).answer for m in (both, whole))
    assert both.learner == whole.learner
    np.testing.assert_allclose(ours.prediction, theirs.prediction, rtol=1e-6)
    np.testing.assert_allclose(ours.regret, theirs.regret, rtol=1e-5)
    assert call("score", "both.pnml", "new.csv", "-o", "scored.csv").code == 0


def test_a_model_may_grow_in_its_own_file(parts, call):
    done = call("merge", "a.pnml", "b.pnml", "-o", "a.pnml", "--json")
    assert json.loads(done.out) == {"model": "a.pnml", "models": 2, "rows": 300}
    assert load("a.pnml").rows == 300


def test_estimators_that_python_has_saved_are_put_together_too(here, call):
    X = np.arange(12.0).reshape(6, 2) ** 2
    for name, part in {"a": slice(0, 3), "b": slice(3, 6)}.items():
        save(PNMLRegressor(alpha=1.0).fit(X[part], X[part, 0]), f"{name}.pnml")
    assert call("merge", "a.pnml", "b.pnml", "-o", "c.pnml").code == 0
    truth = PNMLRegressor(alpha=1.0).fit(X, X[:, 0])
    np.testing.assert_allclose(load("c.pnml").predict(X), truth.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["model.pnml", "classes.pnml", "-o", "c.pnml"], ["classes.pnml", "'logistic'"]),
        (["model.pnml", "nothing.pnml", "-o", "c.pnml"], ["nothing.pnml"]),
        (["model.pnml", "train.csv", "-o", "c.pnml"], ["train.csv"]),
        (["model.pnml", "-o", "c.txt"], ["c.txt", ".pnml"]),
        (["-o", "c.pnml"], ["models"]),
    ],
)
def test_what_cannot_be_put_together_is_refused_and_leaves_no_file(arguments, words, here, call):
    before = state(here)
    done = call("merge", *arguments)
    assert_one_sentence(done.code, done.out, done.err, words)
    assert state(here) == before
