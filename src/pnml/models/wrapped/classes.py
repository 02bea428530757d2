"""The classes of other libraries whose models a file can hold, and their names in the file."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from pnml.errors import InputError, how_to_install, shorten
from pnml.models.refusals import UnmetNeedError

# Public module → its classes. A file names a class as "module.Class"; no other name is looked up.
_CLASSES: dict[str, tuple[str, ...]] = {
    "sklearn.dummy": ("DummyClassifier", "DummyRegressor"),
    "sklearn.ensemble": (
        "AdaBoostClassifier",
        "AdaBoostRegressor",
        "BaggingClassifier",
        "BaggingRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    "sklearn.linear_model": (
        "ARDRegression",
        "BayesianRidge",
        "ElasticNet",
        "ElasticNetCV",
        "GammaRegressor",
        "HuberRegressor",
        "Lars",
        "LarsCV",
        "Lasso",
        "LassoCV",
        "LassoLars",
        "LassoLarsCV",
        "LassoLarsIC",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "OrthogonalMatchingPursuit",
        "OrthogonalMatchingPursuitCV",
        "Perceptron",
        "PoissonRegressor",
        "QuantileRegressor",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "SGDClassifier",
        "SGDRegressor",
        "TheilSenRegressor",
        "TweedieRegressor",
    ),
    "sklearn.svm": ("LinearSVC", "LinearSVR"),
    "sklearn.tree": (
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
    ),
    "lightgbm": ("LGBMClassifier", "LGBMRegressor", "Booster"),
    "xgboost": ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor", "Booster"),
    "catboost": ("CatBoostClassifier", "CatBoostRegressor"),
}
# Libraries that pnml installs as an extra of the same name.
_EXTRAS = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}


def name_of(cls: type) -> str | None:
    """The name of a class in a file, or None if files hold no objects of this class.

    >>> from sklearn.linear_model import Ridge
    >>> name_of(Ridge), name_of(dict)
    ('sklearn.linear_model.Ridge', None)
    """
    package = cls.__module__.partition(".")[0]
    for module, names in _CLASSES.items():
        if module.partition(".")[0] != package or cls.__name__ not in names:
            continue
        if getattr(sys.modules.get(module), cls.__name__, None) is cls:
            return f"{module}.{cls.__name__}"
    return None


def class_named(name: Any) -> type:
    """The class with this name in a file; imports its library, and raises for an unknown name."""
    module, _, short = name.rpartition(".") if type(name) is str else ("", "", "")
    if short not in _CLASSES.get(module, ()):
        raise InputError(f"it names the class {shorten(repr(name))}, which is not known here")
    cls: type | None = getattr(library(module), short, None)
    if cls is None:
        raise InputError(f"the {module} installed here has no {short}")
    return cls


def library(module: str) -> Any:
    """The imported module of this name; if it is missing, the error names what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module or module not in _EXTRAS:
            raise
        raise UnmetNeedError(
            f"it holds a model of {_EXTRAS[module]}, which is not installed; "
            f"{how_to_install(module)} and load it again."
        ) from error


def version_of(package: str) -> str:
    """The installed version of a package, as files store it; "unknown" if the package has none."""
    return str(getattr(library(package), "__version__", "unknown"))
