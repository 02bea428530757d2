"""Errors of luckiness, ridge and Bayes by the penalty: fixed, averaged, pooled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.leave_one_out import pooled
from pnml_experiments.ch4_luckiness import shift
from pnml_experiments.ch4_luckiness.averaged_rule import averaged, errors_by_end
from pnml_experiments.ch4_luckiness.linear_learners import METHODS, Chosen, Trained, mean_losses
from pnml_experiments.ch4_luckiness.pmlb_rows import ENDS, grid, read, shuffled
from pnml_experiments.studies.luckiness_rules import by_squares

# Training rows drawn from a set.
ROWS = (3, 5, 7, 10, 14, 20)
# Penalties of the path; those of the tables are among them.
PATH = 5.0 * 10.0 ** (np.arange(-16, 9) / 4)
FIXED = (0.005, 0.05, 0.5, 5.0, 50.0)
LEARNERS = ("ridge", "Bayes", "luckiness")
# Ways to set the penalty of luckiness by default, written down before any was compared.
TODAY = "today's default"
DEFAULTS = (TODAY, "fixed at 0.05", "fixed at 0.5", "fixed at 1", "fixed at 5", "that of ridge")
RIDGE = "ridge, left-out squared error"
_WINE_PATH = 10.0 ** (np.arange(-4, 25) / 4)
WINE_ENDS = (10.0, 100.0, 1e3, 1e4, 1e5)
_TEST = 300  # rows

# name → value of every draw
Draws = dict[str, list[float]]


def one_set(name: str, draws: int) -> dict[str, Draws]:
    """Training rows → name → values by draw, of one PMLB set."""
    X, y = read(name)
    return {str(n): _all_draws(partial(_draw, X, y, n), draws) for n in ROWS}


def _draw(
    X: FloatArray, y: FloatArray, n: int, seed: int
) -> tuple[Trained, FloatArray, FloatArray]:
    order = shuffled(y, n, seed)
    train, test = order[:n], order[n : n + _TEST]
    return Trained(X[train], y[train]), X[test], y[test]


def _all_draws(draw: Callable[[int], tuple[Trained, FloatArray, FloatArray]], draws: int) -> Draws:
    found: Draws = {}
    for seed in range(draws):
        trained, new, y = draw(seed)
        for values in (
            _fixed(trained, new, y),
            _rules(trained, new, y),
            _defaults(trained, new, y),
        ):
            for name, value in values.items():
                found.setdefault(name, []).append(value)
    return found


def _fixed(trained: Trained, new: FloatArray, y: FloatArray) -> dict[str, float]:
    """MSE of ridge and luckiness on the path; of ridge also at twice the penalties of tables."""
    found = {}
    for learner in ("ridge", "luckiness"):
        for alpha in PATH:
            found[f"{learner} at {alpha:g}"] = _mse(trained, learner, float(alpha), new, y)
    for alpha in FIXED:
        found[f"ridge at twice {alpha:g}"] = _mse(trained, "ridge", 2 * alpha, new, y)
    return found


def _mse(trained: Trained, learner: str, alpha: float, new: FloatArray, y: FloatArray) -> float:
    """Mean squared error at a penalty; the noise has no part in it."""
    mean = trained.says(METHODS[learner], Chosen(alpha, 1.0))(new).mean
    return float(np.mean((mean - y) ** 2))


def _rules(trained: Trained, new: FloatArray, y: FloatArray) -> dict[str, float]:
    """MSE, log-loss and penalty of every learner by the averaged and by the pooled rule."""
    found = {}
    for learner in LEARNERS:
        method = METHODS[learner]
        rules = {"pooled": trained.chosen(method)}
        for end in ENDS:
            mean = averaged(trained, method, grid(end))
            rules[f"averaged to {end:g}"] = mean.chosen
            found[f"{learner}, averaged to {end:g}, at ends"] = mean.at_ends
        for rule, chosen in rules.items():
            told = trained.says(method, chosen)(new)
            mse, loss = mean_losses(told, y)
            parts = {"MSE": mse, "log-loss": loss, "penalty": chosen.alpha}
            found |= {f"{learner}, {rule}, {part}": value for part, value in parts.items()}
    return found


def _defaults(trained: Trained, new: FloatArray, y: FloatArray) -> dict[str, float]:
    """MSE and log-loss of luckiness by every default, and of ridge."""
    lucky, ridge = METHODS["luckiness"], METHODS["ridge"]
    best = by_squares(trained, ridge)
    told: dict[str, Normal] = {RIDGE: trained.says(ridge, best)(new)}
    for default in DEFAULTS:
        if default == TODAY:
            chosen = trained.chosen(lucky)
        else:
            fixed = default.removeprefix("fixed at ")
            alpha = best.alpha if fixed == default else float(fixed)
            noise = pooled(trained.folds(np.array([alpha])), lucky.folds, None, trained.floor)
            chosen = Chosen(alpha, float(noise.noise_variance[0]))
        told[default] = trained.says(lucky, chosen)(new)
    found: dict[str, float] = {}
    for name, dist in told.items():
        mse, loss = mean_losses(dist, y)
        found |= {f"{name}, MSE": mse, f"{name}, log-loss": loss}
    return found


def wine() -> dict[str, dict[str, list[float]]]:
    """RMSE of ridge and luckiness on the wine shift, by the penalty and by the averaged rule."""
    trained, new, y = shift.read("wine")
    found: dict[str, dict[str, list[float]]] = {"penalty": {"": [float(a) for a in _WINE_PATH]}}
    found["path"] = {
        learner: [float(np.sqrt(_mse(trained, learner, float(a), new, y))) for a in _WINE_PATH]
        for learner in ("ridge", "luckiness")
    }
    found["averaged"] = {}
    for learner in ("ridge", "luckiness"):
        by_end = errors_by_end(trained, METHODS[learner], new, y, WINE_ENDS)
        for end, (error, alpha, percent) in by_end.items():
            found["averaged"][f"{learner} to {end}"] = [error, alpha, percent / 100]
    return found
