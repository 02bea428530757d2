"""The regret of many classes, with two exponentials each, is that of the definition."""

from __future__ import annotations

import numpy as np
import pytest

from pnml.core import softmax


@pytest.mark.parametrize("classes", [128, 1000])
@pytest.mark.parametrize("spread", [0.1, 3.0, 30.0, 200.0])
def test_many_classes_have_the_regret_of_few(classes, spread):
    """The path of few classes is held against the definition in many digits elsewhere."""
    rng = np.random.default_rng(0)
    logits = spread * rng.normal(size=(40, classes))
    logits[3, 5:] = -np.inf
    leverage = 10.0 ** rng.uniform(-12, 6, size=40)
    leverage[:2] = 0.0, np.inf
    truth = softmax.regret(softmax.log_softmax(logits), leverage)
    # r − p is rounded at 2e-16, and g times log p, of which it is a part, is 1e-5 or more
    np.testing.assert_allclose(
        softmax.regret_of_logits(logits, leverage), truth, rtol=1e-9, atol=1e-300
    )


def test_every_class_counts():
    """Equal probabilities: C genies of p/(p + p^g (1 − p)), p = 1/C."""
    p, g = 1 / 500, 0.2 / 1.2
    expected = np.log(500 * p / (p + p**g * (1 - p)))
    found = softmax.regret_of_logits(np.full((3, 500), 7.0, dtype=np.float32), np.full(3, 0.2))
    np.testing.assert_allclose(found, expected, rtol=1e-12)  # a sum of 500 equal terms


def test_logits_stay_as_they_were():
    logits = np.random.default_rng(0).normal(size=(5, 300))
    before = logits.copy()
    softmax.regret_of_logits(logits, np.ones(5))
    np.testing.assert_array_equal(logits, before)
