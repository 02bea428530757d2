"""The guide to classification runs as it stands, and what it says of its example is so."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.metrics import log_loss

import pages

PAGE = "classification.md"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    return pages.run(PAGE, tmp_path_factory.mktemp("guide"))


def test_the_table_is_the_one_printed(names):
    text = (pages.GUIDE / PAGE).read_text()
    printed = re.findall(r"^\| (analytic|refit|forest|union) \| (.*) \| [\d.]+ ms \|$", text, re.M)
    assert [name for name, _ in printed] == list(names["table"])
    for name, line in printed:
        values = [float(cell) for cell in line.split("|")]
        assert names["table"][name] == pytest.approx(values, abs=0.0151), name


def test_leaves_and_columns_find_a_wrong_unit(names):
    # percent as printed, of 285 rows
    assert names["leaves"]["forest"] == pytest.approx((0.99, 0.00), abs=0.006)
    assert names["leaves"]["boosting"] == pytest.approx((0.98, 0.00), abs=0.006)
    assert names["columns"] == 0


def test_left_out_rows_say_what_to_expect_of_new_ones(names):
    assert names["loo"].log_loss == pytest.approx(0.12, abs=0.01)
    assert log_loss(names["y_test"], names["dist"].prob) == pytest.approx(0.14, abs=0.01)
    assert names["best_C"] == 1.0
    assert np.all(names["loo"].errors <= 1e-4)


def test_what_is_saved_comes_back(names):
    X = names["scaler"].transform(names["X_test"])
    assert names["again"].regret(X).tobytes() == names["plain"].regret(X).tobytes()
    assert len(names["features"].explain_names_) == 30
