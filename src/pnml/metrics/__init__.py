"""Metrics that scikit-learn lacks: detection, open sets, selective answers, intervals, calibration.

A score is high where a row is believed to be in-distribution (known): pass the *negative* regret.
Scores may be infinite, as the regret of a row outside the training span is; they may not be NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnml.lazy_names import found_on_first_use as _found_on_first_use
from pnml.metrics.bootstrap import Estimate
from pnml.metrics.calibration import (
    Calibration,
    ReliabilityCurve,
    calibration,
    expected_calibration_error,
    reliability_curve,
)
from pnml.metrics.detection import (
    DetectionMetrics,
    detection_accuracy,
    detection_metrics,
    fpr_at_tpr,
    tnr_at_tpr,
)
from pnml.metrics.open_set import (
    OpenSetMetrics,
    OSCRCurve,
    ccr_at_fpr,
    open_set_metrics,
    oscr_area,
    oscr_curve,
)
from pnml.metrics.prediction_intervals import interval_coverage, interval_score, interval_width
from pnml.metrics.risk_coverage import RiskCoverageCurve, aurc, risk_coverage_curve

if TYPE_CHECKING:
    from pnml.metrics.scorers import Scorer, aurc_scorer, interval_scorer, log_loss_scorer

# Scorers need scikit-learn; the other metrics do not.
_HOMES = dict.fromkeys(
    ("Scorer", "aurc_scorer", "interval_scorer", "log_loss_scorer"), "pnml.metrics.scorers"
)
__getattr__, __dir__ = _found_on_first_use(globals(), _HOMES)

__all__ = [
    "Calibration",
    "DetectionMetrics",
    "Estimate",
    "OSCRCurve",
    "OpenSetMetrics",
    "ReliabilityCurve",
    "RiskCoverageCurve",
    "Scorer",
    "aurc",
    "aurc_scorer",
    "calibration",
    "ccr_at_fpr",
    "detection_accuracy",
    "detection_metrics",
    "expected_calibration_error",
    "fpr_at_tpr",
    "interval_coverage",
    "interval_score",
    "interval_scorer",
    "interval_width",
    "log_loss_scorer",
    "open_set_metrics",
    "oscr_area",
    "oscr_curve",
    "reliability_curve",
    "risk_coverage_curve",
    "tnr_at_tpr",
]
