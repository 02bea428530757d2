"""Metrics of detection, open sets, calibration, intervals and selective prediction."""

from __future__ import annotations

import numpy as np

from pnml import metrics

FPR = (0.1, 0.5, 1.0)


def probe(record):
    rng = np.random.default_rng(0)
    for name, digits in {"plain": 9, "ties": 0}.items():
        s_in = np.round(1 + rng.normal(size=60), digits)
        s_out = np.round(rng.normal(size=40), digits)
        right = rng.random(60) < 0.8
        detection(record, f"metrics/{name}", s_in, s_out)
        open_sets(record, f"metrics/{name}", s_in, right, s_out)
        for call in (metrics.risk_coverage_curve, metrics.aurc):
            rows = np.abs(s_in), right * 1.0
            record.case(f"metrics/{name}/{call.__name__}", lambda c=call, r=rows: c(*r))
    forecasts(record, rng)
    intervals(record, rng)


def detection(record, key, s_in, s_out):
    for call in (metrics.detection_accuracy, metrics.fpr_at_tpr, metrics.tnr_at_tpr):
        record.case(f"{key}/{call.__name__}", lambda c=call: c(s_in, s_out))
    record.case(f"{key}/fpr at 0.8", lambda: metrics.fpr_at_tpr(s_in, s_out, tpr=0.8))
    record.case(f"{key}/tnr at 0.8", lambda: metrics.tnr_at_tpr(s_in, s_out, tpr=0.8))
    found = record.case(f"{key}/detection_metrics", lambda: metrics.detection_metrics(s_in, s_out))
    parts = ("auroc", "aupr_in", "aupr_out", "fpr95", "tnr95", "detection_accuracy")
    record.members(f"{key}/detection parts", found, parts)
    few = {"confidence": 0.8, "resamples": 20, "seed": 3}
    record.case(f"{key}/few", lambda: metrics.detection_metrics(s_in, s_out, **few))
    made = metrics.DetectionMetrics(*[metrics.Estimate(0.5, 0.4, 0.6)] * 6)
    record.value(f"{key}/made", made)


def open_sets(record, key, known, right, unknown):
    record.case(f"{key}/oscr_area", lambda: metrics.oscr_area(known, right, unknown))
    curve = record.case(f"{key}/oscr_curve", lambda: metrics.oscr_curve(known, right, unknown))
    record.members(f"{key}/oscr parts", curve, ("fpr", "ccr", "thresholds"))
    record.case(f"{key}/ccr_at_fpr", lambda: metrics.ccr_at_fpr(known, right, unknown, fpr=FPR))
    found = record.case(
        f"{key}/open_set_metrics",
        lambda: metrics.open_set_metrics(known, right, unknown, fpr=FPR, resamples=30),
    )
    record.members(f"{key}/open set parts", found, ("area", "fpr", "ccr", "curve"))
    record.value(f"{key}/OpenSetMetrics", metrics.OpenSetMetrics(found.area, FPR, (), curve))
    record.value(f"{key}/OSCRCurve", metrics.OSCRCurve(*curve))


def forecasts(record, rng):
    probs = rng.dirichlet(np.ones(3), size=80)
    labels = np.array([rng.choice(3, p=p) for p in probs])
    for binning in ("mass", "width"):
        said = {"bins": 7, "binning": binning}
        for call in (
            metrics.calibration,
            metrics.expected_calibration_error,
            metrics.reliability_curve,
        ):
            key = f"metrics/{binning}/{call.__name__}"
            record.case(key, lambda c=call, s=said: c(probs, labels, **s))
    found = metrics.calibration(probs, labels)
    record.members("metrics/calibration", found, ("nll", "brier", "ece", "bins", "accuracy"))
    record.value("metrics/Calibration", metrics.Calibration(1.0, 0.5, 0.1, 15, 0.9))
    curve = metrics.ReliabilityCurve(*metrics.reliability_curve(probs, labels))
    record.members("metrics/reliability", curve, ("confidence", "accuracy", "rows", "error"))
    risk = metrics.RiskCoverageCurve(*metrics.risk_coverage_curve(labels, probs[:, 0]))
    record.members("metrics/risk", risk, ("coverage", "risk", "thresholds"))


def intervals(record, rng):
    y = rng.normal(size=30)
    low = y - rng.exponential(size=30) + 0.2
    interval = np.column_stack([low, low + rng.exponential(size=30)])
    interval[3] = -np.inf, np.inf
    record.case("metrics/interval_coverage", lambda: metrics.interval_coverage(y, interval))
    record.case("metrics/interval_width", lambda: metrics.interval_width(interval))
    for coverage in (0.5, 0.9):
        record.case(
            f"metrics/interval_score@{coverage}",
            lambda c=coverage: metrics.interval_score(y, interval, coverage=c),
        )
