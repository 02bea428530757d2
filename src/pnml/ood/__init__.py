"""Out-of-distribution detection: the regret as a score, other detectors, and tables of all.

A detector's ``predict`` is high for outliers, as in pytorch-ood; its ``score_samples`` and
``decision_function`` are high for ordinary rows, as in scikit-learn.
"""

from pnml.ood.baseline_with_pnml import GramRegretDetector, with_pnml
from pnml.ood.cosine_detector import CosineSimilarity
from pnml.ood.detector import Detector
from pnml.ood.detector_suite import fit_detectors, fit_detectors_to_features
from pnml.ood.entropy_detector import GEN
from pnml.ood.feature_detector import FeatureDetector
from pnml.ood.gram_detector import Gram
from pnml.ood.head_geometry_detectors import FDBD, NCI
from pnml.ood.logit_detectors import MSP, Energy, MaxLogit
from pnml.ood.mahalanobis_detectors import RMD, Mahalanobis
from pnml.ood.neighbour_detector import KNN
from pnml.ood.odin import ODIN
from pnml.ood.ood_evaluation import evaluate_ood
from pnml.ood.ood_means import OODMean, OODMeans
from pnml.ood.ood_table import OODRow, OODTable
from pnml.ood.open_set_evaluation import OpenSetRow, OpenSetTable, evaluate_open_set
from pnml.ood.regret_detector import RegretDetector
from pnml.ood.virtual_logit_detector import ViM

__all__ = [
    "FDBD",
    "GEN",
    "KNN",
    "MSP",
    "NCI",
    "ODIN",
    "RMD",
    "CosineSimilarity",
    "Detector",
    "Energy",
    "FeatureDetector",
    "Gram",
    "GramRegretDetector",
    "Mahalanobis",
    "MaxLogit",
    "OODMean",
    "OODMeans",
    "OODRow",
    "OODTable",
    "OpenSetRow",
    "OpenSetTable",
    "RegretDetector",
    "ViM",
    "evaluate_ood",
    "evaluate_open_set",
    "fit_detectors",
    "fit_detectors_to_features",
    "with_pnml",
]
