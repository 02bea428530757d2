"""Out-of-distribution detection: the regret as a score, other detectors, and tables of all.

A detector's ``predict`` is high for outliers, as in pytorch-ood; its ``score_samples`` and
``decision_function`` are high for ordinary rows, as in scikit-learn.
"""

from pnml.ood.baseline_with_pnml import GramRegretDetector, with_pnml
from pnml.ood.cosine_detector import CosineSimilarity
from pnml.ood.detector import Detector
from pnml.ood.gram_detector import Gram
from pnml.ood.logit_detectors import MSP, Energy, MaxLogit
from pnml.ood.odin import ODIN
from pnml.ood.ood_evaluation import OODRow, OODTable, evaluate_ood
from pnml.ood.open_set_evaluation import OpenSetRow, OpenSetTable, evaluate_open_set
from pnml.ood.regret_detector import RegretDetector

__all__ = [
    "MSP",
    "ODIN",
    "CosineSimilarity",
    "Detector",
    "Energy",
    "Gram",
    "GramRegretDetector",
    "MaxLogit",
    "OODRow",
    "OODTable",
    "OpenSetRow",
    "OpenSetTable",
    "RegretDetector",
    "evaluate_ood",
    "evaluate_open_set",
    "with_pnml",
]
