"""The benchmark of detectors runs, and its rivals are what they say they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import child
from pnml.ood import Energy, RegretDetector

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rivals(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return pytest.importorskip("benchmarks.ood_rivals")


@pytest.fixture
def made(rivals, rng):
    centres = 3 * rng.normal(size=(4, 6))
    y = np.arange(400) % 4
    X = centres[y] + rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6))
    return rivals.Trained(X, y, rng.normal(size=(4, 6)), rng.normal(size=4))


def test_a_quick_run_prints_and_stores_every_row(tmp_path):
    file = tmp_path / "quick.json"
    command = [sys.executable, "-m", "benchmarks", "ood", "--quick", "--rounds", "2"]
    done = child.run([*command, "--json", file], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    run = json.loads(file.read_text())
    jobs = " | ".join(row["job"] + row["rival"] for row in run["rows"])
    for word in ("units dead", "ResNet-20", "fit_features", "memory", "Mahalanobis", "KNN", "ViM"):
        assert word in jobs, word
    assert all(row["passed"] is None for row in run["rows"])


def test_both_ways_to_mahalanobis_agree_with_the_distance_itself(rivals, made, rng):
    new = rng.normal(size=(20, 6)) * 5
    means = np.stack([made.X[made.y == c].mean(axis=0) for c in range(4)])
    within = np.cov((made.X - means[made.y]).T, bias=True)
    P = np.linalg.inv(within)
    expected = [min((x - m) @ P @ (x - m) for m in means) for x in new]
    np.testing.assert_allclose(rivals.mahalanobis(made)(new), expected, rtol=1e-9)
    np.testing.assert_allclose(rivals.mahalanobis_by_class(made)(new), expected, rtol=1e-9)
    whole = np.linalg.inv(np.cov(made.X.T, bias=True))
    centre = made.X.mean(axis=0)
    relative = [e - (x - centre) @ whole @ (x - centre) for e, x in zip(expected, new, strict=True)]
    np.testing.assert_allclose(rivals.relative_mahalanobis(made)(new), relative, rtol=1e-9)


def test_neighbours_virtual_logits_and_entropy_are_their_definitions(rivals, made, rng):
    new = rng.normal(size=(10, 6)) * 5
    unit = made.X / np.linalg.norm(made.X, axis=1, keepdims=True)
    for x, found in zip(new, rivals.knn(made, k=7)(new), strict=True):
        distances = np.linalg.norm(unit - x / np.linalg.norm(x), axis=1)
        assert found == pytest.approx(np.sort(distances)[6])
    p = np.exp(made.logits(new))
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rivals.gen(made)(new), np.sum((p * (1 - p)) ** 0.1, axis=1))
    origin = np.linalg.lstsq(made.weight, -made.bias, rcond=None)[0]
    rows = made.X - origin
    rest = np.linalg.svd(rows, full_matrices=True)[2][3:].T
    factor = made.logits(made.X).max(axis=1).mean() / np.linalg.norm(rows @ rest, axis=1).mean()
    expected = factor * np.linalg.norm((new - origin) @ rest, axis=1)
    expected += Energy.score(made.logits(new))
    np.testing.assert_allclose(rivals.vim(made)(new), expected)


def test_the_published_recipe_is_ours_where_float32_is_enough(rivals, made, rng):
    new = rng.normal(size=(50, 6))
    ours = RegretDetector.from_embeddings(
        made.weight, made.bias, made.X, scale=1.0, alpha=0.0, regions=False
    )
    published = rivals.published_regret(made)(new) * np.log(4)
    np.testing.assert_allclose(published, ours.predict(new), rtol=2e-2, atol=1e-5)


def test_the_bare_products_are_those_that_ours_makes(rivals, rng):
    X = rng.normal(size=(100, 5)).astype(np.float32)
    total = rivals.bare_gram([X[:30], X[30:]])
    assert total.dtype == np.float64
    np.testing.assert_allclose(total, X.astype(float).T @ X.astype(float), rtol=1e-12)
    p = rivals.bare_products(X, np.eye(5), rng.normal(size=(3, 5)))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-6)
