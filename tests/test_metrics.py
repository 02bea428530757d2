"""Metrics against their definitions, by loops over every threshold, and against bad input."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from pnml import metrics
from pnml.core.errors import InputError


def thresholds(*scores):
    """Every cut that can matter: between any two scores, at each of them, and beyond both ends."""
    distinct = sorted(set(np.concatenate(scores).tolist()))
    between = [(a + b) / 2 for a, b in pairwise(distinct)]
    return [distinct[0] - 1, *distinct, *between, distinct[-1] + 1]


def rate(scores, t):
    return sum(s >= t for s in scores) / len(scores)


@pytest.fixture(params=[0, 1, 2, 3])
def scores(request):
    """Two sets of scores: continuous, or rounded so that most of them tie."""
    rng = np.random.default_rng(request.param)
    s_in, s_out = rng.normal(1, 1, size=37), rng.normal(0, 1.5, size=23)
    return (s_in, s_out) if request.param < 2 else (s_in.round(), s_out.round())


@pytest.fixture
def correct(rng):
    return rng.uniform(size=37) < 0.7


@pytest.mark.parametrize("tpr", [0.05, 0.5, 0.95, 1.0])
def test_rates_at_tpr_are_those_of_the_highest_threshold_that_passes_enough_rows(scores, tpr):
    s_in, s_out = scores
    best = max(t for t in s_in if rate(s_in, t) >= tpr)
    assert metrics.fpr_at_tpr(s_in, s_out, tpr=tpr) == pytest.approx(rate(s_out, best))
    assert metrics.tnr_at_tpr(s_in, s_out, tpr=tpr) == pytest.approx(1 - rate(s_out, best))


@pytest.mark.parametrize("n", [7, 20, 100, 300])
def test_the_share_that_must_pass_is_counted_without_rounding_slips(n):
    s_in = np.arange(n, dtype=float)
    for k in range(1, n + 1):
        s_out = [n - k - 0.5, n - k + 0.5]  # one just below the threshold, one just above it
        assert metrics.fpr_at_tpr(s_in, s_out, tpr=k / n) == 0.5


@pytest.mark.parametrize("m", [7, 20, 100, 300])
def test_the_rate_allowed_in_is_counted_without_rounding_slips(m):
    unknown = np.arange(m, dtype=float)
    levels = np.arange(m + 1) / m
    # Each known row sits just below an unknown one: to let k of them pass, k unknowns must.
    ccr = metrics.ccr_at_fpr(unknown - 0.5, np.ones(m), unknown, fpr=levels)
    np.testing.assert_array_equal(ccr, levels)


def test_detection_accuracy_is_the_best_over_all_thresholds(scores):
    s_in, s_out = scores
    best = max((rate(s_in, t) + 1 - rate(s_out, t)) / 2 for t in thresholds(s_in, s_out))
    assert metrics.detection_accuracy(s_in, s_out) == pytest.approx(best, abs=1e-15)


def test_every_threshold_lies_on_the_oscr_curve(scores, correct):
    known, unknown = scores
    fpr, ccr, cuts = metrics.oscr_curve(known, correct, unknown)
    points = set(zip(fpr.round(12), ccr.round(12), strict=True))
    for t in thresholds(known, unknown):
        expected = np.round(np.sum(correct & (known >= t)) / len(known), 12)
        assert (np.round(rate(unknown, t), 12), expected) in points
    assert (fpr[0], ccr[0], cuts[0]) == (0.0, 0.0, np.inf)
    assert fpr[-1] == 1.0
    assert ccr[-1] == correct.mean()
    for f, c, t in zip(fpr[1:], ccr[1:], cuts[1:], strict=True):
        assert f == rate(unknown, t)
        assert c == np.sum(correct & (known >= t)) / len(known)


def test_oscr_area_is_the_trapezoid_under_the_curve(scores, correct):
    curve = metrics.oscr_curve(scores[0], correct, scores[1])
    area = np.trapezoid(curve.ccr, curve.fpr)
    assert metrics.oscr_area(scores[0], correct, scores[1]) == pytest.approx(area, abs=1e-14)


def test_oscr_area_is_auroc_when_every_known_row_is_classified_correctly(scores):
    known, unknown = scores
    label = np.r_[np.ones(len(known)), np.zeros(len(unknown))]
    auroc = roc_auc_score(label, np.r_[known, unknown])
    assert metrics.oscr_area(known, np.ones(len(known)), unknown) == pytest.approx(auroc)


def test_ccr_at_fpr_is_the_best_threshold_that_lets_no_more_in(scores, correct):
    known, unknown = scores
    levels = [0.0, 0.1, 0.2, 0.6, 0.8, 1.0]
    expected = [
        max(
            np.sum(correct & (known >= t)) / len(known)
            for t in thresholds(known, unknown)
            if rate(unknown, t) <= level
        )
        for level in levels
    ]
    got = metrics.ccr_at_fpr(known, correct, unknown, fpr=levels)
    np.testing.assert_allclose(got, expected, atol=1e-15)


def test_risk_coverage_points_are_the_achievable_ones(rng):
    loss, confidence = rng.exponential(size=30), rng.integers(0, 8, size=30).astype(float)
    curve = metrics.risk_coverage_curve(loss, confidence)
    assert curve.thresholds.tolist() == sorted(set(confidence.tolist()), reverse=True)
    for coverage, risk, t in zip(*curve, strict=True):
        answered = confidence >= t
        assert coverage == pytest.approx(answered.mean())
        assert risk == pytest.approx(loss[answered].mean())


def test_aurc_is_the_mean_over_every_order_of_the_ties():
    loss, confidence = [3.0, 1.0, 0.0, 2.0, 7.0], [1.0, 2.0, 1.0, 2.0, 1.0]
    areas = []
    for order in permutations(range(5)):
        ranked = sorted(order, key=lambda i: -confidence[i])  # stable: keeps the order among ties
        risks = [np.mean([loss[i] for i in ranked[:k]]) for k in range(1, 6)]
        areas.append(np.mean(risks))
    assert metrics.aurc(loss, confidence) == pytest.approx(np.mean(areas), rel=1e-14)


def test_interval_metrics_are_their_row_by_row_definitions(rng):
    y = rng.normal(size=40)
    interval = np.sort(rng.normal(size=(40, 2)), axis=1)
    inside = [low <= v <= high for v, (low, high) in zip(y, interval, strict=True)]
    assert metrics.interval_coverage(y, interval) == np.mean(inside)
    assert metrics.interval_width(interval) == pytest.approx(np.mean([b - a for a, b in interval]))
    fines = []
    for v, (low, high) in zip(y, interval, strict=True):
        miss = low - v if v < low else v - high if v > high else 0.0
        fines.append(high - low + 2 / 0.2 * miss)
    assert metrics.interval_score(y, interval, coverage=0.8) == pytest.approx(np.mean(fines))


def test_interval_ends_belong_to_the_interval():
    assert metrics.interval_coverage([0.0, 1.0], [[0.0, 1.0], [0.0, 1.0]]) == 1.0


def test_the_interval_score_is_smallest_at_the_true_quantiles():
    y = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    ends = np.linspace(0.8, 2.4, 81)
    score = [metrics.interval_score(y, np.tile([-e, e], (len(y), 1)), coverage=0.9) for e in ends]
    assert ends[np.argmin(score)] == pytest.approx(norm.ppf(0.95), abs=0.02)


def test_unbounded_intervals_cover_and_are_infinitely_wide():
    everything = [[-np.inf, np.inf]]
    assert metrics.interval_coverage([3.0], everything) == 1.0
    assert metrics.interval_width(everything) == np.inf
    assert metrics.interval_score([3.0], everything) == np.inf


def test_rows_of_infinite_regret_rank_last():
    negative_regret = [-0.1, -0.2, -0.3]
    unseen = [-np.inf, -np.inf]
    assert metrics.fpr_at_tpr(negative_regret, unseen) == 0.0
    assert metrics.detection_accuracy(negative_regret, unseen) == 1.0
    assert metrics.oscr_area(negative_regret, [True, True, True], unseen) == 1.0
    assert metrics.ccr_at_fpr(negative_regret, [True, True, True], unseen, fpr=0.0) == 1.0
    assert metrics.risk_coverage_curve([0.0, 1.0], [-0.1, -np.inf]).risk.tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: metrics.tnr_at_tpr([], [1.0]), r"scores_in has shape \(0,\)"),
        (lambda: metrics.tnr_at_tpr([1.0], [[1.0]]), r"scores_out has shape \(1, 1\)"),
        (lambda: metrics.fpr_at_tpr([1.0, np.nan], [1.0]), "scores_in holds 1 NaN"),
        (lambda: metrics.fpr_at_tpr([1.0], [1.0], tpr=0.0), r"tpr is 0.0.*\(0, 1\]"),
        (lambda: metrics.fpr_at_tpr([1.0], [1.0], tpr=1.5), "tpr is 1.5"),
        (lambda: metrics.fpr_at_tpr([1.0], [1.0], tpr=np.nan), "tpr is nan"),
        (lambda: metrics.oscr_area([1.0, 2.0], [True], [0.0]), "2 rows but correct_known has 1"),
        (lambda: metrics.oscr_area([1.0], [2], [0.0]), "other than True and False"),
        (lambda: metrics.ccr_at_fpr([1.0], [1], [0.0], fpr=[0.1, 1.2]), r"fpr is \[0.1 1.2\]"),
        (lambda: metrics.aurc([1.0, np.inf], [1.0, 2.0]), "loss holds 1 infinite"),
        (lambda: metrics.aurc([1.0, 1.0], [1.0]), "loss has 2 rows but confidence has 1"),
        (lambda: metrics.interval_coverage([1.0], [1.0, 2.0]), r"shape \(2,\), not \(n, 2\)"),
        (lambda: metrics.interval_coverage([1.0], [[2.0, 1.0]]), "interval 0 runs from 2.0 to 1.0"),
        (lambda: metrics.interval_width([[0.0, 1.0], [np.nan, 1.0]]), "interval 1 runs from nan"),
        (
            lambda: metrics.interval_score([1.0, 2.0], [[0.0, 3.0]]),
            "y has 2 rows but interval has 1",
        ),
        (lambda: metrics.interval_score([1.0], [[0.0, 3.0]], coverage=1.0), "coverage is 1.0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says):
    with pytest.raises(InputError, match=says) as caught:
        call()
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "\n" not in sentence
