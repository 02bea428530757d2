"""A program as users write it: strict type checkers accept it and know what comes back."""

from __future__ import annotations

import numpy as np

import pnml
from pnml import LpNMLRegressor, PNMLClassifier, PNMLRegressor, TrustedClassifier, TrustedRegressor


def main() -> None:
    """Fit, ask, save and load."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    model = PNMLRegressor(alpha="loo", noise_variance=0.1).fit(X, y)
    width = model.predict_interval(X, coverage=0.8)[:, 1] - model.predict(X)
    mean, std = model.predict(X, return_std=True)
    alarms: int = int((~model.trusted(X)).sum()) + int((model.regret(X) > 1.0).sum())
    sparse = LpNMLRegressor(penalty="l1", alpha=0.5).fit(X.tolist(), y.tolist())
    classes = PNMLClassifier(method="analytic").fit(X, y > 0)
    likely = classes.predict_proba(X).max(axis=1) - classes.predict_dist(X).regret
    own = TrustedRegressor(cv=2, random_state=0).fit(X, y)
    risk: float = float(own.expected_error(X).mean() + width.mean() + (mean / std).mean())
    sets = pnml.ConformalClassifier(classes, random_state=0).fit(X, y > 0).predict_set(X)
    wrong = TrustedClassifier(cv=2, random_state=0).fit(X, y > 0).expected_error(X)
    pnml.save(sparse, "model.pnml")
    again = pnml.load("model.pnml", kind=LpNMLRegressor)
    outcome = sets.sum(axis=1), likely, wrong, again.predict_dist(X).interval(0.9)
    assert alarms + risk > 0
    assert len(outcome) == 4


if __name__ == "__main__":
    main()
