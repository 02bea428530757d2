"""Drawings of ideas: their numbers are those of the parts that they show."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from pnml_experiments.framework.registry import find

pytest.importorskip("matplotlib")
torch = pytest.importorskip("torch")


def quiet(done, total):
    pass


def test_the_scheme_shows_what_two_loops_find(out):
    from pnml_experiments.ch6_adversarial import adversarial_scheme as scheme

    result = find("adversarial-scheme").run("small", out, quiet)
    numbers, slopes = result.tables
    shown = {row.labels["box"]: row.ours.value for row in numbers.rows}
    network, x = scheme.subject(300)
    settings = (scheme.STRENGTH, 1, scheme.STRENGTH, scheme.BOUNDS)
    told = oracle.hypotheses(network, x, 2, *settings).exp()
    p = [float(told[label, label]) for label in (0, 1)]
    assert shown["p of 0 there"] == pytest.approx(p[0], rel=1e-9)
    assert shown["p of 1 there"] == pytest.approx(p[1], rel=1e-9)
    assert shown["regret, log C, nats"] == pytest.approx(np.log(sum(p)), abs=1e-9)
    assert shown["log-loss of label 1, nats"] == pytest.approx(np.log(sum(p) / p[1]), abs=1e-9)
    for label in (0, 1):
        moved = oracle.towards(network, x, label, *settings)[-1]
        for j in (0, 1):
            name = f"x refined towards {label}, entry {j + 1}"
            assert shown[name] == pytest.approx(float(moved[j]), abs=1e-12)
    by_kind = {}
    for row in slopes.rows:
        by_kind.setdefault(row.labels["gradient by"], []).append(row.ours.value)
    for kind in ("autograd", "identity", "soft"):
        np.testing.assert_allclose(by_kind[kind], by_kind["differences"], rtol=1e-5)
    assert result.figures[0].draw().axes


def test_tiles_put_the_images_row_by_row(rng):
    from pnml_experiments.ch7_active.active_pools import tiled

    images = rng.integers(0, 256, size=(9, 4, 4, 3))
    picture = tiled(images)
    assert picture.shape == (12, 12, 3)
    np.testing.assert_array_equal(picture[4:8, 8:], images[5])


@pytest.mark.data
def test_the_pools_hold_as_many_strange_images_as_own_ones(out):
    from pnml_experiments.ch7_active.active_pools import pools

    for pool in pools():
        mixed = pool.mixed()
        own = {image.tobytes() for image in pool.own}
        strange = {image.tobytes() for image in pool.strange}
        assert sum(image.tobytes() in own for image in mixed) == len(mixed) // 2
        assert sum(image.tobytes() in strange for image in mixed) == len(mixed) // 2
    result = find("active-pools").run("small", out, quiet)
    (counts,) = result.tables
    assert {row.labels["set"]: row.ours.value for row in counts.rows}["MNIST"] == 70_000
    assert len(result.figures[0].draw().axes) == 6
