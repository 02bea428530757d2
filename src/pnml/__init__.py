"""How much to trust this one prediction: predictive normalized maximum likelihood."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pnml.errors import ConditionWarning, InputError
from pnml.lazy_names import found_on_first_use
from pnml.version import __version__ as __version__

if TYPE_CHECKING:
    from pnml.estimators.classifier import PNMLClassifier
    from pnml.estimators.conformal import ConformalRegressor
    from pnml.estimators.conformal_classifier import ConformalClassifier
    from pnml.estimators.difficulty import RegretDifficulty
    from pnml.estimators.kernel import KernelPNMLRegressor
    from pnml.estimators.luckiness import LpNMLRegressor
    from pnml.estimators.norm_ball import NormBallRegressor
    from pnml.estimators.pipeline import Pipeline, make_pipeline
    from pnml.estimators.regressor import PNMLRegressor
    from pnml.estimators.transformed_target import TransformedTargetRegressor
    from pnml.estimators.tree_classifier import PNMLTreeClassifier
    from pnml.estimators.tree_regressor import PNMLTreeRegressor
    from pnml.estimators.trusted_classifier import TrustedClassifier
    from pnml.estimators.trusted_regressor import TrustedRegressor
    from pnml.estimators.universal import UniversalRegressor
    from pnml.estimators.universal_classifier import UniversalClassifier
    from pnml.job.fit_table import fit_table
    from pnml.job.model_files import export_onnx, load, save
    from pnml.job.table_model import TableModel

# Loaded on first use: scikit-learn takes over a second to import, and loads pandas.
_HOMES = {
    "ConformalClassifier": "pnml.estimators.conformal_classifier",
    "ConformalRegressor": "pnml.estimators.conformal",
    "KernelPNMLRegressor": "pnml.estimators.kernel",
    "LpNMLRegressor": "pnml.estimators.luckiness",
    "NormBallRegressor": "pnml.estimators.norm_ball",
    "PNMLClassifier": "pnml.estimators.classifier",
    "PNMLRegressor": "pnml.estimators.regressor",
    "PNMLTreeClassifier": "pnml.estimators.tree_classifier",
    "PNMLTreeRegressor": "pnml.estimators.tree_regressor",
    "Pipeline": "pnml.estimators.pipeline",
    "RegretDifficulty": "pnml.estimators.difficulty",
    "TransformedTargetRegressor": "pnml.estimators.transformed_target",
    "UniversalClassifier": "pnml.estimators.universal_classifier",
    "TrustedClassifier": "pnml.estimators.trusted_classifier",
    "TrustedRegressor": "pnml.estimators.trusted_regressor",
    "UniversalRegressor": "pnml.estimators.universal",
    "export_onnx": "pnml.job.model_files",
    "TableModel": "pnml.job.table_model",
    "fit_table": "pnml.job.fit_table",
    "load": "pnml.job.model_files",
    "make_pipeline": "pnml.estimators.pipeline",
    "save": "pnml.job.model_files",
}

__all__ = [
    "ConditionWarning",
    "ConformalClassifier",
    "ConformalRegressor",
    "InputError",
    "KernelPNMLRegressor",
    "LpNMLRegressor",
    "NormBallRegressor",
    "PNMLClassifier",
    "PNMLRegressor",
    "PNMLTreeClassifier",
    "PNMLTreeRegressor",
    "Pipeline",
    "RegretDifficulty",
    "TableModel",
    "TransformedTargetRegressor",
    "TrustedClassifier",
    "TrustedRegressor",
    "UniversalClassifier",
    "UniversalRegressor",
    "export_onnx",
    "fit_table",
    "load",
    "make_pipeline",
    "save",
]

_find, __dir__ = found_on_first_use(globals(), _HOMES)


def __getattr__(name: str) -> Any:
    return import_module("pnml.metrics") if name == "metrics" else _find(name)
