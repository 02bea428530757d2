"""The guide to active learning runs as it stands, and what it says of its example is so."""

from __future__ import annotations

import numpy as np
import pytest

import pages

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("torch")
pytest.importorskip("skactiveml")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """All that the snippets define."""
    import matplotlib.pyplot as plt

    yield pages.run("active.md", tmp_path_factory.mktemp("guide"))
    plt.close("all")


def test_picks_are_the_least_of_the_scores(names):
    from pnml.active import dial_scores

    worst = dial_scores(names["candidates"], names["targets"]).max(axis=1)
    np.testing.assert_array_equal(names["best"], np.argsort(worst, kind="stable")[:3])
    assert names["together"][0] == names["best"][0]
    assert len(set(names["ask_for"])) == 10
    assert names["query"].shape == (2,)


def test_every_strategy_has_a_curve(names):
    curves = names["curves"]
    assert list(curves.accuracy) == ["random", "BALD", "DIAL"]
    assert curves.labels.tolist() == [20, 25, 30, 35, 40]
    assert all(values.shape == (2, 5) for values in curves.accuracy.values())
    assert curves.strange_share("random").mean[-1] == pytest.approx(0.5, abs=0.2)
