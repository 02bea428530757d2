"""How much to trust this one prediction: predictive normalized maximum likelihood."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pnml.core.errors import ConditionWarning, InputError

if TYPE_CHECKING:
    from pnml.estimators.classifier import PNMLClassifier
    from pnml.estimators.conformal import ConformalRegressor
    from pnml.estimators.difficulty import RegretDifficulty
    from pnml.estimators.kernel import KernelPNMLRegressor
    from pnml.estimators.luckiness import LpNMLRegressor
    from pnml.estimators.norm_ball import NormBallRegressor
    from pnml.estimators.regressor import PNMLRegressor
    from pnml.estimators.tree_classifier import PNMLTreeClassifier
    from pnml.estimators.tree_regressor import PNMLTreeRegressor
    from pnml.estimators.universal import UniversalRegressor
    from pnml.estimators.universal_classifier import UniversalClassifier
    from pnml.io.model_file import load, save
    from pnml.io.onnx.export import export_onnx

# Loaded on first use: scikit-learn takes over a second to import, and loads pandas.
_HOMES = {
    "ConformalRegressor": "pnml.estimators.conformal",
    "KernelPNMLRegressor": "pnml.estimators.kernel",
    "LpNMLRegressor": "pnml.estimators.luckiness",
    "NormBallRegressor": "pnml.estimators.norm_ball",
    "PNMLClassifier": "pnml.estimators.classifier",
    "PNMLRegressor": "pnml.estimators.regressor",
    "PNMLTreeClassifier": "pnml.estimators.tree_classifier",
    "PNMLTreeRegressor": "pnml.estimators.tree_regressor",
    "RegretDifficulty": "pnml.estimators.difficulty",
    "UniversalClassifier": "pnml.estimators.universal_classifier",
    "UniversalRegressor": "pnml.estimators.universal",
    "export_onnx": "pnml.io.onnx.export",
    "load": "pnml.io.model_file",
    "save": "pnml.io.model_file",
}

__all__ = [
    "ConditionWarning",
    "ConformalRegressor",
    "InputError",
    "KernelPNMLRegressor",
    "LpNMLRegressor",
    "NormBallRegressor",
    "PNMLClassifier",
    "PNMLRegressor",
    "PNMLTreeClassifier",
    "PNMLTreeRegressor",
    "RegretDifficulty",
    "UniversalClassifier",
    "UniversalRegressor",
    "export_onnx",
    "load",
    "save",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return import_module("pnml.metrics")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
