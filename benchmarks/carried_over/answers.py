"""Everything that a fitted estimator says of rows."""

from __future__ import annotations

import numpy as np

from benchmarks.carried_over.rows import LEVELS

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "regret",
    "relative_regret",
    "regret_bound",
    "explain",
    "apply",
)
FITTED = (
    "coef_",
    "intercept_",
    "alpha_",
    "noise_variance_",
    "radius_",
    "gamma_",
    "X_fit_",
    "classes_",
    "explain_names_",
    "n_features_in_",
    "feature_names_in_",
)
LEFT_OUT = (
    "residuals",
    "sds",
    "regrets",
    "log_losses",
    "log_loss",
    "standard_error",
    "leverages",
    "weights",
    "path",
)
DISTRIBUTION = ("mean", "mode", "std", "regret", "prob")


def there(thing, names):
    """Those names that a thing has; a property that raises counts as there."""
    return [name for name in names if hasattr(type(thing), name) or hasattr(thing, name)]


def record_model(record, key, model, X, y=None):
    """Predictions, regrets, verdicts, explanations and fitted attributes under one key."""
    for name in there(model, METHODS):
        record.case(f"{key}/{name}", lambda name=name: getattr(model, name)(X))
    if hasattr(model, "trusted"):
        for level in LEVELS:
            record.case(f"{key}/trusted@{level}", lambda level=level: model.trusted(X, level=level))
    if hasattr(model, "predict_interval"):
        record.case(f"{key}/return_std", lambda: model.predict(X, return_std=True))
        for coverage in (0.5, 0.9):
            record.case(
                f"{key}/predict_interval@{coverage}",
                lambda coverage=coverage: model.predict_interval(X, coverage=coverage),
            )
    if hasattr(model, "predict_dist"):
        record_distribution(record, f"{key}/predict_dist", model.predict_dist(X), len(X))
    if y is not None and hasattr(model, "score"):
        record.case(f"{key}/score", lambda: model.score(X, y))
    record_fitted(record, key, model)


def record_fitted(record, key, model):
    record.members(key, model, there(model, FITTED))
    if hasattr(model, "loo_"):
        loo = model.loo_
        record.members(f"{key}/loo_", loo, there(loo, LEFT_OUT))
        for level in LEVELS:
            record.case(f"{key}/loo_/threshold@{level}", lambda level=level: loo.threshold(level))
            if hasattr(loo, "leverage_threshold"):
                record.case(
                    f"{key}/loo_/leverage_threshold@{level}",
                    lambda level=level: loo.leverage_threshold(level),
                )
    if hasattr(model, "spectrum_"):
        spectrum = model.spectrum_
        record.members(f"{key}/spectrum_", spectrum, ("center", "scale", "h2", "y_mean", "weight"))
    record.case(f"{key}/repr", lambda: repr(model))


def record_distribution(record, key, dist, n):
    record.members(key, dist, there(dist, DISTRIBUTION))
    if not hasattr(dist, "cdf"):
        record.case(f"{key}/log_prob", lambda: dist.log_prob)
        return
    y = np.linspace(-3.0, 3.0, n)
    record.case(f"{key}/log_prob", lambda: dist.log_prob(y))
    record.case(f"{key}/cdf", lambda: dist.cdf(y))
    record.case(f"{key}/ppf", lambda: dist.ppf(np.linspace(0.05, 0.95, n)))
    record.case(f"{key}/interval", lambda: dist.interval(0.8))
    record.case(f"{key}/sample", lambda: dist.sample(2, random_state=0))
