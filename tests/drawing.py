"""Models to draw, and what is read back from a picture."""

from __future__ import annotations

import io

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pnml import (
    ConformalRegressor,
    KernelPNMLRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLRegressor,
    UniversalRegressor,
)
from pnml.plots import RegretDisplay, RiskCoverageDisplay, SpectrumDisplay

DISPLAYS = [RegretDisplay, RiskCoverageDisplay, SpectrumDisplay]
ESTIMATORS = {
    "ordinary": PNMLRegressor(),
    "ridge": PNMLRegressor(alpha="loo"),
    "luckiness": LpNMLRegressor(),
    "lasso": LpNMLRegressor(penalty="l1", alpha=2.0),
    "ball": NormBallRegressor(radius=0.5, fit_intercept=True),
    "kernel": KernelPNMLRegressor(),
    "universal": UniversalRegressor(),
    "conformal": ConformalRegressor(random_state=0),
}


def curve(line):
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    buffer.seek(0)
    return plt.imread(buffer)


class Threshold(ClassifierMixin, BaseEstimator):
    """A classifier with a regret, as small as can be."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 0, "up", "down")

    def regret(self, X):
        return 1 / np.abs(X[:, 0])
