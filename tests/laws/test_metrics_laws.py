"""Laws of the metrics that hold for all scores, ties and infinities included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pnml import metrics

# Few distinct values, so that ties within and across the two sets are common.
SCORE = st.one_of(st.integers(-4, 4).map(float), st.sampled_from([-np.inf, np.inf]))
SCORES = st.integers(1, 25).flatmap(lambda n: arrays(float, n, elements=SCORE))
LEVEL = st.floats(0.01, 1.0)


@st.composite
def known_rows(draw):
    scores = draw(SCORES)
    return scores, draw(arrays(bool, len(scores)))


@st.composite
def losses(draw):
    confidence = draw(SCORES)
    return draw(arrays(float, len(confidence), elements=st.floats(0, 10))), confidence


@st.composite
def rows_with_intervals(draw):
    y = draw(arrays(float, st.integers(1, 20), elements=st.floats(-5, 5)))
    ends = draw(arrays(float, (len(y), 2), elements=st.floats(-5, 5)))
    return y, np.sort(ends, axis=1)


def rescaled(scores):
    """A strictly increasing map that keeps every tie and sends infinity to finite numbers."""
    return np.arctan(scores / 3) * 7 - 2


@given(SCORES, SCORES, LEVEL)
def test_monotone_maps_of_the_scores_change_no_detection_metric(s_in, s_out, tpr):
    for metric in (metrics.detection_accuracy, lambda a, b: metrics.fpr_at_tpr(a, b, tpr=tpr)):
        assert metric(s_in, s_out) == metric(rescaled(s_in), rescaled(s_out))


@given(known_rows(), SCORES, LEVEL)
def test_monotone_maps_of_the_scores_change_no_open_set_metric(known, s_out, fpr):
    scores, correct = known
    for metric in (metrics.oscr_area, lambda *a: metrics.ccr_at_fpr(*a, fpr=fpr)):
        mapped = metric(rescaled(scores), correct, rescaled(s_out))
        assert metric(scores, correct, s_out) == mapped


@given(SCORES, SCORES, LEVEL)
def test_an_outlier_is_either_turned_away_or_slips_through(s_in, s_out, tpr):
    turned_away = metrics.tnr_at_tpr(s_in, s_out, tpr=tpr)
    assert turned_away + metrics.fpr_at_tpr(s_in, s_out, tpr=tpr) == pytest.approx(1.0)


@given(SCORES, SCORES, LEVEL, LEVEL)
def test_letting_more_ordinary_rows_pass_never_stops_more_outliers(s_in, s_out, a, b):
    low, high = sorted([a, b])
    assert metrics.tnr_at_tpr(s_in, s_out, tpr=high) <= metrics.tnr_at_tpr(s_in, s_out, tpr=low)


@given(SCORES, SCORES, LEVEL)
def test_detection_accuracy_is_at_least_that_of_any_one_threshold(s_in, s_out, tpr):
    best = metrics.detection_accuracy(s_in, s_out)
    assert 0.5 <= best <= 1.0
    assert best >= 0.5 * (tpr + metrics.tnr_at_tpr(s_in, s_out, tpr=tpr)) - 1e-12


@given(SCORES, SCORES)
def test_swapping_the_sets_and_turning_the_scores_round_keeps_detection_accuracy(s_in, s_out):
    turned = metrics.detection_accuracy(-s_out, -s_in)
    assert metrics.detection_accuracy(s_in, s_out) == pytest.approx(turned)


@given(known_rows(), SCORES)
def test_oscr_area_is_the_pair_formula(known, unknown):
    scores, correct = known
    pairs = [
        c * ((k > u) + 0.5 * (k == u))
        for k, c in zip(scores, correct, strict=True)
        for u in unknown
    ]
    assert metrics.oscr_area(scores, correct, unknown) == pytest.approx(np.mean(pairs), abs=1e-14)


@given(known_rows(), SCORES)
def test_the_oscr_curve_rises_to_the_accuracy_and_encloses_the_area(known, unknown):
    scores, correct = known
    curve = metrics.oscr_curve(scores, correct, unknown)
    assert np.all(np.diff(curve.fpr) >= 0)
    assert np.all(np.diff(curve.ccr) >= 0)
    assert (curve.fpr[-1], curve.ccr[-1]) == (1.0, correct.mean())
    area = metrics.oscr_area(scores, correct, unknown)
    assert area == pytest.approx(np.trapezoid(curve.ccr, curve.fpr), abs=1e-14)
    assert area <= correct.mean() + 1e-14


@given(known_rows(), SCORES, st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_allowing_more_unknowns_never_lowers_the_correct_rate(known, unknown, levels):
    scores, correct = known
    ccr = metrics.ccr_at_fpr(scores, correct, unknown, fpr=[*sorted(levels), 1.0])
    assert np.all(np.diff(ccr) >= 0)
    assert ccr[-1] == correct.mean()


@given(losses(), st.randoms())
def test_the_order_of_the_rows_never_changes_the_risk(rows, random):
    loss, confidence = rows
    order = list(range(len(loss)))
    random.shuffle(order)
    assert metrics.aurc(loss[order], confidence[order]) == pytest.approx(
        metrics.aurc(loss, confidence)
    )


@given(losses())
def test_no_confidence_beats_the_one_that_knows_the_losses(rows):
    loss, confidence = rows
    best, worst = metrics.aurc(loss, -loss), metrics.aurc(loss, loss)
    assert best - 1e-12 <= metrics.aurc(loss, confidence) <= worst + 1e-12


@given(losses())
def test_answering_every_row_risks_the_mean_loss(rows):
    loss, confidence = rows
    curve = metrics.risk_coverage_curve(loss, confidence)
    assert curve.coverage[-1] == 1.0
    assert curve.risk[-1] == pytest.approx(loss.mean())
    assert metrics.aurc(loss, np.zeros(len(loss))) == pytest.approx(loss.mean())


@given(rows_with_intervals(), st.floats(0, 3))
def test_widening_intervals_never_lowers_their_coverage(rows, margin):
    y, interval = rows
    wider = interval + [-margin, margin]
    assert metrics.interval_coverage(y, wider) >= metrics.interval_coverage(y, interval)
    assert metrics.interval_width(wider) == pytest.approx(
        metrics.interval_width(interval) + 2 * margin
    )


@given(rows_with_intervals(), st.floats(0.05, 0.95), st.floats(0.01, 100), st.floats(-10, 10))
def test_the_interval_score_has_the_unit_of_the_target(rows, coverage, scale, shift):
    y, interval = rows
    score = metrics.interval_score(y, interval, coverage=coverage)
    assert score >= metrics.interval_width(interval)
    moved = metrics.interval_score(scale * y + shift, scale * interval + shift, coverage=coverage)
    assert moved == pytest.approx(scale * score, abs=1e-10, rel=1e-9)
