"""Which rule should choose the penalty where rows can be interpolated? Eq. (V3) of docs/math.

On every PMLB regression set in the folder that PNML_DATA names with at least 8 features: training
rows N = M/2 and N = M, standardised, the rest (at most 500 rows) for the test. The plain minimum
of the leave-one-out loss against the largest penalty within one standard error of it.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np

from pnml.core import gaussian, leave_one_out, luckiness
from pnml.core.arrays import FloatArray
from pnml.core.distributions.normal import Normal
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.selection import penalties
from pnml.core.statistic.factor import Factor

_DRAWS, _TEST_ROWS, _READ_ROWS, _FEWEST_FEATURES = 6, 500, 3000, 8
_LEARNERS = {
    "pNML": (leave_one_out.PNML, gaussian.predictive),
    "luckiness": (leave_one_out.LUCKINESS, luckiness.predictive),
}


def main() -> int:
    folder = os.environ.get("PNML_DATA")
    if not folder:
        print("Set PNML_DATA to a folder with pmlb/*.tsv.gz to run this study.")
        return 2
    sets = [s for s in map(_read, sorted(Path(folder, "pmlb").glob("*.tsv.gz"))) if s is not None]
    print(f"{len(sets)} sets, {_DRAWS} draws each; mean over all of them")
    print(f"{'learner':<10} {'N/M':>4}  {'rule':<10} {'log-loss':>8} {'MSE':>7} {'cover 90%':>9}")
    for name in _LEARNERS:
        for share in (0.5, 1.0):
            found = np.array([r for X, y in sets for r in _draws(X, y, share, name)])
            for k, rule in enumerate(("minimum", "cautious")):
                loss, mse, cover = np.clip(found[:, k], -5, 20).mean(axis=0)
                print(f"{name:<10} {share:>4}  {rule:<10} {loss:>8.2f} {mse:>7.2f} {cover:>9.3f}")
    return 0


def _read(path: Path) -> tuple[FloatArray, FloatArray] | None:
    with gzip.open(path, "rt") as file:
        table = np.genfromtxt(file, delimiter="\t", skip_header=1, max_rows=_READ_ROWS)
    if table.shape[1] - 1 < _FEWEST_FEATURES:
        return None
    return table[:, :-1], table[:, -1]


def _draws(X: FloatArray, y: FloatArray, share: float, name: str) -> list[FloatArray]:
    """Log-loss, squared error and coverage (2, 3) of both rules, for each draw that can be used."""
    n = max(4, int(share * X.shape[1]))
    out = []
    for seed in range(_DRAWS):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[:n], order[n : n + _TEST_ROWS]
        if len(test) < 30 or y[train].std() == 0:
            continue
        scale = np.where(X[train].std(axis=0) > 0, X[train].std(axis=0), 1.0)
        rows, new = ((X[part] - X[train].mean(axis=0)) / scale for part in (train, test))
        told, truth = ((y[part] - y[train].mean()) / y[train].std() for part in (train, test))
        out.append(np.array([_score(q, truth) for q in _predict(rows, told, new, name)]))
    return out


def _predict(X: FloatArray, y: FloatArray, new: FloatArray, name: str) -> list[Normal]:
    learner, predictive = _LEARNERS[name]
    spectrum = Spectrum.of_factor(Factor.of(X, y), intercept=True, unit_columns=False)
    alphas, w = penalties(spectrum.h2, interpolates=True), np.ones(len(X))
    floor = leave_one_out.NOISE_FLOOR * float(y.var())
    path = leave_one_out.pooled(
        leave_one_out.folds_of(spectrum, X, y, w, alphas), learner, None, floor
    )
    best = path.best()
    at = leave_one_out.folds_of(spectrum, X, y, w, alphas[[best]])
    loo = leave_one_out.leave_one_out(at, learner, float(path.noise_variance[best]))
    chosen = (best, path.cautious(loo.standard_error))
    return [
        predictive(spectrum, new, float(alphas[i]), float(path.noise_variance[i])) for i in chosen
    ]


def _score(dist: Normal, y: FloatArray) -> tuple[float, float, float]:
    low, high = dist.interval(0.9).T
    covered = float(np.mean((low <= y) & (y <= high)))
    return float(-dist.log_prob(y).mean()), float(np.mean((y - dist.mean) ** 2)), covered
