"""Rows to label for least squares: chosen for the targets, by themselves, or at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pnml.active import linear_select
from pnml.active.curve_results import band_of
from pnml.core.arrays import FloatArray
from pnml.core.geometry.rank_one import Whitened
from pnml.core.geometry.spectrum import Spectrum
from pnml.core.statistic.factor import Factor
from pnml.estimators.regressor import PNMLRegressor
from pnml.metrics import Estimate
from pnml_experiments.framework.data import arrays, is_here
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table
from pnml_experiments.framework.stored_files import UCI

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="linear-active",
    chapter=7,
    title="Active learning for least squares on UCI sets",
    minutes=(0.1, 10.0),
    extras=("plots",),
    needs=("uci-small",),
    uses=("uci",),
    beyond=True,
)

ALPHA = 0.1  # with columns of unit variance
_EXTRA = 5  # labels at the start, beyond the number of features
MORE = (0, 5, 10, 20, 40, 80)  # labels bought
REAL, LINEAR = "real", "linear"
OURS, RANDOM = "least mean regret", "random"
MEASURES = {"log-loss": "log-loss, nats", "regret": "mean regret, nats", "rmse": "RMSE"}
INTERVAL = "95 %, Student's, over splits"
_ABOUT = (
    "Lower is better. Least mean regret chooses for the test rows, whose labels it does not see; "
    "least mean variance too; largest regret chooses the pool's row of largest own regret."
)
_GAINS = (
    "Mean over the numbers of labels bought, less that of random picks on the same split. Below 0 "
    "is better than random."
)
_REMARKS = (
    (
        f"Ridge regression with pNML at penalty {ALPHA:g}, columns and target of unit variance "
        "over the pool. Every strategy starts from the same rows, five more than there are "
        "features, drawn from the training rows of a published split; the rest is the pool."
    ),
    (
        "Real labels are those of the set. Linear ones are what they would be if the family were "
        "right: the least-squares fit to all rows, with Gaussian noise of its residuals' size."
    ),
    "The thesis has no such table.",
)

IntArray = npt.NDArray[np.intp]
# From rows that have labels, the pool, targets and a number to rows of the pool.
Pick = Callable[[FloatArray, FloatArray, FloatArray, int], IntArray]
# set and its labels → split by split: strategy → measure → value by labels bought
Found = dict[tuple[str, str], list[dict[str, dict[str, list[float]]]]]


@dataclass(frozen=True)
class Sizes:
    """Sets, splits of each, and rows of a split that are looked at."""

    sets: tuple[str, ...]
    splits: int
    pool: int
    targets: int
    draws: int  # of random picks


SIZES = {
    "small": Sizes(tuple(UCI)[:3], 5, 400, 100, 3),
    "full": Sizes(tuple(UCI), 20, 2_000, 500, 10),
}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Log-loss, regret and error against labels bought, and gains over random picks."""
    sizes = SIZES[scale]
    here = [name for name in sizes.sets if is_here(UCI[name])]
    splits = {name: _splits(name, sizes) for name in here}
    tell = counted(progress, 2 * sum(splits.values()))
    found: Found = {}
    for name, kind in product(here, (REAL, LINEAR)):
        for k in range(splits[name]):
            piece = out.piece(f"{name} {kind} {k}", partial(_one, name, kind, k, sizes))
            found.setdefault((name, kind), []).append(piece)
            tell(1)
    tables = (_gains(found), *(_table(found, measure) for measure in MEASURES))
    most = max(splits.values())
    return Result(tables, _figures(found), tuple(range(most)), most, INTERVAL, _REMARKS)


def at_random(seed: int) -> Pick:
    """Rows in any order."""

    def pick(X: FloatArray, pool: FloatArray, targets: FloatArray, n: int) -> IntArray:
        return np.random.default_rng(seed).permutation(len(pool))[:n]

    return pick


def for_targets(X: FloatArray, pool: FloatArray, targets: FloatArray, n: int) -> IntArray:
    """Rows that lower the mean regret of the targets most. Eq. (I7)."""
    return linear_select(X, pool, targets, n, alpha=ALPHA)


def largest_regret(X: FloatArray, pool: FloatArray, targets: FloatArray, n: int) -> IntArray:
    """Rows of the largest regret themselves: D-optimal, one after the other."""
    return _greedy(X, pool, pool[:0], n, lambda w, t: np.vecdot(w, w))


def least_variance(X: FloatArray, pool: FloatArray, targets: FloatArray, n: int) -> IntArray:
    """Rows that lower the mean variance at the targets most: V-optimal. Eq. (I6)."""
    return _greedy(
        X, pool, targets, n, lambda w, t: ((w @ t.T) ** 2).sum(axis=1) / (1 + np.vecdot(w, w))
    )


def _greedy(
    X: FloatArray,
    pool: FloatArray,
    targets: FloatArray,
    n: int,
    worth: Callable[[FloatArray, FloatArray], FloatArray],
) -> IntArray:
    spectrum = Spectrum.of_factor(Factor.of(X), intercept=True, unit_columns=False)
    state, left = Whitened.of(spectrum, np.vstack([pool, targets]), ALPHA), np.arange(len(pool))
    picks = np.empty(n, dtype=np.intp)
    for t in range(n):
        best = int(worth(state.w[: len(left)], state.w[len(left) :]).argmax())
        picks[t] = left[best]
        state, left = state.with_row(best).without(best), np.delete(left, best)
    return picks


STRATEGIES: Mapping[str, Pick] = {
    OURS: for_targets,
    "least mean variance": least_variance,
    "largest regret": largest_regret,
}


def _splits(name: str, sizes: Sizes) -> int:
    return min(sizes.splits, sum(key.startswith("train_") for key in arrays(UCI[name])))


def _one(name: str, kind: str, k: int, sizes: Sizes) -> dict[str, dict[str, list[float]]]:
    """All strategies on one split."""
    stored, rng = arrays(UCI[name]), np.random.default_rng(k)
    train = rng.permutation(stored[f"train_{k}"])
    test = rng.permutation(stored[f"test_{k}"])[: sizes.targets]
    start = stored["X"].shape[1] + _EXTRA
    train = train[: start + sizes.pool]
    X, y = _scaled(stored["X"].astype(float), train), _scaled(stored["y"].astype(float), train)
    y = y if kind == REAL else _linear(X, y, rng)
    seen, pool = np.split(train, [start])
    most = min(MORE[-1], len(pool))

    def values(pick: Pick) -> dict[str, list[float]]:
        order = pool[pick(X[seen], X[pool], X[test], most)]
        return _values(X, y, seen, order, test)

    found = {strategy: values(pick) for strategy, pick in STRATEGIES.items()}
    draws = [values(at_random(1000 * k + seed)) for seed in range(sizes.draws)]
    means = {m: np.mean([draw[m] for draw in draws], axis=0).tolist() for m in MEASURES}
    return found | {RANDOM: means}


def _scaled(values: FloatArray, rows: IntArray) -> FloatArray:
    spread = values[rows].std(axis=0)
    scaled: FloatArray = (values - values[rows].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def _linear(X: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Labels of the least-squares fit to all rows, with noise of its size."""
    rows = np.column_stack([np.ones(len(X)), X])
    fit = rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
    drawn: FloatArray = fit + np.std(y - fit) * rng.normal(size=len(y))
    return drawn


def _values(
    X: FloatArray, y: FloatArray, seen: IntArray, order: IntArray, test: IntArray
) -> dict[str, list[float]]:
    """Measures after each number of labels."""
    found: dict[str, list[float]] = {name: [] for name in MEASURES}
    for more in MORE:
        rows = np.concatenate([seen, order[:more]])
        told = PNMLRegressor(alpha=ALPHA).fit(X[rows], y[rows]).predict_dist(X[test])
        found["log-loss"].append(float(-told.log_prob(y[test]).mean()))
        found["regret"].append(float(told.regret.mean()))
        found["rmse"].append(float(np.sqrt(np.mean((told.mean - y[test]) ** 2))))
    return found


def _estimate(values: Any) -> Estimate:
    return Estimate(*(float(part[0]) for part in band_of(np.asarray(values, float)[:, None])))


def _gains(found: Found) -> Table:
    rows = []
    for (name, kind), each in found.items():
        for measure, words in MEASURES.items():
            for strategy in STRATEGIES:
                gains = [
                    np.mean(np.subtract(one[strategy][measure], one[RANDOM][measure])[1:])
                    for one in each
                ]
                labels = {"set": name, "labels": kind, "number": words, "strategy": strategy}
                rows.append(Row(labels, ours=_estimate(gains)))
    return Table("Gain over random picks", tuple(rows), _GAINS, digits=3)


def _table(found: Found, measure: str) -> Table:
    rows = []
    for (name, kind), each in found.items():
        for strategy in (*STRATEGIES, RANDOM):
            for place, more in enumerate(MORE):
                ours = _estimate([one[strategy][measure][place] for one in each])
                labels = {"set": name, "labels": kind, "strategy": strategy, "bought": str(more)}
                rows.append(Row(labels, ours=ours))
    return Table(f"Test rows, {MEASURES[measure]}", tuple(rows), _ABOUT, digits=3)


def _figures(found: Found) -> tuple[Figure, ...]:
    caption = "Against labels bought, mean over splits; bands are the intervals."
    return tuple(
        Figure(f"linear-active-{measure}", caption, partial(_drawn, found, measure))
        for measure in ("log-loss", "regret")
    )


def _drawn(found: Found, measure: str) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    columns = len(found) // 2
    figure = Canvas(figsize=(3.6 * columns, 6.0), layout="constrained")
    axes = figure.subplots(2, columns, squeeze=False).T.ravel()
    for ax, ((name, kind), each) in zip(axes, found.items(), strict=True):
        for strategy in (*STRATEGIES, RANDOM):
            band = band_of(np.array([one[strategy][measure] for one in each]))
            line = ax.plot(MORE, band.mean, label=strategy)[0]
            ax.fill_between(MORE, band.low, band.high, color=line.get_color(), alpha=0.15)
        ax.set(xlabel="labels bought", ylabel=MEASURES[measure], title=f"{name}, {kind} labels")
    axes[0].legend(fontsize="small")
    return figure
