"""Fitted models of every kind that a model file can hold, by name."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from pnml import (
    ConformalRegressor,
    KernelPNMLRegressor,
    LpNMLRegressor,
    NormBallRegressor,
    PNMLClassifier,
    PNMLRegressor,
    PNMLTreeClassifier,
    PNMLTreeRegressor,
    RegretDifficulty,
    UniversalClassifier,
    UniversalRegressor,
)

EVERY_KERNEL = (
    RBF([1.0, 2.0, 3.0]) + ConstantKernel(2.0) * Matern(np.array([1.0, 2.0, 3.0]), nu=np.inf)
) ** 2 + ExpSineSquared() * (DotProduct() + RationalQuadratic()) * WhiteKernel(1e-3)

REGRESSORS = {
    "ordinary": PNMLRegressor(),
    "ordinary-no-intercept": PNMLRegressor(fit_intercept=False, noise_variance=0.5),
    "ridge": PNMLRegressor(alpha=np.float64(0.3)),
    "ridge-loo": PNMLRegressor(alpha="loo"),
    "luckiness": LpNMLRegressor(),
    "luckiness-fixed": LpNMLRegressor(alpha=0.5, noise_variance=0.4, fit_intercept=False),
    "lasso": LpNMLRegressor(penalty="l1"),
    "lasso-fixed": LpNMLRegressor(penalty="l1", alpha=0.7, fit_intercept=False),
    "norm-ball": NormBallRegressor(),
    "norm-ball-radius": NormBallRegressor(radius=0.4, fit_intercept=True),
    "kernel": KernelPNMLRegressor(),
    "kernel-poly": KernelPNMLRegressor(kernel=np.str_("poly"), degree=2, gamma=0.1),
    "kernel-linear": KernelPNMLRegressor(kernel="linear", fit_intercept=False, alpha=0.2),
    "kernel-composed": KernelPNMLRegressor(kernel=EVERY_KERNEL, alpha=0.1),
    "universal": UniversalRegressor(),
    "universal-list": UniversalRegressor(
        [("kernel", KernelPNMLRegressor(kernel=RBF(2.0))), ("ridge", PNMLRegressor(alpha=0.1))]
    ),
    "conformal": ConformalRegressor(random_state=0),
    "conformal-norm-ball": ConformalRegressor(NormBallRegressor(), random_state=np.int64(1)),
    "conformal-universal": ConformalRegressor(UniversalRegressor(), random_state=0),
    "jackknife": ConformalRegressor(PNMLRegressor(alpha=0.1), method="jackknife+"),
    "difficulty": RegretDifficulty(LpNMLRegressor()),
}
CLASSIFIERS = {
    "analytic": PNMLClassifier(),
    "analytic-no-penalty": PNMLClassifier(alpha=0.0),
    "analytic-unit-norm": PNMLClassifier(normalize=True),
    "analytic-balanced": PNMLClassifier(LogisticRegression(C=3.0, class_weight="balanced")),
    "refit": PNMLClassifier(method="refit"),
    "refit-no-intercept": PNMLClassifier(
        LogisticRegression(C=30.0, fit_intercept=False), method="refit", tol=1e-6
    ),
    "universal-classifier": UniversalClassifier(),
    "universal-classifier-list": UniversalClassifier(
        [("step", PNMLClassifier()), ("refit", PNMLClassifier(method="refit"))]
    ),
}
TREE_REGRESSORS = {
    "tree": PNMLTreeRegressor(),
    "tree-depth": PNMLTreeRegressor(DecisionTreeRegressor(max_depth=2), noise_variance=2.0),
    "extra-tree": PNMLTreeRegressor(ExtraTreeRegressor(min_samples_leaf=3, random_state=0)),
    "forest": PNMLTreeRegressor(RandomForestRegressor(5, random_state=0)),
    "extra-forest": PNMLTreeRegressor(ExtraTreesRegressor(5, min_samples_leaf=3, random_state=0)),
}
TREE_CLASSIFIERS = {
    "tree-classifier": PNMLTreeClassifier(),
    "tree-classifier-prior": PNMLTreeClassifier(DecisionTreeClassifier(max_depth=2), prior=0.5),
    "extra-tree-classifier": PNMLTreeClassifier(ExtraTreeClassifier(random_state=0)),
    "forest-classifier": PNMLTreeClassifier(RandomForestClassifier(5, random_state=0)),
    "extra-forest-classifier": PNMLTreeClassifier(
        ExtraTreesClassifier(5, random_state=np.int64(3))
    ),
}
LAST_LAYERS = {
    "last-layer": {},
    "last-layer-fixed": {"alpha": 0.01, "scale": 2.0},
    "last-layer-bias": {"scale": None, "bias_column": True, "normalize": False},
    "last-layer-multilabel": {"task": "multilabel"},
    "last-layer-regression": {"task": "regression"},
}
# Learner of `pnml fit` → whether it takes classes; with few rows, since some take their time.
LEARNERS = {
    "auto": False,
    "pnml": False,
    "lpnml": False,
    "ols": False,
    "lpnml-l1": False,
    "norm-ball": False,
    "kernel": False,
    "universal": False,
    "conformal": False,
    "logistic": True,
    "refit": True,
}
