"""Metrics against their definitions, by loops over every threshold, and against bad input."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import norm
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

from pnml import metrics
from pnml.errors import InputError
from sentences import assert_refused


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


def test_detection_metrics_are_those_of_scikit_learn_and_of_the_single_functions(scores):
    s_in, s_out = scores
    found = metrics.detection_metrics(s_in, s_out, resamples=20)
    label, both = np.r_[np.ones(len(s_in)), np.zeros(len(s_out))], np.r_[s_in, s_out]
    assert found.auroc.value == pytest.approx(roc_auc_score(label, both))
    assert found.aupr_in.value == pytest.approx(average_precision_score(label, both))
    assert found.aupr_out.value == pytest.approx(average_precision_score(1 - label, -both))
    assert found.fpr95.value == metrics.fpr_at_tpr(s_in, s_out)
    assert found.tnr95.value == metrics.tnr_at_tpr(s_in, s_out)
    assert found.detection_accuracy.value == metrics.detection_accuracy(s_in, s_out)


def test_the_variance_of_auroc_is_delongs(scores):
    s_in, s_out = scores
    wins = (s_in[:, None] > s_out) + 0.5 * (s_in[:, None] == s_out)
    area = wins.mean()
    variance = wins.mean(axis=1).var(ddof=1) / len(s_in) + wins.mean(axis=0).var(ddof=1) / len(
        s_out
    )
    low, high = logit(metrics.detection_metrics(s_in, s_out, confidence=0.9, resamples=2).auroc[1:])
    half = norm.ppf(0.95) * np.sqrt(variance) / (area * (1 - area))
    assert (low, high) == pytest.approx((logit(area) - half, logit(area) + half))


def test_intervals_are_percentiles_of_metrics_of_rows_drawn_again(scores):
    s_in, s_out = scores
    found = metrics.detection_metrics(s_in, s_out, resamples=2000, seed=1)
    rng = np.random.default_rng(5)
    drawn = []
    for _ in range(300):
        a, b = rng.choice(s_in, len(s_in)), rng.choice(s_out, len(s_out))
        label = np.r_[np.ones(len(a)), np.zeros(len(b))]
        drawn.append(
            [
                average_precision_score(label, np.r_[a, b]),
                average_precision_score(1 - label, -np.r_[a, b]),
                metrics.tnr_at_tpr(a, b),
                metrics.detection_accuracy(a, b),
            ]
        )
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    ours = [found.aupr_in, found.aupr_out, found.tnr95, found.detection_accuracy]
    np.testing.assert_allclose([e.low for e in ours], low, atol=0.07)
    np.testing.assert_allclose([e.high for e in ours], high, atol=0.07)
    assert found.fpr95.low == pytest.approx(1 - found.tnr95.high)


def test_nine_intervals_in_ten_hold_the_true_value():
    rng = np.random.default_rng(0)
    true_area = norm.cdf(1.5 / np.sqrt(2))
    true_accuracy = norm.cdf(0.75)
    held = np.zeros(2)
    for _ in range(300):
        s_in, s_out = rng.normal(1.5, 1, 150), rng.normal(0, 1, 100)
        found = metrics.detection_metrics(s_in, s_out, confidence=0.9, resamples=60)
        held += (
            found.auroc.low <= true_area <= found.auroc.high,
            (found.detection_accuracy.low <= true_accuracy + 0.02 <= found.detection_accuracy.high),
        )
    assert held[0] / 300 == pytest.approx(0.9, abs=0.05)
    assert held[1] / 300 > 0.8


def test_draws_are_the_same_for_the_same_seed(scores):
    whole = metrics.detection_metrics(*scores, resamples=50, seed=3)
    assert metrics.detection_metrics(*scores, resamples=50, seed=3) == whole
    assert metrics.detection_metrics(*scores, resamples=50, seed=4) != whole


def test_scores_without_a_mistake_have_an_interval_without_width():
    found = metrics.detection_metrics([2.0, 3.0], [0.0, -np.inf], resamples=10)
    assert found.auroc == (1.0, 1.0, 1.0)
    assert found.fpr95 == (0.0, 0.0, 0.0)


@pytest.fixture
def forecasts(rng):
    p = rng.dirichlet([0.5, 1.0, 2.0], size=120)
    return p, np.array([rng.choice(3, p=row) for row in p])


def test_calibration_metrics_are_their_row_by_row_definitions(forecasts):
    p, y = forecasts
    found = metrics.calibration(p, y, bins=6)
    assert found.nll == pytest.approx(log_loss(y, p))
    squares = [
        sum((q - (c == t)) ** 2 for c, q in enumerate(row)) for row, t in zip(p, y, strict=True)
    ]
    assert found.brier == pytest.approx(np.mean(squares))
    assert found.accuracy == np.mean(p.argmax(axis=1) == y)
    order = np.argsort(p.max(axis=1))
    error = 0.0
    for part in np.split(order, 6):  # 20 rows each
        gap = np.mean(p.argmax(axis=1)[part] == y[part]) - p.max(axis=1)[part].mean()
        error += len(part) / 120 * abs(gap)
    assert found.ece == pytest.approx(error)
    assert metrics.expected_calibration_error(p, y, bins=6) == found.ece
    assert found.bins == 6


def test_bins_of_equal_width_hold_the_rows_between_their_ends(forecasts):
    p, y = forecasts
    curve = metrics.reliability_curve(p, y, bins=10, binning="width")
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    k = 0
    for i in range(10):
        inside = (confidence >= i / 10) & (confidence < (i + 1) / 10)
        if inside.any():
            assert curve.confidence[k] == pytest.approx(confidence[inside].mean())
            assert curve.accuracy[k] == pytest.approx(right[inside].mean())
            assert curve.rows[k] == inside.sum()
            k += 1
    assert k == len(curve.rows)


def test_rows_of_equal_confidence_share_a_bin_whatever_their_order(rng):
    p = np.repeat([[1.0, 0.0], [0.6, 0.4]], [70, 30], axis=0)
    y = rng.integers(2, size=100)
    curve = metrics.reliability_curve(p, y, bins=15)
    order = rng.permutation(100)
    shuffled = metrics.reliability_curve(p[order], y[order], bins=15)
    np.testing.assert_allclose(curve, shuffled, rtol=1e-12)
    assert curve.rows.tolist() == [30, 70]


def test_honest_forecasts_have_a_small_calibration_error(rng):
    p = rng.dirichlet(np.ones(3), size=50_000)
    y = (p.cumsum(axis=1) > rng.uniform(size=(50_000, 1))).argmax(axis=1)
    assert metrics.expected_calibration_error(p, y) < 0.01
    sharper = p**3 / np.sum(p**3, axis=1, keepdims=True)
    assert metrics.expected_calibration_error(sharper, y) > 0.1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: metrics.detection_metrics([1.0], [0.0], confidence=1.0), "confidence is 1.0"),
        (lambda: metrics.detection_metrics([1.0], [0.0], resamples=1), "resamples is 1"),
        (lambda: metrics.calibration([0.5, 0.5], [0]), r"probs has shape \(2,\)"),
        (lambda: metrics.calibration([[2.0, -1.0]], [0]), "row 0 of probs is no distribution"),
        (lambda: metrics.calibration([[0.5, 0.5]], [0, 1]), r"labels has shape \(2,\)"),
        (lambda: metrics.calibration([[0.5, 0.5]], [2]), "whole numbers from 0 to 1"),
        (lambda: metrics.calibration([[0.5, 0.5]], [0.0]), "whole numbers from 0 to 1"),
        (lambda: metrics.calibration([[0.5, 0.5]], [0], bins=0), "bins is 0"),
        (lambda: metrics.calibration([[0.5, 0.5]], [0], binning="rows"), "binning is 'rows'"),
    ],
)
def test_bad_forecasts_are_refused_in_one_sentence(call, says):
    assert ". " not in assert_refused(call, says)
