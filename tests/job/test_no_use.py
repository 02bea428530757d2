"""A model that does not beat a constant guess says so whenever it is used."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pnml import fit_table
from pnml.report.page import render

TARGETS = {
    "regression": (lambda rng: rng.standard_cauchy(60), "always guessing the mean"),
    "classification": (
        lambda rng: rng.choice(["a", "b"], 60),
        "always guessing the most frequent class",
    ),
}


def noise(task):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 8))
    return pd.DataFrame(X, columns=list("abcdefgh")).assign(y=TARGETS[task][0](rng))


@pytest.mark.parametrize("task", TARGETS)
def test_scores_findings_and_report_of_a_useless_model_say_so(task):
    frame = noise(task)
    learner = "ols" if task == "regression" else "logistic"
    model = fit_table(frame, "y", learner=learner)
    ours, guess = model.comparison
    assert ours.log_loss >= guess.log_loss
    assert model.is_of_use is False
    said = f"no better than {TARGETS[task][1]}"
    with pytest.warns(UserWarning, match=f"The model is of no use for predictions.*{said}"):
        model.score(frame)
    found = model.findings(frame.drop(columns="y"))
    assert found.of_use is False
    assert said in found.verdict_on_model
    assert said in render(found)


def test_a_useful_model_and_one_of_an_older_file_say_nothing():
    frame = noise("regression")
    frame["y"] = frame["a"] + 0.1 * frame["b"]
    model = fit_table(frame, "y", learner="pnml")
    older = replace(model, fitted=replace(model.fitted, comparison=()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for each, known in ((model, True), (older, None)):
            assert each.is_of_use is known
            each.score(frame)
            assert each.findings(frame).verdict_on_model == ""


def test_the_command_says_so_in_words_and_json(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    noise("regression").to_csv("t.csv", index=False)
    fit_table("t.csv", "y", learner="ols").save("m.pnml")
    done = call("score", "m.pnml", "t.csv", "-o", "s.csv")
    assert done.code == 0
    assert "of no use for predictions" in " ".join(done.out.split())
    done = call("score", "m.pnml", "t.csv", "-o", "s.csv", "--json")
    assert json.loads(done.out)["model_of_use"] is False
