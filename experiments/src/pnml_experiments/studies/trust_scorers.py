"""What a trust score answers, and how a score is fitted: the parts that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pnml.core.arrays import FloatArray
from pnml.errors import InputError, how_to_install

COVERAGE, LEVEL = 0.9, 0.99
# Answers to new rows by name: score, rejected, interval, prediction, or several scores.
Answers = dict[str, npt.NDArray[Any]]
Answering = Callable[[FloatArray], Answers]
# Fits to training rows and labels; the result answers for new rows.
Fit = Callable[[FloatArray, FloatArray], Answering]


@dataclass(frozen=True)
class Scorer:
    """One method: how it is fitted, and the names of what it answers."""

    fit: Fit
    package: str = "sklearn"

    @property
    def installed(self) -> bool:
        """Whether its package can be imported."""
        return find_spec(self.package) is not None


def lightgbm(**settings: Any) -> Any:
    """LightGBM's regressor as it comes: silent, one thread."""
    return _lightgbm("LGBMRegressor", settings)


def lightgbm_classifier(**settings: Any) -> Any:
    """LightGBM's classifier as it comes: silent, one thread."""
    return _lightgbm("LGBMClassifier", settings)


def _lightgbm(name: str, settings: Mapping[str, Any]) -> Any:
    if find_spec("lightgbm") is None:
        raise InputError(
            "trust-tables scores the predictions of LightGBM, which is not installed: "
            f"{how_to_install('lightgbm')}."
        )
    import lightgbm as library

    return getattr(library, name)(verbose=-1, n_jobs=1, random_state=0, **settings)


def scaled(model: Any) -> Any:
    """The model behind columns of mean 0 and variance 1 over the training rows."""
    return make_pipeline(StandardScaler(), model)


def bootstraps(n: int, times: int) -> list[npt.NDArray[np.intp]]:
    """So many draws of n rows with replacement, the same in every call."""
    return [np.random.default_rng(k).integers(n, size=n) for k in range(times)]
