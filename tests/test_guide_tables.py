"""The guide to tables runs as it stands, and what it says of its example is so."""

from __future__ import annotations

import pandas as pd
import pytest

import pages

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """All that the snippets define."""
    folder = tmp_path_factory.mktemp("guide")
    return pages.run("tables.md", folder) | {"folder": folder}


def test_odd_rows_are_told_with_their_reasons(names):
    assert {360, 361, 362} <= set(names["strange"].index)
    reasons = names["reasons"]
    assert reasons["town never seen in training"] == 1
    assert reasons["size missing, never so in training"] == 1
    assert any(text.startswith("size above the 40–200 ") for text in reasons)
    assert sum(reasons.values()) == len(names["strange"])
    assert names["changed"] == []


def test_the_frame_stays_and_the_file_says_the_same(names):
    new, scored = names["new"], names["scored"]
    pd.testing.assert_frame_equal(scored[new.columns], new)
    pd.testing.assert_frame_equal(names["again"].score(new), scored)
    assert "<html" in (names["folder"] / "houses.html").read_text(encoding="utf-8")[:500]


def test_the_learner_is_the_best_of_those_tried_and_beats_the_baseline(names):
    *tried, baseline = names["tried"].items()
    assert names["model"].learner == min(dict(tried), key=dict(tried).get)
    assert baseline[0] == "baseline"
    assert dict(tried)[names["model"].learner] < baseline[1]
