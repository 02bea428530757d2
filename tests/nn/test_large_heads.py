"""Heads of many classes: blocks, single precision and deferred logits give the same answers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn

from pnml.errors import ConditionWarning, InputError
from pnml.nn import LastLayerPNML, feature_regret


@pytest.fixture
def head():
    torch.manual_seed(0)
    return nn.Linear(24, 600).requires_grad_(False)


@pytest.fixture
def rows(head):
    generator = torch.Generator().manual_seed(1)
    named = torch.randint(600, (1500,), generator=generator)
    return torch.randn(1500, 24, generator=generator) + 12 * head.weight[named]


def test_blocks_and_whole_batches_agree(head, rows, monkeypatch):
    m = LastLayerPNML(head).fit(rows)
    out, by_features = m(rows), m.score_features(rows)
    graph = m(rows.clone().requires_grad_())
    monkeypatch.setattr(feature_regret, "_LARGE_BLOCK", 24 * 100)
    small = m.score_features(rows)
    for other in (by_features, graph, small):
        # another order of sums; argmax of float32 and float64 logits agree away from ties
        torch.testing.assert_close(other.regret.detach(), out.regret, rtol=1e-8, atol=0)
        torch.testing.assert_close(other.leverage.detach(), out.leverage, rtol=1e-8, atol=0)


def test_logits_that_are_not_kept_come_when_asked(head, rows, monkeypatch):
    m = LastLayerPNML(head).fit(rows)
    kept = m.score_features(rows[:50].reshape(5, 10, 24))
    monkeypatch.setattr(feature_regret, "_KEPT_LOGITS", 100)
    deferred = m.score_features(rows[:50].reshape(5, 10, 24))
    assert "logits" not in vars(deferred)
    torch.testing.assert_close(deferred.regret, kept.regret, rtol=0, atol=0)
    torch.testing.assert_close(deferred.logits, kept.logits)
    torch.testing.assert_close(deferred.probs, kept.probs)
    assert deferred.logits.shape == (5, 10, 600)


def test_single_precision_keeps_four_digits_and_the_order(head, rows):
    double, single = (
        LastLayerPNML(head, scale=4.0, precision=precision).fit(rows)
        for precision in ("double", "single")
    )
    for score in (lambda m: m(rows), lambda m: m.score_features(rows)):
        truth, found = score(double), score(single)
        assert found.regret.dtype == torch.float64
        torch.testing.assert_close(found.leverage, truth.leverage, rtol=1e-9, atol=0)
        # logits of size 10 are rounded at 1e-6, and a regret is as sensitive to them as p is
        torch.testing.assert_close(found.regret, truth.regret, rtol=1e-4, atol=0)
        assert spearmanr(found.regret, truth.regret).statistic > 1 - 1e-8
    assert single.regret_threshold() == pytest.approx(double.regret_threshold(), rel=1e-4)
    with pytest.raises(InputError, match=r'precision is .*; pass "double" or "single"'):
        LastLayerPNML(head, precision="half")


def test_float64_networks_are_not_multiplied_twice(head, rows, monkeypatch):
    """Logits at the scale follow from the network's own, since the head is linear."""
    m = LastLayerPNML(head.double(), scale=2.0).fit(rows.double())
    truth = m.score_features(rows.double())
    monkeypatch.setattr("pnml.nn.scaled_head.ScaledHead.logits", None)
    torch.testing.assert_close(m(rows.double()).regret, truth.regret, rtol=1e-9, atol=0)


def test_weights_that_change_are_converted_again(head, rows):
    m = LastLayerPNML(head, scale=2.0).fit(rows)
    m(rows)
    with torch.no_grad():
        head.weight.mul_(0.5)
    fresh = LastLayerPNML(head, scale=2.0)
    fresh.load_state_dict(m.state_dict())
    with pytest.warns(ConditionWarning, match="weights of the last layer"):
        torch.testing.assert_close(m(rows).regret, fresh(rows).regret, rtol=0, atol=0)
    assert np.isfinite(m.thresholds().regret)
