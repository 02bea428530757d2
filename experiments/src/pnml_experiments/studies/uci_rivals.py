"""All learners of the UCI benchmark by name; those of other packages where they are installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeCV

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.estimators.difficulty import RegretDifficulty
from pnml.estimators.regressor import PNMLRegressor
from pnml_experiments.studies.uci_learners import (
    COVERAGE,
    Learner,
    Told,
    bayes,
    bayesian_ridge,
    fourier_pnml,
    gaussian_process,
    kernel_pnml,
    least_squares,
    luckiness,
    pnml,
    ridge,
)
from pnml_experiments.studies.uci_networks import network_pnml

_PENALTIES = np.geomspace(1e-4, 1e5, 46)
_HELD, _FEWEST = 1 / 3, 10  # of the rows, for calibration: a share, and what 90 % takes
_FOLDS = 10
_STEP, _TREES, _PATIENCE = 0.1, 150, 10  # of boosting; the last: trees without a better log-loss


@dataclass(frozen=True)
class Entry:
    """A learner, the package that it needs, and the rows that it is given at most."""

    tell: Learner
    package: str = "sklearn"
    most: int | None = None

    @property
    def installed(self) -> bool:
        """Whether its package can be imported."""
        return find_spec(self.package) is not None

    def told(self, X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
        """What it says of new rows, from as many rows as it can take."""
        return self.tell(X[: self.most], y[: self.most], new)


def _parts(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Rows to fit and rows to calibrate with, and their labels."""
    held = max(int(np.ceil(_HELD * len(X))), _FEWEST)
    return X[held:], y[held:], X[:held], y[:held]


def mapie_split(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """MAPIE's split conformal intervals around ridge regression."""
    from mapie.regression import SplitConformalRegressor  # type: ignore[import-untyped]

    fit, labels, held, truth = _parts(X, y)
    model = SplitConformalRegressor(RidgeCV(_PENALTIES), confidence_level=COVERAGE, prefit=False)
    mean, ends = model.fit(fit, labels).conformalize(held, truth).predict_interval(new)
    return Told(mean, ends[:, :, 0])


def mapie_cross(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """MAPIE's CV+ intervals around ridge regression; no row is held back."""
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(
        RidgeCV(_PENALTIES), confidence_level=COVERAGE, method="plus", cv=_FOLDS, random_state=0
    )
    mean, ends = model.fit_conformalize(X, y).predict_interval(new)
    return Told(mean, ends[:, :, 0])


def crepes_split(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """crepes' split conformal intervals around ridge regression."""
    from crepes import WrapRegressor  # type: ignore[import-untyped]

    fit, labels, held, truth = _parts(X, y)
    model = WrapRegressor(RidgeCV(_PENALTIES))
    model.fit(fit, labels)
    model.calibrate(held, truth)
    return Told(model.predict(new), model.predict_int(new, confidence=COVERAGE))


def crepes_regret(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Intervals of crepes around ridge pNML, whose regret says how wide each should be."""
    from crepes import WrapRegressor

    fit, labels, held, truth = _parts(X, y)
    learner = PNMLRegressor(alpha="loo").fit(fit, labels)
    difficulty = RegretDifficulty(FrozenEstimator(learner)).fit(fit, labels)
    model = WrapRegressor(learner)
    model.calibrate(held, truth, de=difficulty)
    return Told(learner.predict(new), model.predict_int(new, confidence=COVERAGE))


def boosted(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """NGBoost with normal labels: as many trees as served held-back rows, grown on all rows."""
    from ngboost import NGBRegressor  # type: ignore[import-untyped]
    from ngboost.learners import default_tree_learner  # type: ignore[import-untyped]

    fit, labels, held, truth = _parts(X, y)
    # its own seed does not reach its trees, whose ties would be broken anew in each run
    tree = clone(default_tree_learner).set_params(random_state=0)
    model = partial(NGBRegressor, Base=tree, learning_rate=_STEP, verbose=False, random_state=0)
    stop = {"X_val": held, "Y_val": truth, "early_stopping_rounds": _PATIENCE}
    trees = model(n_estimators=_TREES).fit(fit, labels, **stop).best_val_loss_itr + 1
    told = model(n_estimators=trees).fit(X, y).pred_dist(new).params
    return Told.of(Normal(told["loc"], told["scale"], np.zeros(len(new))))


PNML, LUCKINESS, BAYESIAN_RIDGE = "pNML", "LpNML", "BayesianRidge"
KERNEL, FOURIER, NETWORK = "kernel pNML", "pNML, Fourier features", "pNML, network features"
OURS = (PNML, LUCKINESS, KERNEL, FOURIER, NETWORK)
LEARNERS: Mapping[str, Entry] = {
    PNML: Entry(pnml),
    LUCKINESS: Entry(luckiness),
    KERNEL: Entry(kernel_pnml, most=1_000),
    FOURIER: Entry(fourier_pnml),
    NETWORK: Entry(network_pnml, most=1_000),
    "OLS": Entry(least_squares),
    "ridge": Entry(ridge),
    "Bayes": Entry(bayes),
    BAYESIAN_RIDGE: Entry(bayesian_ridge),
    "GPR": Entry(gaussian_process, most=1_000),
    "MAPIE split": Entry(mapie_split, "mapie"),
    "MAPIE CV+": Entry(mapie_cross, "mapie", most=2_000),
    "crepes split": Entry(crepes_split, "crepes"),
    "crepes, regret": Entry(crepes_regret, "crepes"),
    "NGBoost": Entry(boosted, "ngboost", most=1_000),
}
# Those whose fit takes milliseconds, so that many sizes can be looked at.
QUICK = (PNML, LUCKINESS, "OLS", "ridge", "Bayes", BAYESIAN_RIDGE)
