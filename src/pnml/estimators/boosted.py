"""Boosted trees for tables, registered under the names that the command line knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pnml.errors import InputError, how_to_install
from pnml.estimators.registry import Task, register
from pnml.estimators.trusted_classifier import TrustedClassifier
from pnml.estimators.trusted_regressor import TrustedRegressor

MOST_BOOSTED_ROWS = 250_000
# Gradient boosting of scikit-learn splits by category up to this many words.
_MOST_CATEGORIES = 255

_MODELS = {
    "boosting": ("sklearn.ensemble", "HistGradientBoosting{}"),
    "lightgbm": ("lightgbm", "LGBM{}"),
    "xgboost": ("xgboost", "XGB{}"),
    "catboost": ("catboost", "CatBoost{}"),
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "boosting": {},
    "lightgbm": {"verbosity": -1},
    "xgboost": {},
    "catboost": {"verbose": False, "allow_writing_files": False},
}


def boosted(name: str, task: Task, words: Sequence[tuple[int, int]] = ()) -> Any:
    """An unfitted TrustedRegressor or TrustedClassifier around the boosted model `name`.

    `name` is "boosting" (scikit-learn's), "lightgbm", "xgboost" or "catboost". Words in the rows
    are replaced by whole numbers; `words` has a pair for each column of these: its position, and
    how many different words it has.
    """
    library, model = _MODELS[name]
    if find_spec(library) is None:
        raise InputError(
            f"--learner {name} needs {library}, which is not installed; "
            f"{how_to_install(library)}, or take --learner boosting."
        )
    kind = "Regressor" if task == "regression" else "Classifier"
    options = _OPTIONS[name] | {"random_state": 0}
    if name == "boosting":
        options["categorical_features"] = [
            place for place, count in words if count < _MOST_CATEGORIES
        ] or None
    inside = getattr(import_module(library), model.format(kind))(**options)
    wrapper = TrustedRegressor if task == "regression" else TrustedClassifier
    return wrapper(inside, random_state=0)


_ABOUT = {
    "boosting": "gradient boosting of scikit-learn, by its leaves",
    "lightgbm": "LightGBM, by its leaves",
    "xgboost": "XGBoost, by its leaves",
    "catboost": "CatBoost, by its leaves",
}
_TASKS: dict[str, Task] = {"": "regression", "-classifier": "classification"}
for _place, (_name, _about) in enumerate(_ABOUT.items()):
    for _suffix, _task in _TASKS.items():
        if (_name, _task) == ("xgboost", "classification"):
            continue  # XGBoost takes no words as labels
        _make: Any = partial(boosted, _name, _task)
        register(
            _name + _suffix,
            _make,
            task=_task,
            about=_about,
            rows=MOST_BOOSTED_ROWS,
            weighs=True,
            place=20 + _place,
            make_coded=_make,
            of_class=TrustedRegressor if _task == "regression" else TrustedClassifier,
        )
