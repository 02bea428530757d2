"""The benchmark compares like with like."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest

from pnml.active import dial_scores

pytest.importorskip("numba")
ROOT = Path(__file__).parents[2]


def test_a_quick_run_finds_the_picks_of_the_literal_loops(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    suite, timing = (pytest.importorskip(f"benchmarks.{name}") for name in ("active", "timing"))
    # times do not matter here, and a full collection is slow in a process of many tests
    monkeypatch.setattr(timing, "gc", MagicMock())
    monkeypatch.setattr(timing, "_SAMPLE_SECONDS", 0.0)
    rows = [row for job in suite.jobs(quick=True) for row in job(2)]
    picks = [row.note for row in rows if row.job.startswith("exact pick of") and row.note]
    assert picks == ["same picks"] * 3
    assert {"BALD", "EPIG", "all sums at once", "top 4"} <= {row.rival for row in rows}
    assert all(row.passed is not False for row in rows)


def test_the_rivals_score_the_same(monkeypatch, drawn):
    monkeypatch.syspath_prepend(str(ROOT))
    rivals = pytest.importorskip("benchmarks.active_rivals")
    a, b = drawn(9, 12, 3), drawn(9, 7, 3)
    ours = dial_scores(a, b)
    flat = [np.ascontiguousarray(part.transpose(1, 2, 0)) for part in (a, b)]
    np.testing.assert_allclose(rivals.literal_scores(*flat), ours, atol=1e-12)
    np.testing.assert_allclose(rivals.dense_scores(a, b), ours, atol=1e-12)
    best = (a[:, :, :, None, None] + b[:, None, None]).max(axis=0).sum(axis=(2, 3))
    np.testing.assert_allclose(rivals.max_plus_scores(a, b, lanes=5), best.ravel(), atol=1e-9)
