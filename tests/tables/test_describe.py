"""A model in words says what the model is."""

from __future__ import annotations

import json

import numpy as np
import pytest

from made_tables import classes, mixed, numbers, one_batch
from pnml.tables import describe
from pnml.tables.fitting import fit_table
from pnml.tables.learners import LEARNERS
from pnml.tables.roles import Request


def fitted(table, learner="auto", **asked):
    return fit_table(table.to_batches(), Request(**{"target": "y"} | asked), learner, "t.csv")


def test_columns_are_told_in_their_own_units():
    table = mixed(150)
    told = {name: (role, remark) for name, role, remark in describe.columns(fitted(table))}
    size, age = table["size"].to_numpy(), table["age"].drop_null().to_numpy()
    assert told["size"] == ("number", f"mean {size.mean():.4g}, spread {size.std():.4g}")
    assert told["age"][1] == f"mean {age.mean():.4g}, spread {age.std():.4g}, some missing"
    assert told["city"] == ("category", "3 values, some missing")
    assert told["member"] == ("category", "true or false; 2 values")
    days = table["day"].to_numpy().astype(np.int64)
    mean = np.datetime64(round(days.mean()), "D")
    assert told["day"] == ("date", f"mean {mean}, spread {days.std():.4g} days")
    assert told["y"] == ("target", "")


def test_facts_name_the_learner_its_penalty_and_the_line_of_trust():
    model = fitted(mixed(150))
    facts = dict(describe.facts(model, 0.995))
    assert facts["task"] == "regression of 'y'"
    assert facts["rows"] == "150"
    assert facts["penalty"] == f"{model.estimator.alpha_:.4g}"
    assert "(99.5% of the training rows)" in facts["trusted up to"]
    assert f"{model.threshold(0.995):.4g} nats" in facts["trusted up to"]
    assert "pnml" in facts["chosen by"]
    kinds = fitted(classes(150), target="kind")
    assert dict(describe.facts(kinds, 0.99))["classes"] == "3: high, low, middle"


def test_where_no_row_can_be_trusted_it_says_so():
    model = fitted(numbers(12, 20), "ols")
    assert "nothing" in dict(describe.facts(model, 0.99))["trusted up to"]
    assert not model.score(one_batch(numbers(5, 20, seed=1)), 0.9, 1.0).trusted.any()


@pytest.mark.parametrize("learner", [name for name in LEARNERS if name != "lpnml-l1"])
def test_every_learner_can_be_told_to_people_and_machines(learner):
    classification = LEARNERS[learner].task == "classification"
    table = classes(60) if classification else mixed(60)
    model = fitted(table, learner, target="kind" if classification else "y")
    assert all(isinstance(text, str) for fact in describe.facts(model, 0.99) for text in fact)
    told = json.loads(json.dumps(describe.document(model)))
    assert told["learner"] == learner
    assert told["rows"] == 60
    assert list(told["types"]) == table.column_names
    values = describe.singular_values(model)
    assert (np.diff(values) <= 0).all()
    assert (values >= 0).all()


def test_what_was_left_out_is_told_in_one_sentence_for_each_reason():
    table = mixed(60)
    for name in ("first", "second"):
        table = table.append_column(name, [[f"{name} {i}" for i in range(60)]])
    (said,) = describe.left_out(fitted(table))
    assert said.startswith("Left out 'first', 'second': all values are distinct")
