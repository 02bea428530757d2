"""What cannot be scored is refused in one sentence that says what to do."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pnml import InputError
from pnml.active import (
    dial_scores,
    dial_select,
    dial_select_batch,
    linear_scores,
    linear_select,
    logs_of,
)

P = np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 5))  # (M, N, C)
GOOD = np.log(P)


def with_nan():
    broken = GOOD.copy()
    broken[1, 2, 0] = np.nan
    return broken


BAD_PAIRS = {
    "probabilities": (P, GOOD, "candidates are probabilities"),
    "logits": (GOOD, GOOD + 1.0, "targets sum to 2.718 (model 0, row 0)"),
    "models": (GOOD, GOOD[:3], "from 4 models but the targets from 3"),
    "classes": (GOOD, np.log(np.full((4, 5, 2), 0.5)), "3 classes but the targets 2"),
    "nan": (with_nan(), GOOD, "NaN (model 1, row 2)"),
    "no targets": (GOOD, GOOD[:, :0], "no targets"),
    "no candidates": (GOOD[:, :0], GOOD, "no candidates"),
    "no models": (GOOD[:0], GOOD[:0], "no models"),
    "one model": (GOOD[0], GOOD, "shape (5, 3)"),
    "text": (np.full((4, 5, 3), "a"), GOOD, "numbers are needed"),
    "ragged": ([[[0.0]], [[0.0], [0.0]]], GOOD, "different lengths"),
}


def one_sentence(error, named):
    text = str(error.value)
    assert named in text
    assert text.endswith(".")
    assert not re.search(r"[.!?] [A-Z]", text), text
    assert "\n" not in text


@pytest.mark.parametrize("call", [dial_scores, dial_select, dial_select_batch])
@pytest.mark.parametrize("case", BAD_PAIRS)
def test_pairs_that_do_not_fit(call, case):
    candidates, targets, named = BAD_PAIRS[case]
    with pytest.raises(InputError) as error:
        call(candidates, targets)
    one_sentence(error, named)


@pytest.mark.parametrize(("n", "named"), [(6, "only 5 candidates"), (0, "n is 0"), (1.5, "1.5")])
@pytest.mark.parametrize("call", [dial_select, dial_select_batch])
def test_more_picks_than_there_are_candidates(call, n, named):
    with pytest.raises(InputError) as error:
        call(GOOD, GOOD, n)
    one_sentence(error, named)


@pytest.mark.parametrize(("memory", "named"), [(1000, "1,000 bytes"), (-1, "-1"), ("1 GB", "1 GB")])
def test_memory_that_is_not_enough_for_anything(memory, named):
    with pytest.raises(InputError) as error:
        dial_scores(GOOD, GOOD, max_memory=memory)
    one_sentence(error, named)


def test_negative_probabilities_have_no_logarithm():
    with pytest.raises(InputError) as error:
        logs_of(GOOD)
    one_sentence(error, "none is below 0")


X = np.eye(3)


@pytest.mark.parametrize(
    ("arguments", "settings", "named"),
    [
        ((X, X[:, :2], X), {}, "pool has 2 columns but X has 3"),
        ((X, X, X[:, :2]), {}, "targets has 2 columns"),
        ((X, X, X[:0]), {}, "shape (0, 3)"),
        ((X, X * np.nan, X), {}, "nan (row 0, column 0)"),
        ((X, [["a"]], X), {}, "cannot be read"),
        ((X, X, X), {"alpha": -1.0}, "alpha is -1.0"),
        ((X, X, X), {"alpha": "loo"}, "alpha is 'loo'"),
    ],
)
def test_rows_that_cannot_be_added(arguments, settings, named):
    for call in (linear_scores, linear_select):
        with pytest.raises(InputError) as error:
            call(*arguments, **settings)
        one_sentence(error, named)


def test_more_rows_than_the_pool_has():
    with pytest.raises(InputError) as error:
        linear_select(X, X, X, 4)
    one_sentence(error, "only 3 rows in the pool")
