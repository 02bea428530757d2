"""The study of masks compares what it says it compares."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import torch

from idx_files import write_idx
from pnml_experiments.ch7_active import dial_stability
from pnml_experiments.ch7_active.dial_networks import digit_cnn
from pnml_experiments.ch7_active.dial_stability import MEASURES, measured, per_row
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.registry import find
from pnml_experiments.framework.stored_files import FASHION_TEST, MNIST


def test_measures_are_means_over_pairs(rng):
    worst = rng.normal(size=(4, 30))
    order = worst.argsort(axis=1)
    found = measured(worst, 12)
    pairs = list(combinations(range(4), 2))
    assert found["same"] == np.mean([order[i, 0] == order[j, 0] for i, j in pairs])
    shared = [np.isin(order[i, :10], order[j, :10]).mean() for i, j in pairs]
    assert found["best"] == pytest.approx(np.mean(shared))
    ranks = order.argsort(axis=1)
    correlations = [np.corrcoef(ranks[i], ranks[j])[0, 1] for i, j in pairs]
    assert found["rank"] == pytest.approx(np.mean(correlations))
    assert found["first"] == np.mean(order[:, 0] >= 12)
    assert found["strange"] == pytest.approx((order[:, :10] >= 12).mean())


def test_masks_per_row_differ_between_equal_rows_and_the_network_is_left_alone():
    network = digit_cnn(4, 8).eval()
    rows = torch.rand(1, 1, 28, 28).repeat(5, 1, 1, 1)
    state = torch.random.get_rng_state()
    logs = per_row(network, rows, 3, seed=1)
    assert logs.shape == (3, 5, 10)
    assert len(np.unique(logs[0, :, 0])) == 5
    np.testing.assert_allclose(np.exp(logs).sum(axis=-1), 1)
    np.testing.assert_array_equal(logs, per_row(network, rows, 3, seed=1))
    assert not any(module.training for module in network.modules())
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.fixture
def run(tmp_path, monkeypatch, rng):
    """The experiment on a few images of noise, with fewer passes."""
    for name in (MNIST["train"], MNIST["test"], FASHION_TEST):
        write_idx(tmp_path / name, rng.integers(0, 256, size=(40, 28, 28), dtype=np.uint8))
    write_idx(tmp_path / MNIST["train labels"], (np.arange(40) % 10).astype(np.uint8))
    monkeypatch.setenv("PNML_DATA", str(tmp_path))
    sizes = dial_stability.Sizes(2, 4, 8, 2, (6, 9), 24, 5, 3)
    monkeypatch.setattr(dial_stability, "SIZES", {"small": sizes})
    monkeypatch.setattr(dial_stability, "PASSES", (2, 4))
    out = Output(tmp_path / "here", tmp_path / "cache", "stamp")
    return lambda tell: find("dial-stability").run("small", out, tell)


def test_there_is_a_row_for_every_setting_and_a_second_run_finds_them(run, monkeypatch):
    told = []
    first = run(lambda *done: told.append(done))
    assert told[-1] == (4, 4)
    assert [table.title for table in first.tables] == list(MEASURES.values())
    for table in first.tables:
        assert len(table.rows) == 2 * 2 * 2 * 2
        assert all(-1 <= row.ours.value <= 1 for row in table.rows)
    assert len(first.figures[0].draw().axes) == 2
    monkeypatch.setattr(dial_stability, "_prepared", pytest.fail)
    assert run(lambda *done: None).tables == first.tables
