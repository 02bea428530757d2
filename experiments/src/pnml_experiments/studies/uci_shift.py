"""Rows that lie elsewhere: whether intervals still cover them, and the regret tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import BayesianRidge
from sklearn.neighbors import NearestNeighbors

from pnml.core.arrays import FloatArray
from pnml.estimators.kernel import KernelPNMLRegressor
from pnml.estimators.luckiness import LpNMLRegressor
from pnml.estimators.norm_ball import NormBallRegressor
from pnml.estimators.regressor import PNMLRegressor
from pnml.metrics import detection_metrics, interval_coverage, interval_width
from pnml_experiments.ch4_luckiness.linear_learners import METHODS, Trained
from pnml_experiments.framework.data import arrays, is_here
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Row, Table, exactly
from pnml_experiments.framework.stored_files import shift_path
from pnml_experiments.studies.luckiness_rules import nearly_best
from pnml_experiments.studies.uci_draws import over_splits, standardised
from pnml_experiments.studies.uci_learners import COVERAGE, Told, chosen_kernel
from pnml_experiments.studies.uci_rivals import LEARNERS, Entry

SHAPES = ((60, 40), (200, 40), (40, 120), (30, 300))
NEAR_BEST = "LpNML, penalties near the best at once"
COVERED, WIDTH, LOSS, APART, TRUSTED, TRUSTED_SAME = NUMBERS = (
    "coverage",
    "width",
    "log-loss, nats",
    "AUROC of the regret",
    "trusted",
    "trusted, same kind",
)
_NOISE, _FARTHER, _NEW = 0.5, 3.0, 300
SHIFTS = ("wine", "parkinson", "fire", "fertility", "triazines")
_HELD = 0.2  # of the training rows, to compare the shifted ones with
_MOST = 1_000  # rows of a kernel
_NEAREST = 10
_COVERAGE = (
    f"Rows of standard normal columns, slopes normal with variance 1/d, noise {_NOISE:g}; the new "
    f"rows are {_FARTHER:g} times as far out. Share of their labels in the 90 % interval, and "
    "its mean width in the target's unit. More than 90 % is wide, not wrong: pNML answers for "
    "the worst label, not for the mean one. Trusted is the share of the shifted rows that a "
    f"learner trusts, and of {_NEW} fresh rows of the same kind as the training rows; the AUROC is "
    "that of its regret, the one kind against the other."
)
_TOLD_APART = (
    "A fifth of the training rows is held back, and the score has to tell the shifted rows from "
    "these. Leave-one-out: the regrets of all training rows, each by the others, against those "
    "of the shifted rows; its interval is DeLong's."
)

# From training rows, labels and other rows to scores (m,), high where a row is strange.
Score = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def ball(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """pNML of the models no longer than the shortest that interpolates."""
    return Told.by(NormBallRegressor(fit_intercept=True).fit(X, y), new)


def near_best(X: FloatArray, y: FloatArray, new: FloatArray) -> Told:
    """Luckiness at all penalties within a standard error of the best, at once. Eq. (U1)."""
    dist = nearly_best(Trained(X, y), METHODS["luckiness"])(new)
    return replace(Told.of(dist), regret=dist.regret)


def covering(n: int, d: int) -> Mapping[str, Entry]:
    """Learners whose intervals can be asked for at this shape."""
    able = {name: entry for name, entry in LEARNERS.items() if d < n or name != "OLS"}
    return able | ({"norm-ball pNML": Entry(ball), NEAR_BEST: Entry(near_best)} if d >= n else {})


def covered(n: int, d: int, seed: int) -> dict[str, dict[str, float]]:
    """Numbers of each learner on shifted rows, of one draw."""
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(n, d)), _FARTHER * rng.normal(size=(_NEW, d))
    slopes = rng.normal(size=d) / np.sqrt(d)
    y, truth = (A @ slopes + _NOISE * rng.normal(size=len(A)) for A in (X, new))
    same = rng.normal(size=(_NEW, d))
    labels = np.concatenate([truth, same @ slopes + _NOISE * rng.normal(size=_NEW)])
    return {
        name: judged(entry.told(X, y, np.vstack([new, same])), labels)
        for name, entry in covering(n, d).items()
        if entry.installed
    }


def judged(told: Told, labels: FloatArray) -> dict[str, float]:
    """What a learner says of shifted rows; behind them are rows of the training kind."""
    ends = told.interval[:_NEW]
    found = {COVERED: interval_coverage(labels[:_NEW], ends), WIDTH: interval_width(ends)}
    if told.log_prob is not None:
        found[LOSS] = float(-np.mean(told.log_prob(labels)[:_NEW]))
    if told.regret is not None:
        found[APART] = _auroc(told.regret[_NEW:], told.regret[:_NEW])
    if told.trusted is not None:
        found[TRUSTED] = float(np.mean(told.trusted[:_NEW]))
        found[TRUSTED_SAME] = float(np.mean(told.trusted[_NEW:]))
    return found


def coverage_table(draws: int, out: Output, tell: Callable[[int], None]) -> Table:
    """Coverage of 90 % intervals on shifted rows, and trust in them, by shape and learner."""
    rows = []
    for n, d in SHAPES:
        each = []
        for seed in range(draws):
            each.append(out.piece(f"shifted {n} {d} {seed}", partial(covered, n, d, seed)))
            tell(1)
        for name, entry in covering(n, d).items():
            labels = {"rows": str(n), "features": str(d), "learner": name}
            if not entry.installed:
                note = f"{entry.package} is not installed."
                rows.append(Row(labels | {"number": COVERED}, note=note))
                continue
            for number in NUMBERS:
                if number in each[0][name]:
                    ours = over_splits([[one[name][number] for one in each]])
                    rows.append(Row(labels | {"number": number}, ours=ours))
    title = f"Intervals of {COVERAGE:.0%} on shifted rows"
    return Table(title, tuple(rows), _COVERAGE, digits=2)


def _by_regret(model: Any, X: FloatArray, y: FloatArray, new: FloatArray) -> FloatArray:
    found: FloatArray = model.fit(X, y).regret(new)
    return found


def _by_kernel(X: FloatArray, y: FloatArray, new: FloatArray) -> FloatArray:
    model: KernelPNMLRegressor = chosen_kernel(X[:_MOST], y[:_MOST])
    found: FloatArray = model.regret(new)
    return found


def _by_spread(X: FloatArray, y: FloatArray, new: FloatArray) -> FloatArray:
    spread: FloatArray = BayesianRidge().fit(X, y).predict(new, return_std=True)[1]
    return spread


def _by_isolation(X: FloatArray, y: FloatArray, new: FloatArray) -> FloatArray:
    known: FloatArray = IsolationForest(random_state=0).fit(X).score_samples(new)
    return -known


def _by_neighbours(X: FloatArray, y: FloatArray, new: FloatArray) -> FloatArray:
    far: FloatArray = NearestNeighbors(n_neighbors=_NEAREST).fit(X).kneighbors(new)[0][:, -1]
    return far


SCORES: Mapping[str, Score] = {
    "pNML, no penalty": partial(_by_regret, PNMLRegressor()),
    "pNML": partial(_by_regret, PNMLRegressor(alpha="loo")),
    "LpNML": partial(_by_regret, LpNMLRegressor()),
    "kernel pNML": _by_kernel,
    "BayesianRidge, std": _by_spread,
    "isolation forest": _by_isolation,
    f"{_NEAREST}th neighbour": _by_neighbours,
}


def told_apart(name: str, seed: int) -> dict[str, float]:
    """AUROC of every score, shifted rows against held-back ones."""
    stored = arrays(shift_path(name))
    X, y, new = (stored[key].astype(float) for key in ("X_train", "y_train", "X_test"))
    order = np.random.default_rng(seed).permutation(len(X))
    held, rows = np.split(order, [int(np.ceil(_HELD * len(X)))])
    fit, other = standardised(X[rows], X[rows]), standardised(np.vstack([X[held], new]), X[rows])
    labels = (y[rows] - y[rows].mean()) / y[rows].std()
    found = {}
    for score, tell in SCORES.items():
        strange = tell(fit, labels, other)
        found[score] = _auroc(strange[: len(held)], strange[len(held) :])
    return found


def _auroc(ordinary: FloatArray, shifted: FloatArray) -> float:
    return detection_metrics(-ordinary, -shifted, resamples=2).auroc.value


def left_out(name: str) -> list[float]:
    """AUROC of the regret without a penalty, training rows each judged by the others."""
    stored = arrays(shift_path(name))
    X, y, new = (stored[key].astype(float) for key in ("X_train", "y_train", "X_test"))
    model = PNMLRegressor().fit(X, y)
    auroc = detection_metrics(-model.loo_.regrets, -model.regret(new), resamples=2).auroc
    return list(auroc)


def shift_table(
    names: Sequence[str], seeds: int, out: Output, tell: Callable[[int], None]
) -> Table:
    """AUROC of scores for shifted rows, by set."""
    rows = []
    for name in names:
        if not is_here(shift_path(name)):
            rows.append(Row({"set": name, "score": "all"}, note="The data are not here."))
            tell(seeds)
            continue
        each = []
        for seed in range(seeds):
            each.append(out.piece(f"told apart {name} {seed}", partial(told_apart, name, seed)))
            tell(1)
        for score in SCORES:
            ours = over_splits([[one[score] for one in each]])
            rows.append(Row({"set": name, "score": score}, ours=ours))
        value, low, high = out.piece(f"left out {name}", partial(left_out, name))
        ours = exactly(value)._replace(low=low, high=high)
        rows.append(Row({"set": name, "score": "pNML, no penalty, leave-one-out"}, ours=ours))
    return Table("AUROC for shifted rows", tuple(rows), _TOLD_APART, digits=3)
