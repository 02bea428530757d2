"""Pictures for notebooks: Displays as in scikit-learn, data in them, drawing in ``plot(ax)``."""

from pnml.plots.active_learning import ActiveLearningDisplay
from pnml.plots.confidence import ConfidenceDisplay
from pnml.plots.drift import DriftDisplay
from pnml.plots.explanation import ExplanationDisplay
from pnml.plots.intervals import PredictionIntervalDisplay
from pnml.plots.oscr import OSCRDisplay
from pnml.plots.regret import RegretDisplay
from pnml.plots.reliability import ReliabilityDisplay
from pnml.plots.risk_coverage import RiskCoverageDisplay
from pnml.plots.spectrum import SpectrumDisplay
from pnml.plots.styles import style

__all__ = [
    "ActiveLearningDisplay",
    "ConfidenceDisplay",
    "DriftDisplay",
    "ExplanationDisplay",
    "OSCRDisplay",
    "PredictionIntervalDisplay",
    "RegretDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SpectrumDisplay",
    "style",
]
